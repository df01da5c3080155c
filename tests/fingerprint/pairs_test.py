#!/usr/bin/env python3
"""Holds layout fingerprints and `kvedit diff` against the decision table.

Usage: pairs_test.py PROGRAM STANDARD_RULES REGISTRATIONS DOCS [CLASS[.test] ...]
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from pairs import DIFFER, EQUAL, PURPOSES  # noqa: E402
from registrations import LAYER, attention, plain, recurrent, stream  # noqa: E402

PROGRAM, RULES, REGISTRATIONS, DOCS = (Path(each).resolve() for each in sys.argv[1:5])
FINGERPRINT = re.compile(r"kvx1-[0-9a-f]{32}\Z")


def not_ok():
    """Its tensor has one block less than the registration says."""
    document = attention()
    document["num_blocks"] += 1
    return document


class Fingerprint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvedit diff ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder.name,
                            "XDG_CONFIG_DIRS": str(self.folder / "none")}
        for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def file(self, name, document):
        path = self.folder / name
        path.write_text(json.dumps(plain(document)))
        return path

    def run_program(self, *arguments):
        return subprocess.run([str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.environment, timeout=120)

    def explained(self, document, purpose="prefix"):
        done = self.run_program("explain", "--json", "--purpose", purpose,
                                self.file("one.json", document))
        return done.returncode, json.loads(done.stdout)

    def served(self, document, purpose="prefix"):
        code, report = self.explained(document, purpose)
        self.assertEqual(code, 0, report["problems"])
        return report

    def diff(self, a, b, purpose="prefix", *options):
        return self.run_program("diff", "--purpose", purpose, *options, self.file("a.json", a),
                                self.file("b.json", b))


class Table(Fingerprint):
    def check(self, name, sides, equal):
        purpose = PURPOSES.get(name, "prefix")
        a, b = (side() for side in sides)
        prints = [self.served(each, purpose)["fingerprint"] for each in (a, b)]
        for each in prints:
            self.assertRegex(each, FINGERPRINT)
        self.assertEqual(prints[0] == prints[1], equal, prints)
        done = self.diff(a, b, purpose, "--json")
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, done.stderr), (0 if equal else 1, b""))
        self.assertEqual(told["may_share"], equal)
        self.assertEqual([told["fingerprint_a"], told["fingerprint_b"]], prints)
        reasons = told["differences"] + [each for group in told["groups"]
                                         for each in group["differences"]]
        alone = [group for group in told["groups"] if group["a"] is None or group["b"] is None]
        self.assertEqual(bool(reasons or alone), not equal, told)
        for reason in reasons:
            self.assertNotEqual(reason["a"], reason["b"])
            self.assertNotIn("do not mean the same", reason["consequence"])
        back = json.loads(self.diff(b, a, purpose, "--json").stdout)
        self.assertEqual(back["may_share"], equal)

    def test_pairs_that_must_be_equal(self):
        for name, sides in EQUAL.items():
            with self.subTest(name):
                self.check(name, sides, True)

    def test_pairs_that_must_differ(self):
        for name, sides in DIFFER.items():
            with self.subTest(name):
                self.check(name, sides, False)

    def test_the_document_has_the_same_table(self):
        rows = re.findall(r"^\| (.+?) \| (equal|differ) \|$", DOCS.read_text(), re.MULTILINE)
        rows = {name: verdict for name, verdict in rows if not name.startswith("declared:")}
        table = {name: "equal" for name in EQUAL} | {name: "differ" for name in DIFFER}
        self.assertEqual(rows, table)
        self.assertGreaterEqual(len(table), 30)


class Meaning(Fingerprint):
    """Fingerprints against what every stored byte holds, worked out element by element."""

    ORDERS = ("block token head content", "block head token content", "head block token content")
    SPLITS = ("block kv token head content", "block kv head token content",
              "kv block token head content", "block token kv head content")

    def drawn(self):
        for heads in (1, 2, 16):
            for kernel in (16, 8, 4):
                for order in self.ORDERS:
                    yield attention(order=order, heads=heads, kernel=kernel, layout=(
                        "NHD" if order.index("token") < order.index("head") else "HND"))
                for order in self.SPLITS:
                    yield attention("split", order, heads=heads, kernel=kernel, layout=(
                        "NHD" if order.index("token") < order.index("head") else "HND"))
            yield attention("tuple", heads=heads, layout="NHD")
            yield attention(heads=heads, offset=512, block_stride=heads * 512, layout="NHD")

    def test_equal_fingerprints_mean_equal_bytes_and_the_reverse(self):
        by_print, by_bytes, served = {}, {}, 0
        for document in self.drawn():
            code, report = self.explained(document)
            if code != 0:
                continue
            served += 1
            for block in (0, 3):
                held = tuple(stream(report, document, LAYER, block))
                key = hash(held), len(held), document["groups"][0]["spec"]["num_kv_heads"]
                known = by_print.setdefault(report["fingerprint"], key)
                self.assertEqual(known, key, (document["caches"], "one fingerprint, other bytes"))
                known = by_bytes.setdefault(key, report["fingerprint"])
                self.assertEqual(known, report["fingerprint"],
                                 (document["caches"], "the same bytes, another fingerprint"))
        self.assertGreaterEqual(served, 40)
        self.assertGreaterEqual(len(by_print), 12)

    def test_equal_pairs_of_the_table_hold_the_same_bytes(self):
        compared = 0
        for name, sides in EQUAL.items():
            documents = [side() for side in sides]
            if not all("axes" in json.dumps(each["caches"]) for each in documents):
                continue
            held = []
            for document in documents:
                if any("axes" not in str(cache) for cache in document["caches"].values()):
                    break
                held.append(stream(self.served(document), document, LAYER, 1))
            if len(held) < 2:
                continue
            compared += 1
            with self.subTest(name):
                self.assertEqual(*held)
        self.assertGreaterEqual(compared, 12)


class Report(Fingerprint):
    def test_the_same_registration_has_the_same_fingerprint(self):
        prints = {json.dumps(self.served(attention())["groups"]) for _ in range(3)}
        self.assertEqual(len(prints), 1)

    def test_a_report_that_is_not_ok_has_none(self):
        code, report = self.explained(not_ok())
        self.assertEqual(code, 1)
        self.assertIsNone(report["fingerprint"])
        self.assertTrue(all(group["fingerprint"] is None for group in report["groups"]))

    def test_groups_that_are_not_stored_have_none(self):
        for name in ("a scratch group more, purpose prefix", "a group that is not transferred more",
                     "an empty group more"):
            report = self.served(EQUAL[name][0]())
            stored = [group["fingerprint"] for group in report["groups"] if group["fingerprint"]]
            self.assertEqual(len(stored), 1)
        report = self.served(EQUAL["a scratch group more, purpose prefix"][0](), "transfer")
        self.assertTrue(all(group["fingerprint"] for group in report["groups"]))

    def test_the_example_of_the_document(self):
        blocks = re.findall(r"^```text\n(kvedit\.layout/1 .*?)^```$", DOCS.read_text(),
                            re.MULTILINE | re.DOTALL)
        registration = re.search(r"^```json\n(\{\"schema\": \"kvedit.registration/1\".*?)^```$",
                                 DOCS.read_text(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 2)
        prints = ["kvx1-" + hashlib.sha256(each.encode()).hexdigest()[:32] for each in blocks]
        path = self.folder / "example.json"
        path.write_text(registration[1])
        done = self.run_program("explain", "--json", path)
        report = json.loads(done.stdout)
        self.assertEqual(report["groups"][0]["fingerprint"], prints[0])
        self.assertEqual(report["fingerprint"], prints[1])
        self.assertIn(prints[0], blocks[1])
        for each in prints:
            self.assertIn(each, DOCS.read_text())


class Given(Fingerprint):
    """Registrations that engines of several versions made, or of which one knows what they hold."""

    def told(self, a, b):
        done = self.run_program("diff", "--json", REGISTRATIONS / f"{a}.json",
                                REGISTRATIONS / f"{b}.json")
        self.assertEqual(done.stderr, b"")
        return json.loads(done.stdout)

    def differing(self, a, b):
        """Index of group A -> fields that differ."""
        return {group["a"]: {each["field"] for each in group["differences"]}
                for group in self.told(a, b)["groups"] if not group["may_share"]}

    def test_versions_that_register_the_same_bytes_differently(self):
        # State lists and attention as one page in 0.25.1, whole-page rows in 0.28, tight rows in 0.32.
        for a, b in (("live-v0251-nemotron-h", "live-v0320-nemotron-h"),
                     ("live-v0280-nemotron-h", "live-v0320-nemotron-h"),
                     ("live-v0271-nemotron-h-kbs32", "live-v0320-nemotron-h-kbs32"),
                     ("live-v0300-qwen3-next", "live-v0320-qwen3-5-text"),
                     ("kv-tuple-two-allocations", "v022-dense-block128-kv-planes-k2")):
            with self.subTest(a):
                told = self.told(a, b)
                self.assertTrue(told["may_share"], told)
                self.assertTrue(all(group["may_share"] for group in told["groups"]))

    def test_what_differs_and_nothing_else(self):
        nhd, hnd = "qwen3.5-0.8b-flashinfer-nhd", "qwen3.5-0.8b-flashinfer-hnd"
        for a, b, differing in (
                (nhd, hnd, {3: {"order"}}),
                ("v026-qwen3.5-packed-hnd-k25", "v026-qwen3.5-packed-nhd-k25", {3: {"order"}}),
                # Kernel pages of 32 tokens against pages of 256, heads first.
                ("live-v0320-nemotron-h-kbs32", "live-v0320-nemotron-h", {2: {"order"}}),
                # Tokens first, so that kernel pages do not show; only the backend's word is left.
                (nhd, "qwen3.5-0.8b-flashattn", {3: {"backend"}}),
                # K before V in each kernel page.
                ("v025-qwen3.5-0.8b-split5", nhd, {3: {"order", "backend"}}),
                ("v028-grouped-k17", hnd, {3: {"backend"}})):
            with self.subTest(a):
                self.assertEqual(self.differing(a, b), differing)


class Words(Fingerprint):
    def test_equal_sides_say_so_and_what_does_not_matter(self):
        done = self.diff(attention(kernel=4), attention(kernel=8, blocks=9))
        said = done.stdout.decode()
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(said.startswith("may share"), said)
        for words in ("kernel pages 4 and 2", "blocks 5 and 9", "a.json", "b.json", "order",
                      "does not matter", "the rank"):
            self.assertIn(words, said)

    def test_a_difference_has_both_numbers_and_the_consequence(self):
        done = self.diff(attention(), attention(heads=4, size=4))
        said = done.stdout.decode()
        self.assertEqual(done.returncode, 1)
        self.assertTrue(said.startswith("must not share"), said)
        for words in ("heads differs in 1 layer", LAYER, "A  2", "B  4", "cut into other heads",
                      "equal: layers"):
            self.assertIn(words, said)

    def test_an_order_is_told_in_words(self):
        said = self.diff(DIFFER["kernel pages of 8 against 4, heads first"][0](),
                         attention()).stdout.decode()
        for words in ("A  2 kernel pages of 2 heads of 8 states of K and V of 16 bytes of content",
                      "B  16 states of 2 heads of K and V of 16 bytes of content",
                      "0 of 1 group may share"):
            self.assertIn(words, said)

    def test_layers_that_only_one_side_has_are_named(self):
        done = self.diff(attention(layers=("a", "b")), attention(layers=("b", "c")))
        for words in ('only here: "a"', 'only here: "c"'):
            self.assertIn(words, done.stdout.decode())

    def test_many_layers_that_differ_alike_are_one_difference(self):
        layers = [f"layer {number}" for number in range(40)]
        told = json.loads(self.diff(attention(layers=layers), attention(layers=layers, heads=4, size=4),
                                    "prefix", "--json").stdout)
        heads = [each for each in told["groups"][0]["differences"] if each["field"] == "heads"]
        self.assertEqual([(each["a"], each["b"], each["layers"]) for each in heads], [("2", "4", 40)])

    def test_groups_without_a_partner(self):
        told = json.loads(self.diff(DIFFER["a group more"][0](), attention(), "prefix",
                                    "--json").stdout)
        self.assertEqual([(group["a"], group["b"]) for group in told["groups"]], [(0, 0), (1, None)])
        said = self.diff(attention(), DIFFER["a group more"][0]()).stdout.decode()
        self.assertIn("group 1 of B: must not share", said)

    def test_a_side_that_is_not_ok(self):
        bad = not_ok()
        for a, b, words in ((bad, attention(), "A is not ok"), (attention(), bad, "B is not ok"),
                            (bad, bad, "neither side is ok")):
            done = self.diff(a, b)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stdout.decode())

    def test_names_from_outside_are_shown_not_obeyed(self):
        evil = "evil\x1b[31m\u009b\n"
        said = self.diff(attention(layers=(evil,)), attention(layers=("b",))).stdout.decode()
        self.assertNotRegex(said, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class Unreadable(Fingerprint):
    def check(self, *arguments):
        done = self.run_program("diff", *arguments)
        said = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertEqual(said.count("\n"), 1, said)
        return said

    def test_usage_and_files(self):
        good = self.file("good.json", attention())
        bad = self.folder / "bad.json"
        bad.write_text("{")
        self.check()
        self.check(good)
        self.check("-", "-")
        self.check(good, good, good)
        self.check(good, good, "--purpose", "both")
        self.check(good, good, "--rules-dir", self.folder / "missing")
        for arguments in ((good, bad), (bad, good)):
            self.assertIn("bad.json", self.check(*arguments))
        for arguments in ((good, self.folder / "none.json"), (self.folder / "none.json", good)):
            self.assertIn("none.json", self.check(*arguments))

    def test_standard_input_is_either_side(self):
        good = self.file("good.json", attention())
        for arguments in (("-", good), (good, "-")):
            done = subprocess.run([str(PROGRAM), "diff", *map(str, arguments)],
                                  input=good.read_bytes(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=self.environment, timeout=120)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_rules_are_chosen_as_for_explain(self):
        paged = self.file("paged.json", attention(kernel=4))
        done = self.run_program("diff", paged, paged, "--no-standard-rules")
        self.assertEqual(done.returncode, 1)
        done = self.run_program("diff", paged, paged, "--no-standard-rules", "--rules-dir", RULES)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
