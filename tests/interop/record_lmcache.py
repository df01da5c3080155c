#!/usr/bin/env python3
"""Records what the released LMCache derives from kvedit's views, for machines without it.

Usage: record_lmcache.py KVEDIT TESTS OUTPUT.json   (needs lmcache 0.5.6 and torch)
"""

import json
import sys
from pathlib import Path

import lmcache_oracle
import synthetic


def given(tests):
    for folder, prefix in (("registrations", ""), ("field/registrations", "field/")):
        for file in sorted((Path(tests) / folder).glob("*.json")):
            yield prefix + file.stem, json.loads(file.read_text()), []


def by_read(layers):
    """Layers that are read alike, together."""
    reads = []
    for name, read in layers.items():
        alike = next((each for each in reads if each["read"] == read), None)
        if alike:
            alike["layers"].append(name)
        else:
            reads.append({"read": read, "layers": [name]})
    return reads


def record(program, tests):
    cases = []
    for name, registration, options in [*given(tests), *synthetic.cases()]:
        judged = lmcache_oracle.judge(program, registration, options)
        if "layers" in judged:
            judged["reads"] = by_read(judged.pop("layers"))
        cases.append({"name": name, "options": options, **judged})
    return {"lmcache": lmcache_oracle.installed_version(), "cases": cases}


def main(arguments):
    if len(arguments) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    recorded = record(arguments[1], arguments[2])
    lines = ",\n".join(json.dumps(case) for case in recorded.pop("cases"))
    head = json.dumps(recorded)[:-1]
    Path(arguments[3]).write_text(f'{head}, "cases": [\n{lines}\n]}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
