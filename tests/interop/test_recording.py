"""The recording that the C++ tests read (`lmcache-0.5.6.json`) is what LMCache says today."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.mark.engines
def test_the_recording_is_made_again():
    program = Path(sys.executable).parent / "kvedit"
    done = subprocess.run(
        [sys.executable, "-B", HERE / "read_back_test.py", program, HERE.parent, "Live"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
