"""The built program as tests run it, and registrations for it.

A test file here is called with PROGRAM REGISTRATIONS STANDARD_RULES STRIPED_PACK [CLASS[.test] ...].
What is right is said by docs/formats.md, "Exit codes", and the help text.
"""

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, REGISTRATIONS, STANDARD_RULES, STRIPED_PACK = (
    Path(each).resolve() for each in sys.argv[1:5])
KERNEL_PAGED = "attn"


def registration():
    """One layer of four blocks in 17 kernel pages of 32 tokens each."""
    spec = {"type": "FullAttentionSpec", "bases": ["AttentionSpec"], "block_size": 544,
            "page_size_bytes": 557056, "num_kv_heads": 1, "head_size": 256, "dtype": "bfloat16"}
    tensor = {"dtype": "bfloat16", "shape": [68, 1, 32, 512], "stride": [16384, 16384, 512, 1],
              "storage_offset": 0, "storage": "s0"}
    return {"schema": "kvedit.registration/1", "num_blocks": 4,
            "groups": [{"layers": [KERNEL_PAGED], "spec": spec}],
            "storages": {"s0": {"nbytes": 4 * 557056, "device": "cpu"}},
            "caches": {KERNEL_PAGED: tensor}}


def striped():
    """The same bytes in the order of an engine that only its own rule knows."""
    changed = registration()
    changed["groups"][0]["spec"].update(type="StripedAttentionSpec", bases=[])
    return changed


def without_pages():
    """A page for each block: needs no rule."""
    changed = registration()
    changed["caches"][KERNEL_PAGED].update(shape=[4, 1, 544, 512], stride=[278528, 278528, 512, 1])
    return changed


def changed(path, value, document=None):
    document = copy.deepcopy(document or registration())
    at = document
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return document


def run_tests():
    """The classes and tests named behind the four paths; all without."""
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])


class Cli(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvedit cli ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "home").mkdir()
        self.environment = {"PATH": os.environ.get("PATH", ""), "TERM": "xterm-256color",
                            "HOME": str(self.folder / "home"),
                            "XDG_CONFIG_DIRS": str(self.folder / "no configuration")}
        for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def file(self, content, name="registration.json"):
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def directory(self, name, *packs):
        path = self.folder / name
        path.mkdir()
        for pack in packs:
            shutil.copy2(pack, path)
        return path

    def run_program(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        environment = {**self.environment, **options.pop("environment", {})}
        return subprocess.run([str(PROGRAM), *map(str, arguments)], stderr=subprocess.PIPE,
                              env=environment, timeout=120, **options)

    def good(self, *arguments, code=0, **options):
        done = self.run_program(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (code, b""), done.stdout)
        return done.stdout.decode()

    def unreadable(self, *arguments, names=(), **options):
        done = self.run_program(*arguments, **options)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 2, said)
        self.assertIn(done.stdout, (b"", None))
        self.assertTrue(said.endswith("\n"), said)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertTrue(all(c.isprintable() for c in said[:-1]), said)
        for name in names:
            self.assertIn(str(name), said)
