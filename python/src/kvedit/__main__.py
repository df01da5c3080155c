"""Runs the program ``kvedit`` that comes with the package."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Becomes the program; its exit code is the caller's."""
    program = os.path.join(os.path.dirname(__file__), "bin", "kvedit")
    os.execv(program, ["kvedit", *sys.argv[1:]])


if __name__ == "__main__":
    main()
