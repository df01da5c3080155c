"""The process that has imported vLLM, once, and of which every engine process is forked.

Reads requests from its input, a line of JSON each, answers in the same way, and ends with its input:

    {"scenario": "module:function", "arguments": {…}, "environment": {…}, "log": path, "timeout": s}
    {"result": …}  or  {"error": text}

A forked process shares no state with another: nothing has started an engine, a thread or a pool
before it was forked. With ``--once`` it runs one request in itself: a process that nothing was
imported into.
"""

import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

_IMPORTED = (
    "vllm.entrypoints.llm",
    "vllm.v1.engine.llm_engine",
    "vllm.v1.engine.core",
    "vllm.v1.executor.uniproc_executor",
    "vllm.v1.worker.cpu_worker",
    "vllm.v1.worker.cpu_model_runner",
    "vllm.model_executor.model_loader.dummy_loader",
    "vllm.model_executor.layers.quantization.online.base",
    "vllm.distributed.kv_transfer.kv_connector.v1.multi_connector",
    "vllm.v1.attention.backends.cpu_attn",
    # What LMCache's connector imports, but not the two modules that kvedit waits for.
    "lmcache.integration.vllm.vllm_multi_process_adapter",
    "lmcache.integration.vllm.utils",
)


def _run(request: dict[str, Any]) -> dict[str, Any]:
    try:
        module, function = request["scenario"].split(":")
        scenario = getattr(importlib.import_module(module), function)
        return {"result": scenario(**request.get("arguments", {}))}
    except BaseException as error:  # the answer says what it was
        traceback.print_exc()
        text = "".join(traceback.format_exception_only(error)).strip()
        return {"error": text, "kind": type(error).__name__}


def _child(request: dict[str, Any], answer: int) -> None:
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(request.get("environment", {}))
    outcome = _run(request)
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        json.dump(outcome, file)
    sys.stdout.flush()
    sys.stderr.flush()


def _wait(child: int, timeout: float) -> int | None:
    """Status of the child; None when it had to be ended."""
    deadline = time.monotonic() + timeout
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.02)


def _fork(request: dict[str, Any]) -> dict[str, Any]:
    path = Path(request["log"]).with_suffix(".json")
    path.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            _child(request, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644))
            code = 0
        finally:
            os._exit(code)  # threads of connectors do not keep it
    status = _wait(child, request.get("timeout", 300))
    if status == 0:
        answer: dict[str, Any] = json.loads(path.read_text())
        return answer
    how = "took too long" if status is None else f"ended with {status}"
    return {"error": f"the engine process {how}", "kind": "ProcessError"}


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints goes to the log
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is imported is no work for the collectors of those that are forked
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_fork(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"]:
        _child(
            json.loads(sys.argv[2]),
            os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
        )
        os._exit(0)
    _serve()
    os._exit(0)
