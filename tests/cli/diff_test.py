#!/usr/bin/env python3
"""kvedit diff: exit codes, words and JSON; which pairs may share is tests/fingerprint."""

import json

from program import changed, Cli, registration, run_tests, without_pages


class Diff(Cli):
    def setUp(self):
        super().setUp()
        self.a = self.file(registration(), "a.json")

    def test_the_same_bytes_may_share(self):
        b = self.file(without_pages(), "b.json")
        self.assertTrue(self.good("diff", self.a, b).startswith("may share"))
        told = json.loads(self.good("diff", self.a, b, "--json"))
        self.assertEqual((told["schema"], told["may_share"]), ("kvedit.diff/1", True))
        self.assertEqual([(each["a"], each["b"]) for each in told["groups"]], [(0, 0)])

    def test_other_bytes_must_not(self):
        b = self.file(changed(("groups", 0, "spec", "dtype"), "float16"), "b.json")
        text = self.good("diff", self.a, b, code=1)
        self.assertTrue(text.startswith("must not share"), text)
        self.assertIn("dtype differs", text)

    def test_a_side_that_is_not_ok_has_no_fingerprint(self):
        b = self.file(changed(("num_blocks",), 5), "b.json")
        for files, side in (((self.a, b), "B"), ((b, self.a), "A")):
            self.assertIn(f"{side} is not ok; kvedit explain shows why",
                          self.good("diff", *files, code=1))
        told = json.loads(self.good("diff", self.a, b, "--json", code=1))
        self.assertEqual((told["ok_a"], told["ok_b"], told["fingerprint_b"]), (True, False, None))
        self.assertEqual([(each["a"], each["b"]) for each in told["groups"]], [(0, None)])
        self.assertIn("neither side is ok", self.good("diff", b, b, code=1))

    def test_usage(self):
        self.unreadable("diff", names=["two registrations"])
        self.unreadable("diff", self.a)
        self.unreadable("diff", "-", "-", names=["standard input"])
        self.unreadable("diff", self.a, self.a, "--purpose", "both", names=["--purpose both"])
        self.unreadable("diff", self.a, self.folder / "never.json", names=["never.json"])
        self.assertIn("--purpose", self.good("diff", "--help"))


if __name__ == "__main__":
    run_tests()
