#!/usr/bin/env python3
"""Writes the table of docs/lmcache.md: kvedit's drop-in and LMCache's own edits, on everything.

Usage: lmcache_table.py [--check]   (needs vllm and lmcache). With --check nothing is written: exits
1 when the document is not what this program writes. test_table.py asks the same.
"""

import sys
from collections import Counter
from pathlib import Path

import side_by_side as sides

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "lmcache.md"
BEGIN = "<!-- written by tests/interop/lmcache_table.py -->\n"
END = "<!-- end of what it writes -->\n"

# Kind → what LMCache's own edits do, what kvedit does, who is right.
KINDS = {
    "same": ("views", "the same shapes, strides and dtypes, the same objects where nothing changes",
             "both"),
    "slots": ("views of the right bytes, whose slots its detection miscounts: one where a block "
              "has hundreds, heads for tokens", "views whose slots it counts rightly", "kvedit"),
    "part": ("left as they are; a part of each block is moved, of other blocks", "whole blocks",
             "kvedit"),
    "bytes": ("views of other bytes than the block's", "whole blocks", "kvedit"),
    "refused": ("refused", "views", "kvedit"),
    "shared": ("views with gaps, which cannot go through shared memory", "whole pages", "kvedit"),
    "rejected": ("views, which its own detection then refuses", "views", "kvedit"),
    "moved": ("views, and it moves what is no memory of the device's, or other bytes, or counts "
              "other tokens", "refused, with the reason", "kvedit"),
    "late": ("views, which its own detection then refuses", "refused, with the reason",
             "kvedit: earlier, and says what to do"),
    "neither": ("refused", "refused", "both"),
    "guessed": ("views, of what contradicts itself or can be read in two ways",
                "refused, with the reason", "kvedit"),
    "broken": ("refused, or views that its detection refuses", "refused, with the reason", "both"),
    "unseen": ("views", "views", "neither can know: a placement names no storage, and a cache of "
               "no group is left out"),
}  # fmt: skip


def kind_of(name):
    case, ours, theirs = sides.case(name), sides.ours_of(name), sides.theirs_of(name)
    if case.refused_as:
        if ours.verdict == "guessed":
            return "unseen"
        return "guessed" if theirs.verdict == "guessed" else "broken"
    if ours.verdict == "right":
        if theirs.verdict == "right":
            return "same"
        if theirs.verdict == "bytes":
            untouched = all(theirs.views[each] is case.caches[each] for each in case.caches)
            return "part" if untouched else "bytes"
        return "shared" if "migrate_to_shm" in theirs.why else theirs.verdict
    assert ours.verdict == "refused", (name, ours)
    return {"refused": "neither", "rejected": "late"}.get(theirs.verdict, "moved")


def shown(names):
    """Those of tests/registrations by name, of tests/field by number; `same` by numbers alone."""
    given = [each for each in names if not each.startswith("field/")]
    field = len(names) - len(given)
    parts = [", ".join(
        f"`{each.removesuffix(sides.MEMORY)}`" + (" in memory" if sides.MEMORY in each else "")
        for each in given
    )]  # fmt: skip
    if field:
        parts.append(f"{field} of `tests/field`")
    return " and ".join(part for part in parts if part)


def rows():
    names = {}
    for name in sides.names():
        names.setdefault(kind_of(name), []).append(name)
    return {kind: names[kind] for kind in KINDS if kind in names}


def table():
    found = rows()
    total = Counter("field/" in name for names in found.values() for name in names)
    memory = sum(sides.MEMORY in name for names in found.values() for name in names)
    lines = [
        f"{total[False] - memory} registrations of `tests/registrations` and {total[True]} of "
        f"`tests/field`; the {memory}",
        "of host memory twice, as they are and as if a device had them.",
        "",
        "| | LMCache's own edits | kvedit | who is right | registrations |",
        "|---|---|---|---|---|",
    ]
    for kind, names in found.items():
        theirs, ours, right = KINDS[kind]
        which = shown(names) if kind != "same" else "the others"
        lines.append(f"| {len(names)} | {theirs} | {ours} | {right} | {which} |")
    return "\n".join(lines) + "\n"


def written(text):
    head, rest = text.split(BEGIN)
    return head + BEGIN + table() + END + rest.split(END)[1]


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = DOCUMENT.read_text()
    now = written(text)
    if arguments:
        return int(now != text)
    DOCUMENT.write_text(now)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
