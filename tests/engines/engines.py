"""Engine processes as tests start them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).resolve().parent

ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "LMCACHE_TRACK_USAGE": "false",
    "OMP_NUM_THREADS": "1",  # as fast for tiny models, and the same under load
    "TORCHDYNAMO_DISABLE": "1",  # else the first log-probabilities wait for a compiler
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # scheduler and worker in one process
    "VLLM_NO_USAGE_STATS": "1",
}


class EngineError(Exception):
    """What a scenario ended with; `kind` is the name of its class."""

    def __init__(self, answer: dict[str, Any], log: Path) -> None:
        super().__init__(f"{answer['error']} (log: {log})")
        self.kind: str = answer.get("kind", "")
        self.text: str = answer["error"]
        self.log = log


class Engines:
    """Starts one engine process after the other; each has its log in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        self._host: subprocess.Popen[str] | None = None
        self.environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("KVEDIT_", "LMCACHE_", "VLLM_"))
        }
        self.environment.update(ENVIRONMENT, VLLM_CACHE_ROOT=str(folder / "vllm-cache"))

    def start(self) -> None:
        """Begins to import vLLM; `run` waits until that is done. May be called early."""
        if self._host is None:
            with open(self.folder / "engine-host.log", "w", encoding="utf-8") as log:
                self._host = subprocess.Popen(
                    [sys.executable, str(HERE / "engine_host.py")],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=self.environment,
                    text=True,
                )

    def _read(self) -> dict[str, Any]:
        assert self._host is not None and self._host.stdout is not None
        line = self._host.stdout.readline()
        if not line:
            raise RuntimeError(f"vLLM cannot be imported: see {self.folder / 'engine-host.log'}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _request(
        self, scenario: str, arguments: dict[str, Any], environment: dict[str, str], timeout: float
    ) -> dict[str, Any]:
        self._count += 1
        name = f"{self._count:02}-{scenario.replace(':', '-')}.log"
        return {
            "scenario": scenario,
            "arguments": arguments,
            "environment": environment,
            "log": str(self.folder / name),
            "timeout": timeout,
        }

    def run(
        self,
        scenario: str,
        *,
        environment: dict[str, str] | None = None,
        timeout: float = 300,
        fresh: bool = False,
        **arguments: Any,
    ) -> Any:
        """What the function ``module:function`` returns in a process of its own, a copy of one that
        has imported vLLM; `fresh`: a new Python that has imported nothing, slower by that import.
        Raises `EngineError` with what it raised. Modules are looked for beside this one; arguments
        and result are JSON."""
        request = self._request(scenario, arguments, environment or {}, timeout)
        answer = self._in_new_python(request) if fresh else self._in_copy(request)
        self.last_log = Path(request["log"])
        if "error" in answer:
            raise EngineError(answer, self.last_log)
        return answer["result"]

    def _in_copy(self, request: dict[str, Any]) -> dict[str, Any]:
        first = self._host is None or not hasattr(self, "_ready")
        self.start()
        assert self._host is not None and self._host.stdin is not None
        if first:
            self._ready = self._read()
        print(json.dumps(request), file=self._host.stdin, flush=True)
        return self._read()

    def _in_new_python(self, request: dict[str, Any]) -> dict[str, Any]:
        path = Path(request["log"]).with_suffix(".json")
        subprocess.run(
            [sys.executable, HERE / "engine_host.py", "--once", json.dumps(request), path],
            env={**self.environment, **request["environment"]},
            timeout=request["timeout"],
            check=False,
        )
        if not path.exists() or not path.stat().st_size:
            return {"error": "the engine process died"}
        answer: dict[str, Any] = json.loads(path.read_text())
        return answer

    def close(self) -> None:
        if self._host is not None:
            assert self._host.stdin is not None
            self._host.stdin.close()
            self._host.wait(timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
