"""Blocks through torch, as the reference connector moves them on devices: here is a torch to do
it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.engines

PYTHON = Path(__file__).resolve().parents[2] / "python"


def test_every_layout_goes_out_and_comes_in_by_torch():
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c",
         PYTHON / "pyproject.toml", PYTHON / "tests" / "test_store_blocks.py",
         "-k", "device or storages or llama"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "no torch" not in done.stdout, done.stdout + done.stderr
