#!/usr/bin/env python3
"""Writes the registrations of this folder and what is right for each.

Usage: generate.py [--check]. With --check nothing is written: exits 1 and names the files that are
not what the program writes. The files are committed, so that every test reads them like any other
registration; tests/golden runs over them.
"""

import json
import sys
from pathlib import Path

import attention_cases  # noqa: F401  (each module registers its cases)
import arena_cases  # noqa: F401
import latent_cases  # noqa: F401
import model_table  # noqa: F401
import recurrent_cases  # noqa: F401
import refused_cases  # noqa: F401
from case import CASES, Case

FOLDER = Path(__file__).resolve().parent / "registrations"


def files():
    """Path below the folder → text, for every case."""
    texts = {}
    for name, source, vllm, layout, parallel, fill in CASES:
        made = Case(name, source, vllm, layout, parallel)
        fill(made)
        for path, value in ((f"{name}.json", made.registration),
                            (f"expected/{name}.json", made.expected)):
            if path in texts:
                raise SystemExit(f"two cases are named {name}")
            texts[path] = json.dumps(value, separators=(",", ":")) + "\n"
    return texts


def differences(texts):
    there = {path.relative_to(FOLDER).as_posix(): path.read_text()
             for path in sorted(FOLDER.rglob("*.json"))}
    return sorted(path for path in texts.keys() | there.keys()
                  if texts.get(path) != there.get(path))


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    texts = files()
    changed = differences(texts)
    if arguments:
        for path in changed:
            print(f"{path} is not what generate.py writes")
        print(f"{len(CASES)} cases, {len(changed)} files differ")
        return 1 if changed else 0
    for path in changed:
        place = FOLDER / path
        if path not in texts:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(texts[path])
    print(f"{len(CASES)} cases, {len(changed)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
