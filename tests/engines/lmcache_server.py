"""The real LMCache server, as a program of its own beside the engines."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from loopback import free_port

CHUNK_TOKENS = 256
_START = "import sys; from lmcache.cli.main import main; sys.exit(main())"


class LMCacheServer:
    """Takes both ways of transfer; an engine says which it uses. `start` returns at once, `connector`
    waits until it listens."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.log = folder / "lmcache-server.log"
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.port = free_port()
        arguments = {
            "host": "127.0.0.1",
            "port": self.port,
            "http-host": "127.0.0.1",
            "http-port": free_port(),
            "l1-size-gb": 1,
            "eviction-policy": "LRU",
            "chunk-size": CHUNK_TOKENS,
            "supported-transfer-mode": "auto",
        }
        options = [word for key, value in arguments.items() for word in (f"--{key}", str(value))]
        with open(self.log, "w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, "server", *options]
                + ["--separate-object-groups", "--disable-observability"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
            )

    def _wait(self) -> None:
        deadline = time.monotonic() + 180
        while "server is running on" not in self.log.read_text():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the LMCache server does not start: see {self.log}")
            time.sleep(0.1)

    def connector(self, mode: str, patience: int = 60) -> dict[str, Any]:
        """vLLM's ``kv_transfer_config``; `mode` is ``engine_driven`` or ``lmcache_driven``. The engine
        waits so many seconds for an answer of the server."""
        self._wait()
        return {
            "kv_connector": "LMCacheMPConnector",
            "kv_connector_module_path": "lmcache.integration.vllm.lmcache_mp_connector",
            "kv_role": "kv_both",
            "kv_connector_extra_config": {
                "lmcache.mp.host": "tcp://127.0.0.1",
                "lmcache.mp.port": self.port,
                "lmcache.mp.mp_transfer_mode": mode,
                "lmcache.mp.mq_timeout": patience,
            },
        }

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self._process.kill()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def tokens(what: str, log: str | os.PathLike[str]) -> int:
    """How many tokens the server says it has ``Stored`` or ``Retrieved``, all together."""
    return sum(map(int, re.findall(rf"{what} (\d+) tokens", Path(log).read_text())))
