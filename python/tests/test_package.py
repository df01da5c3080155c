"""What the package is: typed, light, with its program and rules."""

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import kvedit

PACKAGE = Path(kvedit.__file__).parent
# mypy finds an installed package by itself.
MYPYPATH = {} if PACKAGE.parent.name == "site-packages" else {"MYPYPATH": str(PACKAGE.parent)}
PROJECT = Path(__file__).resolve().parent.parent


def python(code, **environment):
    """Runs code in a fresh interpreter that finds the same package."""
    path = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )  # fmt: skip


def test_versions_agree():
    project = (PROJECT / "pyproject.toml").read_text()
    assert re.search(r'^version = "(.*)"', project, re.M).group(1) == kvedit.__version__
    try:
        assert metadata.version("kvedit") == kvedit.__version__
    except metadata.PackageNotFoundError:
        pass  # the build tree


def test_nothing_heavy_is_imported():
    done = python("import kvedit, sys; kvedit.Host(); print(*sorted({'torch', 'numpy', 'vllm', "
                  "'lmcache', 'typing_extensions'} & set(sys.modules)))")  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_the_import_takes_less_than_100_ms():
    code = ("import time; begin = time.process_time(); import kvedit; "
            "print(time.process_time() - begin)")  # fmt: skip
    assert min(float(python(code).stdout) for _ in range(5)) < 0.1


def test_the_core_is_on_the_limited_api():
    from kvedit import _core

    if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
        pytest.skip("a free-threaded Python has no limited API")
    assert Path(_core.__file__).name == "_core.abi3.so"


def test_the_program_comes_along():
    done = subprocess.run([sys.executable, "-m", "kvedit", "--version"], capture_output=True,
                          text=True, check=False, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)})  # fmt: skip
    assert (done.returncode, done.stdout.split()) == (0, ["kvedit", kvedit.__version__])
    done = subprocess.run([PACKAGE / "bin" / "kvedit", "explain", "no.such.file"], check=False,
                          capture_output=True, text=True, env={})  # fmt: skip
    assert done.returncode == 2 and "no.such.file" in done.stderr


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def test_the_types_are_right(mypy_cache):
    """mypy --strict on the package and on code that uses it as the documents show."""
    pytest.importorskip("mypy")
    assert (PACKAGE / "py.typed").exists()
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", PROJECT / "pyproject.toml", "--strict",
         "--cache-dir", mypy_cache, "-p", "kvedit"],
        capture_output=True, text=True, check=False, cwd=mypy_cache,
        env={**os.environ, **MYPYPATH},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


USE = """
import kvedit

def use(config: object, caches: dict[str, object]) -> list[int]:
    host = kvedit.Host(rule_dirs=["rules"], log=print)
    registration = kvedit.Registration.from_vllm(config, caches, layout="HND")
    result = host.edit(registration, profile="native", purpose="transfer")
    result.raise_for_problems()
    views: dict[str, object] = result.views(caches)
    pages = result.pages["a"]
    starts: list[int] = pages.addresses([0, 1])["address"].tolist()
    tokens: int | None = result.chunk_tokens
    for problem in result.problems:
        print(problem.code.upper(), problem.facts.get("page"))
    print(len(views), tokens, [layer.outcome for layer in result.layers.values()])
    return starts
"""


@pytest.mark.parametrize(
    ("line", "error"),
    [("", None), ("kvedit.Host(rules=[])", "call-arg"), ("kvedit.Host().edit(3)", "arg-type"),
     ("kvedit.Registration.from_json(3)", "arg-type"),
     ("x: str = kvedit.Host().problems", "assignment")],
)  # fmt: skip
def test_mypy_sees_what_users_do_wrong(tmp_path, mypy_cache, line, error):
    pytest.importorskip("mypy")
    name = "use" + re.sub(r"\W+", "_", line) + ".py"  # one each: the cache goes by name and size
    (tmp_path / name).write_text(f"{USE}\n{line}\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", mypy_cache, name],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, **MYPYPATH},
    )  # fmt: skip
    assert (done.returncode == 0) == (error is None), done.stdout + done.stderr
    assert error is None or f"[{error}]" in done.stdout
