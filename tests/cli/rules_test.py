#!/usr/bin/env python3
"""kvedit rules: order, origin, what is left out and why."""

import json
import shutil
from pathlib import Path

from program import Cli, registration, run_tests, STANDARD_RULES, striped, STRIPED_PACK


class Rules(Cli):
    standard = ["kvedit.grouped-pages", "kvedit.kv-planes", "kvedit.mamba-page",
                "kvedit.mamba-row", "kvedit.subpaged-attention", "kvedit.subpaged-mla"]

    def rules(self, *arguments, code=0, **options):
        return json.loads(self.good("rules", "--json", *arguments, code=code, **options))

    def ids(self, *arguments, **options):
        return [rule["id"] for rule in self.rules(*arguments, **options)["rules"]]

    def serves_striped(self, *arguments, **options):
        path = self.file(striped(), "striped.json")
        done = self.run_program("explain", path, "--json", *arguments, **options)
        layer = json.loads(done.stdout)["layers"][0]
        self.assertEqual(done.returncode, 0 if layer["outcome"] == "edited" else 1)
        return layer["rule"] == "example.striped-pages" and layer["pages"]["order"] == "declared"

    def test_standard_rules_in_order(self):
        for rule in self.standard:
            self.assertIn(rule, self.ids())
        text = self.good("rules")
        for word in (*self.standard, "standard", "100", str(STANDARD_RULES)):
            self.assertIn(word, text)
        report = self.rules()
        for rule in report["rules"]:
            self.assertEqual(rule["tier"], "standard")
            self.assertRegex(rule["sha256"], "^[0-9a-f]{64}$")
            self.assertTrue(rule["version"])
        places = [self.good("rules").find(rule) for rule in self.ids()]
        self.assertEqual(places, sorted(places))

    def test_no_standard_rules(self):
        self.assertEqual(self.ids("--no-standard-rules"), [])
        self.good("rules", "--no-standard-rules")

    def test_a_pack_dropped_into_a_directory(self):
        self.assertFalse(self.serves_striped())
        directory = self.directory("more rules", STRIPED_PACK)
        self.assertTrue(self.serves_striped("--rules-dir", directory))
        self.assertTrue(self.serves_striped("--rules-dir", directory, "--no-standard-rules"))
        first = self.ids("--rules-dir", directory)[0]  # vendors come before the standard ones
        self.assertEqual(first, "example.striped-pages")
        self.assertIn(str(directory), self.good("rules", "--rules-dir", directory))

    def test_rules_dir_is_repeatable_and_must_be_there(self):
        directory, empty = self.directory("packs", STRIPED_PACK), self.directory("empty")
        for order in ((directory, empty), (empty, directory)):
            self.assertTrue(self.serves_striped("--rules-dir", order[0], "--rules-dir", order[1]))
        path, missing = self.file(registration()), self.folder / "no such directory"
        for command in (("explain", path), ("rules",), ("rules", "--json")):
            self.unreadable(*command, "--rules-dir", missing, names=[missing])
            self.unreadable(*command, "--rules-dir", empty, "--rules-dir", missing, names=[missing])
            self.unreadable(*command, "--rules-dir", path, names=[path])

    def test_the_environment_and_the_users_directory(self):
        directory = self.directory("from environment", STRIPED_PACK)
        path = f"{self.folder / 'never'}:{directory}"
        self.assertTrue(self.serves_striped(environment={"KVEDIT_RULE_PATH": path}))
        self.assertFalse(self.serves_striped(environment={"KVEDIT_RULE_PATH": ""}))
        own = self.folder / "home/.config/kvedit/rules.d"
        own.mkdir(parents=True)
        shutil.copy2(STRIPED_PACK, own)
        self.assertTrue(self.serves_striped())

    def test_refused_packs_are_shown_with_the_reason(self):
        foreign = next(iter(sorted(STANDARD_RULES.glob("*.so"))))
        directory = self.directory("foreign", foreign)
        text = self.good("rules", "--rules-dir", directory)
        self.assertIn("refused", text)
        self.assertIn(str(directory / foreign.name), text)
        packs = self.rules("--rules-dir", directory)["packs"]
        refused = [pack for pack in packs if pack["state"] == "refused"]
        self.assertEqual([pack["path"] for pack in refused], [str(directory / foreign.name)])
        self.assertTrue(refused[0]["reason"])
        report = json.loads(self.good("explain", self.file(registration()), "--json",
                                      "--rules-dir", directory))
        self.assertEqual([(each["severity"], each["code"]) for each in report["problems"]],
                         [("warning", "pack-refused")])

    def test_a_named_pack_that_cannot_be_loaded_is_an_error(self):
        path = self.file(registration())
        for pack in (path, self.folder / "never.so"):
            self.good("rules", "--pack", pack, code=1)
            text = self.good("explain", path, "--pack", pack, code=1)
            self.assertTrue(text.startswith("error pack-"), text)
        self.assertTrue(self.serves_striped("--pack", STRIPED_PACK))

    def test_other_files_are_shown_when_asked(self):
        directory = self.directory("mixed", STRIPED_PACK)
        (directory / "README.so").write_text("no pack")
        self.assertNotIn("README.so", self.good("rules", "--rules-dir", directory))
        self.assertIn("README.so", self.good("rules", "--all", "--rules-dir", directory))
        states = {Path(pack["path"]).name: pack["state"]
                  for pack in self.rules("--rules-dir", directory)["packs"]}
        self.assertEqual(states["README.so"], "skipped")
        self.assertEqual(states[STRIPED_PACK.name], "loaded")


if __name__ == "__main__":
    run_tests()
