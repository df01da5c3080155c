#!/usr/bin/env python3
"""The scripts say at once how they are called, and refuse words that they do not know, before they
install, configure or build anything.

Usage: usage_test.py ROOT [unittest's arguments]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)).resolve()
SCRIPTS = [*sorted(path for path in (ROOT / "scripts").iterdir() if path.name != "usage.sh"), ROOT / ".ci/run"]
DOERS = ("apt-get", "sudo", "cmake", "ctest", "ninja", "python3", "g++", "clang++", "rm", "mkdir", "mktemp",
         "dpkg-query", "sha256sum", "cmp")  # fmt: skip
PRESETS = [each["name"] for each in json.loads((ROOT / "CMakePresets.json").read_text())["buildPresets"]]


class Scripts(unittest.TestCase):
    def setUp(self):
        """A tree with the scripts alone, and whatever could do something in their hands written down."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        for each in SCRIPTS + [ROOT / "scripts/usage.sh", ROOT / "CMakePresets.json"]:
            copy = self.root / each.relative_to(ROOT)
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(each, copy)
        self.done = self.root / "done"
        (self.root / "doers").mkdir()
        for name in DOERS:
            doer = self.root / "doers" / name
            doer.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.done}"\nexit 1\n')
            doer.chmod(0o755)

    def call(self, script, *arguments, folder=None):
        path = f"{self.root / 'doers'}:{os.environ['PATH']}"
        return subprocess.run([self.root / script, *arguments], text=True, capture_output=True, timeout=60,
                              cwd=folder or self.root, env={**os.environ, "PATH": path}, check=False)

    def assert_nothing_done(self):
        self.assertEqual(self.done.read_text() if self.done.exists() else "", "")

    def test_what_the_doers_would_do_is_written_down(self):
        self.assertNotEqual(self.call("scripts/test.sh", "release").returncode, 0)
        self.assertTrue(self.done.exists())

    def test_help(self):
        for script in SCRIPTS:
            name = str(script.relative_to(ROOT))
            comment = re.match(r"#!.*\n((?:#.*\n)+)", script.read_text())[1]
            wanted = re.sub(r"^# ?", "", comment, flags=re.M)
            for arguments in (["--help"], ["-h"], ["release", "--help"], ["--engines", "-h"]):
                with self.subTest(name, arguments=arguments):
                    done = self.call(name, *arguments, folder="/")
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, wanted, ""))
                    self.assertIn(name, wanted)
                    self.assert_nothing_done()

    def assert_refused(self, words, script, *arguments):
        with self.subTest(script, arguments=arguments):
            done = self.call(script, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, rf"^{re.escape(script)}: {words}; --help tells more\n$")
            self.assert_nothing_done()

    def test_presets_that_are_none(self):
        known = re.escape(", ".join(PRESETS))
        for script in ("scripts/test.sh", "scripts/build.sh"):
            for word in ("relaese", "", "dev release", "engines", ".*"):
                self.assert_refused(rf"'{re.escape(word)}' is no preset.*; there are {known}", script, word)

    def test_options_that_are_none(self):
        self.assert_refused("'--engine' is no preset and not --engines; there are .*",
                            "scripts/test.sh", "--engine")
        self.assert_refused("'-R' is no preset .*", "scripts/test.sh", "-R", "golden")
        self.assert_refused("'--clean' is no preset; there are .*", "scripts/build.sh", "--clean")
        for script in ("check_wheel", "engines_env", "python_env"):
            for word in ("--whele", "-x", ""):
                self.assert_refused(f"'{word}' where a folder is wanted", f"scripts/{script}.sh", word)
            self.assert_refused("'b' is one word too many", f"scripts/{script}.sh", "a", "b")
        self.assert_refused("'b' is one word too many", "scripts/check_wheel.sh", "--wheel", "a", "b")
        for script in ("scripts/demo.sh", ".ci/run"):
            self.assert_refused("'release' is one word too many", script, "release")
        for word in ("cmake", "--yes", ":cmake", "cmake:", ""):
            self.assert_refused(f"'{word}' where COMMAND:PACKAGE is wanted", "scripts/setup.sh", "a:b", word)

    def test_folders_of_others_are_not_emptied(self):
        """All three begin with an empty folder."""
        theirs = self.root / "theirs"
        theirs.mkdir()
        (theirs / "thesis.tex").touch()
        (theirs / "dist").mkdir()  # as of any package, and any environment
        (theirs / "pyvenv.cfg").touch()
        for script in ("check_wheel", "engines_env", "python_env"):
            for word in ("theirs", str(theirs), ".", ".."):
                self.assert_refused(f"'{word}' is not empty and not of this script; give another folder",
                                    f"scripts/{script}.sh", word)
        self.assertTrue((theirs / "thesis.tex").exists())

    def test_folders_that_can_be_begun(self):
        (self.root / "empty").mkdir()
        for script in ("check_wheel", "engines_env", "python_env"):
            marked, built = self.root / script, self.root / "build" / script
            for folder, content in ((marked, ".kvedit"), (built, "of an earlier version")):
                folder.mkdir(parents=True)
                (folder / content).touch()
            for folder in (marked, built, self.root / "empty", self.root / "new"):
                with self.subTest(script, folder=folder.name):
                    self.done.unlink(missing_ok=True)
                    self.assertNotEqual(self.call(f"scripts/{script}.sh", folder).returncode, 2)
                    self.assertTrue(self.done.exists())

    def test_presets_of_the_user_s_own(self):
        """CMake judges, once there are some."""
        preset = '{"buildPresets": [\n {\n "name": "mine",\n "configurePreset": "dev"}\n]}'
        (self.root / "CMakeUserPresets.json").write_text(preset)
        for word in ("mine", "release"):
            self.done.unlink(missing_ok=True)
            self.assertNotEqual(self.call("scripts/build.sh", word).returncode, 2)
            self.assertTrue(self.done.exists())
        self.done.unlink()
        self.assert_refused("'--mine' is no preset; there are .*", "scripts/build.sh", "--mine")


if __name__ == "__main__":
    unittest.main()
