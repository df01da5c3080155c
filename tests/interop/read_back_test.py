#!/usr/bin/env python3
"""Holds profile lmcache against what LMCache 0.5.6 itself derives.

Usage: read_back_test.py KVEDIT TESTS Recorded|Live. `Recorded` compares with what record_lmcache.py
wrote into lmcache-0.5.6.json; `Live` records again with the LMCache that is installed, and is
skipped (exit 77) where there is none or another.
"""

import json
import sys
import unittest
from pathlib import Path

import synthetic
from explain import report_of

KVEDIT = TESTS = None
VERSION = "0.5.6"
SKIPPED = 77


def registrations():
    for folder, prefix in (("registrations", ""), ("field/registrations", "field/")):
        for file in sorted((TESTS / folder).glob("*.json")):
            yield prefix + file.stem, json.loads(file.read_text()), []
    yield from synthetic.cases()


def recorded():
    return json.loads((TESTS / "interop" / f"lmcache-{VERSION}.json").read_text())


def judged():
    """Each registration that was served when it was recorded, with the record."""
    cases = {case["name"]: case for case in recorded()["cases"]}
    for name, registration, options in registrations():
        case = cases.get(name)
        if case and case["verdict"] != "unserved":
            yield case, registration, options


def unseen_by_detection(registration):
    """LMCache reads these groups well, and moves what it should not."""
    return any(group.get("host_resident") or not group.get("enable_kv_transfer", True)
               for group in registration["groups"])


class Recorded(unittest.TestCase):
    def test_what_is_read_is_what_was_predicted(self):
        verdicts = {"right": 0, "wrong": 0, "refused": 0}
        for case, registration, options in judged():
            with self.subTest(case["name"]):
                self.assertEqual(case["options"], options)
                verdicts[case["verdict"]] += 1
                report = report_of(KVEDIT, registration, "--profile", "lmcache", *options)
                self.check(case, registration, report)
        self.assertGreater(verdicts["right"], 90)
        self.assertGreater(verdicts["wrong"], 5)
        self.assertGreater(verdicts["refused"], 10)

    def check(self, case, registration, report):
        codes = {problem["code"] for problem in report["problems"]
                 if problem["severity"] == "error"}
        if case["verdict"] != "right" or unseen_by_detection(registration):
            return self.assertEqual(codes, {"profile"})
        self.assertEqual(codes, set(), report["problems"])
        reads = {name: each["read"] for each in case["reads"] for name in each["layers"]}
        for layer in report["layers"]:
            self.assertEqual(layer.get("read_back"), reads.get(layer["name"]))

    def test_slots_of_another_name_are_a_warning(self):
        for case, registration, options in judged():
            if case["verdict"] != "right" or unseen_by_detection(registration):
                continue
            report = report_of(KVEDIT, registration, "--profile", "lmcache", *options)
            warned = {(problem["facts"]["slots"], problem["facts"]["read_as"])
                      for problem in report["problems"] if "slots" in problem["facts"]}
            differ = {(layer["pages"]["slots"], layer["read_back"]["slots"])
                      for layer in report["layers"]
                      if "read_back" in layer and layer["pages"]["slots"] !=
                      layer["read_back"]["slots"]}
            with self.subTest(case["name"]):
                self.assertEqual(warned, differ)


class Live(unittest.TestCase):
    def test_the_recording_is_what_lmcache_says_today(self):
        import record_lmcache
        self.maxDiff = None
        now = record_lmcache.record(KVEDIT, TESTS)
        for case, was in zip(now["cases"], recorded()["cases"]):
            with self.subTest(case["name"]):
                self.assertEqual(case, was)
        self.assertEqual(len(now["cases"]), len(recorded()["cases"]))


def can_record():
    try:
        import lmcache_oracle
        found = lmcache_oracle.installed_version()
    except Exception as error:  # also a torch that cannot be loaded
        return f"lmcache {VERSION} cannot be imported: {error}"
    return None if found == VERSION else f"lmcache {found} is installed; the record is of {VERSION}"


if __name__ == "__main__":
    KVEDIT, TESTS, which = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    why_not = can_record() if which == "Live" else None
    if why_not:
        print(f"skipped: {why_not}")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], which])
