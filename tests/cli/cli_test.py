#!/usr/bin/env python3
"""Runs the built program as a user does: exit codes, streams, options, colours, rules.

Usage: cli_test.py PROGRAM REGISTRATIONS STANDARD_RULES STRIPED_PACK [CLASS[.test] ...]
What is right is said by docs/formats.md ("Exit codes of the command line tool") and the help text.
"""

import copy
import json
import os
import pty
import re
import resource
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


class Answers(Cli):
    def codes(self, *arguments, code):
        report = json.loads(self.good("explain", *arguments, "--json", code=code))
        return [problem["code"] for problem in report["problems"]]

    def test_served_is_0_in_text_and_json(self):
        path = self.file(registration())
        text = self.good("explain", path)
        for word in ("[68, 1, 32, 512]", "[4, 2, 544, 1, 256]", "17 kernel pages", "544 slots",
                     "557056 bytes", "kvedit.subpaged-attention", "smallest legal chunk: 544"):
            self.assertIn(word, text)
        report = json.loads(self.good("explain", path, "--json"))
        self.assertEqual(report["schema"], "kvedit.report/1")
        self.assertIs(report["ok"], True)
        self.assertEqual(report["layers"][0]["pages"]["kernel_pages"], 17)

    def test_problems_are_1_and_the_report_is_whole(self):
        wrong = {
            ("num_blocks",): (0, "bad-geometry"),
            ("caches", KERNEL_PAGED, "stride"): ([-16384, 16384, 512, 1], "bad-geometry"),
            ("caches", KERNEL_PAGED, "storage"): ("elsewhere", "bad-geometry"),
            ("caches", KERNEL_PAGED, "shape"): ([0, 1, 32, 512], "bad-geometry"),
            ("storages", "s0", "nbytes"): (4 * 557056 - 1, "bad-geometry"),
            ("groups", 0, "spec", "block_size"): (0, "bad-geometry"),
            ("groups", 0, "layers"): ([KERNEL_PAGED, "never"], "missing-cache"),
            ("groups", 0, "spec", "kind"): ("cross_attention", "cross-attention"),
        }
        for path, (value, code) in wrong.items():
            with self.subTest(path):
                file = self.file(changed(path, value))
                self.assertIn(code, self.codes(file, code=1))
                text = self.good("explain", file, code=1)
                self.assertTrue(text.startswith("error "), text)
                self.assertIn("error " + code, text)
                self.assertIn("\ngroups\n", text)

    def test_a_given_registration_of_each_kind(self):
        for name, code in (("live-v0320-falcon-h1", 0), ("whisper-cross-attention", 1),
                           ("qwen3.5-0.8b-mode-none", 1)):
            with self.subTest(name):
                path = REGISTRATIONS / (name + ".json")
                self.good("explain", path, code=code)
                report = json.loads(self.good("explain", path, "--json", code=code))
                self.assertIs(report["ok"], code == 0)

    def test_purpose_transfer_makes_them_warnings(self):
        path = REGISTRATIONS / "qwen3.5-0.8b-mode-none.json"
        report = json.loads(self.good("explain", path, "--json", "--purpose", "transfer"))
        self.assertEqual(report["purpose"], "transfer")
        self.assertIn("mamba-cache-mode", [each["code"] for each in report["problems"]])
        self.assertEqual({each["severity"] for each in report["problems"]}, {"warning"})

    def test_profiles(self):
        path = self.file(registration())
        shapes = {"native": [4, 2, 544, 1, 256], "packed": [4, 1, 544, 512], "bytes": [4, 557056]}
        for profile, shape in shapes.items():
            report = json.loads(self.good("explain", path, "--json", "--profile", profile))
            self.assertEqual(report["profile"], profile)
            got = report["layers"][0]["view"]["shape"]
            if profile == "packed":  # one head: neither order is before the other
                self.assertIn(got, (shape, [4, 544, 1, 512]))
            else:
                self.assertEqual(got, shape)

    def test_profile_lmcache_tells_what_is_read(self):
        path = self.file(registration())
        report = json.loads(self.good("explain", path, "--json", "--profile", "lmcache"))
        self.assertEqual(report["profile"], "lmcache")
        self.assertEqual(report["recurrent_rows"], "tight")
        self.assertEqual(report["layers"][0]["view"]["shape"], [4, 1, 544, 512])
        self.assertEqual(report["layers"][0]["read_back"],
                         {"format": "NL_X_NB_NH_BS_CS", "planes": 1, "blocks": 4, "slots": 544,
                          "heads": 1, "width": 512, "block_bytes": 557056,
                          "block_stride": 557056})
        native = json.loads(self.good("explain", path, "--json"))
        self.assertNotIn("recurrent_rows", native)
        self.assertNotIn("read_back", native["layers"][0])
        for options in ((), ("--layer", KERNEL_PAGED)):
            text = self.good("explain", path, "--profile", "lmcache", *options)
            self.assertIn("LMCache reads NL_X_NB_NH_BS_CS: 544 slots of 1 head", text)

    def test_rows_as_whole_pages(self):
        path = REGISTRATIONS / "live-v0320-nemotron-h.json"
        shapes = {"tight": [8192, 1, 256, 272], "page": [8192, 1, 256, 512]}
        for rows, shape in shapes.items():
            report = json.loads(self.good("explain", path, "--json", "--profile", "lmcache",
                                          "--recurrent", rows))
            self.assertEqual(report["recurrent_rows"], rows)
            self.assertEqual(report["layers"][0]["view"]["shape"], shape)
        self.assertIn("profile lmcache with whole pages",
                      self.good("explain", path, "--profile", "lmcache", "--recurrent", "page"))

    def test_profile_lmcache_refuses_what_would_be_refused(self):
        path = REGISTRATIONS / "live-v0320-gemma3.json"
        report = json.loads(self.good("explain", path, "--json", "--profile", "lmcache", code=1))
        self.assertEqual([each["group"] for each in report["problems"]], [0, 1, 2, 3, 4])
        self.assertEqual(report["problems"][0]["facts"],
                         {"window": 64, "tokens_per_block": 128, "chunk_tokens": 128})

    def test_one_layer(self):
        path = self.file(registration())
        text = self.good("explain", path, "--layer", KERNEL_PAGED)
        for word in ("kvedit.mamba-page", "kvedit.subpaged-attention", "match", "no-match",
                     "page_size_bytes", "[68, 1, 32, 512]", "[4, 2, 544, 1, 256]"):
            self.assertIn(word, text)
        text = self.good("explain", path, "--layer", KERNEL_PAGED, "--no-standard-rules", code=1)
        self.assertIn("granularity-mismatch", text)

    def test_without_standard_rules_kernel_pages_are_refused(self):
        path = self.file(registration())
        self.assertEqual(self.codes(path, "--no-standard-rules", code=1), ["granularity-mismatch"])
        self.assertIn("error granularity-mismatch",
                      self.good("explain", path, "--no-standard-rules", code=1))
        self.assertEqual(self.codes(self.file(without_pages()), "--no-standard-rules", code=0), [])


class Unreadable(Cli):
    def test_files(self):
        missing = self.folder / "not there.json"
        self.unreadable("explain", missing, names=[missing])
        self.unreadable("explain", self.folder, names=[self.folder])
        self.unreadable("explain", self.file("", "empty.json"), names=["empty.json"])
        self.unreadable("explain", self.folder / "two\nlines\x1b[31m", names=["two"])

    def test_a_file_above_the_limit(self):
        path = self.folder / "large.json"
        with open(path, "wb") as file:
            file.truncate((256 << 20) + 1)
        self.unreadable("explain", path, names=[path])

    def test_json_that_cannot_be_parsed(self):
        whole = json.dumps(registration())
        texts = {"syntax": whole[:-1] + "]", "cut": whole[:100], "behind": whole + "x",
                 "deep": "[" * 65 + "]" * 65, "not an object": "[]", "nan": '{"num_blocks": NaN}'}
        for name, text in texts.items():
            with self.subTest(name):
                path = self.file(text)
                for options in ((), ("--json",)):
                    self.unreadable("explain", path, *options, names=[path])
        path = self.file(whole.encode().replace(b"attn", b"at\xfftn"))
        self.unreadable("explain", path, names=[path])

    def test_fields_are_named_by_pointer(self):
        spec = ("groups", 0, "spec")
        wrong = {
            "/num_blocks": [(("num_blocks",), each)
                            for each in ("4", 4.0, 4.5, None, 1 << 63, True)],
            "/schema": [(("schema",), "kvedit.registration/9"), (("schema",), 1)],
            "/layout": [(("layout",), "XYZ"), (("layout",), 1)],
            "/groups": [(("groups",), {})],
            "/groups/0/spec/page_size_bytes": [((*spec, "page_size_bytes"), 557056.0)],
            "/groups/0/spec/kind": [((*spec, "kind"), "sometimes")],
            "/caches/attn/dtype": [(("caches", KERNEL_PAGED, "dtype"), "float33")],
            "/caches/attn/shape": [(("caches", KERNEL_PAGED, "shape"), "4")],
            "/caches/attn/shape/0": [(("caches", KERNEL_PAGED, "shape"), [4.0, 1])],
            "/storages/s0/nbytes": [(("storages", "s0", "nbytes"), "many")],
        }
        for pointer, changes in wrong.items():
            for path, value in changes:
                with self.subTest(pointer, value=value):
                    file = self.file(changed(path, value))
                    self.unreadable("explain", file, names=[file, pointer])

    def test_missing_fields(self):
        for path in (("schema",), ("num_blocks",), ("groups",), ("storages",), ("caches",),
                     ("groups", 0, "layers"), ("groups", 0, "spec"), ("groups", 0, "spec", "type"),
                     ("groups", 0, "spec", "block_size"), ("caches", KERNEL_PAGED, "stride")):
            with self.subTest(path):
                document = registration()
                at = document
                for name in path[:-1]:
                    at = at[name]
                del at[path[-1]]
                file = self.file(document)
                self.unreadable("explain", file, names=[file, path[-1]])

    def test_duplicate_keys(self):
        once = '"num_blocks": 4'
        text = json.dumps(registration()).replace(once, f"{once}, {once}")
        self.unreadable("explain", self.file(text), names=["num_blocks"])

    def test_unknown_layer(self):
        path = self.file(registration())
        self.unreadable("explain", path, "--layer", "never", names=[path, "never"])
        self.unreadable("explain", self.file(changed(("num_blocks",), 0)), "--layer", "never",
                        names=["never"])


class Usage(Cli):
    def test_options_that_mean_nothing(self):
        path = self.file(registration())
        for arguments in ((), ("never",), ("explain",), ("explain", path, path), ("--never",),
                          ("explain", path, "--never"), ("explain", path, "--layer"),
                          ("explain", path, "--layer", KERNEL_PAGED, "--json"),
                          ("explain", path, "--profile"), ("explain", path, "--json=maybe"),
                          ("rules", path), ("rules", "--layer", "a")):
            with self.subTest(arguments):
                self.unreadable(*arguments)

    def test_profiles_and_purposes_that_are_unknown(self):
        path = self.file(registration())
        for option, value in (("--profile", "nativ"), ("--profile", ""),
                              ("--purpose", "both"), ("--recurrent", "page"),
                              ("--recurrent", "loose")):
            with self.subTest(value):
                self.unreadable("explain", path, option, value, names=[option])

    def test_help_is_enough_to_work_from(self):
        for arguments in (("--help",), ("-h",), ("explain", "--help"), ("rules", "--help"),
                          ("verify", "--help")):
            with self.subTest(arguments):
                self.assertIn("exit codes", self.good(*arguments).lower())
        whole, explain = self.good("--help"), self.good("explain", "--help")
        for word in ("explain", "rules", "--version", "KVEDIT_RULE_PATH"):
            self.assertIn(word, whole)
        for word in ("FILE", "--json", "--layer", "--profile", "native", "packed", "bytes",
                     "lmcache", "--recurrent", "tight", "page",
                     "--purpose", "prefix", "transfer", "--rules-dir", "--no-standard-rules"):
            self.assertIn(word, explain)
        for word in ("--json", "--all", "--rules-dir", "--no-standard-rules"):
            self.assertIn(word, self.good("rules", "--help"))

    def test_version(self):
        self.assertRegex(self.good("--version"), r"^kvedit \d+\.\d+\.\d+\n$")


class Streams(Cli):
    def test_standard_input(self):
        text = json.dumps(registration())
        file = self.file(registration())
        for options in ((), ("--json",), ("--layer", KERNEL_PAGED)):
            self.assertEqual(self.good("explain", "-", *options, input=text.encode()),
                             self.good("explain", file, *options))
        self.unreadable("explain", "-", input=b"{")
        self.unreadable("explain", "-", input=b"")
        wrong = json.dumps(changed(("num_blocks",), "4"))
        self.unreadable("explain", "-", input=wrong.encode(), names=["/num_blocks"])
        self.good("explain", "-", input=json.dumps(changed(("num_blocks",), 0)).encode(), code=1)

    def test_file_names_with_spaces_and_other_letters(self):
        path = self.file(registration(), "a dump of “today”.json")
        self.good("explain", path)
        self.unreadable("explain", self.file("{", "a bad dump.json"), names=["a bad dump.json"])

    def test_closed_and_full_standard_output(self):
        path = self.file(registration())
        for arguments in (("explain", path), ("explain", path, "--json"), ("rules",),
                          ("rules", "--json"), ("--help",), ("--version",), ("explain", "--help")):
            with self.subTest(arguments):
                with open("/dev/full", "wb") as full:
                    self.unreadable(*arguments, stdout=full, names=["standard output"])
                self.unreadable(*arguments, stdout=None, preexec_fn=lambda: os.close(1),
                                names=["standard output"])

    def test_a_reader_that_leaves(self):
        path = REGISTRATIONS / "qwen3.5-27b-aiter.json"
        read, write = os.pipe()
        os.close(read)
        try:
            done = self.run_program("explain", path, "--json", stdout=write)
        finally:
            os.close(write)
        self.assertIn(done.returncode, (-13, 2))  # the usual signal, or what cannot be written
        self.assertNotIn(b"internal error", done.stderr)

    def test_closed_standard_input_and_error(self):
        path = self.file(registration())
        done = self.run_program("explain", path, preexec_fn=lambda: (os.close(0), os.close(2)))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"17 kernel pages", done.stdout)
        self.unreadable("explain", "-", preexec_fn=lambda: os.close(0))


class Colours(Cli):
    def on_terminal(self, *arguments, **environment):
        try:
            master, slave = pty.openpty()
        except OSError as error:  # a bare container may have none
            self.skipTest(f"no terminal to be had: {error}")
        try:
            done = self.run_program(*arguments, stdout=slave, environment=environment)
            os.close(slave)
            slave = -1
            read = b""
            while True:
                try:
                    piece = os.read(master, 65536)
                except OSError:  # how Linux says that the other end is closed
                    break
                if not piece:
                    break
                read += piece
        finally:
            os.close(master)
            if slave >= 0:
                os.close(slave)
        self.assertIn(done.returncode, (0, 1))
        return read.decode().replace("\r\n", "\n")

    def test_only_on_a_terminal_that_wants_them(self):
        for document, code in ((registration(), 0), (changed(("num_blocks",), 0), 1)):
            path = self.file(document)
            for options in ((), ("--layer", KERNEL_PAGED)):
                with self.subTest(options, code=code):
                    plain = self.good("explain", path, *options, code=code)
                    self.assertNotIn("\x1b", plain)
                    coloured = self.on_terminal("explain", path, *options)
                    self.assertIn("\x1b[", coloured)
                    self.assertEqual(re.sub(r"\x1b\[[0-9;]*m", "", coloured), plain)
                    for unwanted in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
                        self.assertEqual(self.on_terminal("explain", path, *options, **unwanted),
                                         plain)

    def test_never_in_json(self):
        path = self.file(registration())
        self.assertNotIn("\x1b", self.on_terminal("explain", path, "--json"))
        self.assertNotIn("\x1b", self.on_terminal("rules", "--json"))

    def test_an_empty_no_color_says_nothing(self):
        self.assertIn("\x1b[", self.on_terminal("explain", self.file(registration()), NO_COLOR=""))


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


class SameBytes(Cli):
    def test_over_runs_and_working_directories(self):
        path = self.file(registration())
        packs, elsewhere = self.directory("packs", STRIPED_PACK), self.directory("elsewhere")
        for options in ((), ("--json",), ("--layer", KERNEL_PAGED)):
            with self.subTest(options):
                first = self.good("explain", path, "--rules-dir", packs, *options)
                self.assertEqual(first, self.good("explain", path, "--rules-dir", packs, *options))
                self.assertEqual(first, self.good("explain", "../registration.json", "--rules-dir",
                                                  "../packs", *options, cwd=elsewhere))
                self.assertNotIn(str(self.folder), first)

    def test_given_registrations(self):
        for name in ("live-v0320-nemotron-h.json", "deepseek-v4-flash-blhnc.json"):
            first = self.good("explain", REGISTRATIONS / name, "--json")
            self.assertEqual(first, self.good("explain", name, "--json", cwd=REGISTRATIONS))


class Verify(Cli):
    def report(self, *arguments, code=0, **options):
        return json.loads(self.good("verify", *arguments, "--json", code=code, **options))

    def test_what_a_user_sees(self):
        text = self.good("verify", self.file(registration()))
        for word in ("ok: 1 layer stored", "4 blocks, profile native", "blocks 0, 3 came back as 1, 2",
                     "1 x attn (group 0) edited by kvedit.subpaged-attention: ok",
                     "2 blocks, 1114112 payload bytes: 1114112 right through the page map",
                     "naive reading, entry b of dim 0 for block b: copies 65536 bytes, "
                     "0 of 1114112 payload bytes right"):
            self.assertIn(word, text)
        text = self.good("verify", self.file(without_pages()))
        self.assertIn("the same here, 1114112 of 1114112 payload bytes right", text)

    def test_the_schema(self):
        report = self.report(self.file(registration()))
        self.assertEqual(list(report), [
            "schema", "ok", "kvedit", "profile", "purpose", "problems", "seed", "reserved_bytes",
            "compared_bytes", "faults", "moves", "together", "layers"])
        self.assertEqual((report["schema"], report["ok"]), ("kvedit.verify/1", True))
        self.assertEqual(report["reserved_bytes"], 4 * 557056)
        self.assertEqual(report["moves"],
                         [{"group": 0, "stored": [0, 3], "brought_back": [1, 2]}])
        self.assertEqual(report["layers"], [
            {"name": KERNEL_PAGED, "group": 0, "outcome": "edited",
             "rule": "kvedit.subpaged-attention", "reason": None, "ok": True, "faults": [],
             "judged_by": "tensors", "blocks": 2, "payload_bytes": 1114112,
             "right_bytes": 1114112, "right_in_views": 1114112, "untouched_bytes": 0,
             "damaged_bytes": 0,
             "naive": {"is_block": False, "tried": True, "entries": 68, "entry_bytes": 32768,
                       "copied_bytes": 65536, "right_bytes": 0}}])

    def test_a_registration_that_is_refused_is_shown_as_by_explain(self):
        for document in (changed(("num_blocks",), 0), changed(("storages", "s0", "nbytes"), 5)):
            path = self.file(document)
            self.assertEqual(self.good("verify", path, code=1), self.good("explain", path, code=1))
            report = self.report(path, code=1)
            self.assertIs(report["ok"], False)
            explained = json.loads(self.good("explain", path, "--json", code=1))["problems"]
            for problem in explained:
                del problem["facts"]
            self.assertEqual(report["problems"], explained)
            self.assertEqual([layer["ok"] for layer in report["layers"]], [None])
        path = self.file(registration())
        self.assertIn("granularity-mismatch",
                      self.good("verify", path, "--no-standard-rules", code=1))

    def test_a_declared_order_is_said_to_be_the_word_of_the_rule(self):
        path = self.file(striped())
        text = self.good("verify", path, "--pack", STRIPED_PACK)
        self.assertIn("the order of its bytes is the word of the rule", text)
        layer, = self.report(path, "--pack", STRIPED_PACK)["layers"]
        self.assertEqual((layer["judged_by"], layer["ok"]), ("views", True))

    def test_groups_and_layers(self):
        path = REGISTRATIONS / "live-v0320-falcon-h1.json"
        whole = self.report(path, "--blocks", 1)["layers"]
        groups = {layer["group"] for layer in whole}
        for group in groups:
            part = self.report(path, "--blocks", 1, "--group", group)["layers"]
            self.assertEqual([each["name"] for each in part if each["ok"]],
                             [each["name"] for each in whole if each["group"] == group])
        name = whole[-1]["name"]
        one = self.report(path, "--blocks", 1, "--layer", name)["layers"]
        self.assertEqual([each["name"] for each in one if each["ok"]], [name])
        text = self.good("verify", path, "--layer", name)
        self.assertIn("1 x " + name, text)
        self.unreadable("verify", path, "--layer", "never", names=[path, "never"])
        self.unreadable("verify", path, "--group", len(groups), names=[path, len(groups)])
        other = next(each for each in whole if each["group"] != whole[-1]["group"])
        self.unreadable("verify", path, "--group", other["group"], "--layer", name,
                        names=[name, whole[-1]["group"], other["group"]])
        for wrong in (("--group", "x"), ("--blocks", 0), ("--blocks", -1), ("--seed", "x"),
                      ("--seed", -1), ("--seed", 10**20),
                      ("--profile", "nativ"), ("--purpose", "both"), ("--never",)):
            self.unreadable("verify", path, *wrong)
        self.unreadable("verify")

    def test_excluded_layers_have_the_reason_and_scratch_ones_are_moved(self):
        shared = REGISTRATIONS / "shared-cache-layer.json"
        excluded = [layer for layer in self.report(shared)["layers"]
                    if layer["outcome"] == "excluded"]
        self.assertTrue(excluded)
        text = self.good("verify", shared)
        for layer in excluded:
            self.assertIsNone(layer["ok"])
            self.assertIn("excluded: " + layer["reason"], text)
        scratch = [layer for layer in self.report(REGISTRATIONS / "v029-scratch-tail.json")["layers"]
                   if layer["outcome"] == "scratch"]
        self.assertTrue(scratch)
        self.assertTrue(all(layer["ok"] and layer["payload_bytes"] > 0 for layer in scratch))

    def test_blocks_and_seed(self):
        path = REGISTRATIONS / "live-v0320-llama.json"
        self.assertEqual(self.good("verify", path, "--seed", 7),
                         self.good("verify", path, "--seed", 7))
        first, second = (self.report(path, "--seed", seed)["moves"] for seed in (1, 2))
        self.assertEqual(len(first[0]["stored"]), 4)
        self.assertNotEqual(first, second)
        self.assertEqual(len(self.report(path, "--blocks", 1)["moves"][0]["stored"]), 1)

    def test_purpose_and_profile(self):
        path = REGISTRATIONS / "qwen3.5-0.8b-mode-none.json"
        self.good("verify", path, code=1)
        report = self.report(path, "--purpose", "transfer", "--profile", "bytes", "--blocks", 1)
        self.assertEqual((report["ok"], report["profile"], report["purpose"]),
                         (True, "bytes", "transfer"))
        self.assertEqual({each["severity"] for each in report["problems"]}, {"warning"})

    def test_memory_that_cannot_be_reserved(self):
        path = self.file(changed(("storages", "more"), {"nbytes": 1 << 60}))
        self.good("explain", path)
        self.unreadable("verify", path, names=[path, "storage more", 1 << 60])
        if b"__asan_init" not in PROGRAM.read_bytes():
            limit = 1 << 30
            path = self.file(changed(("storages", "more"), {"nbytes": 1 << 31}))
            self.unreadable("verify", path, names=["storage more", 1 << 31, limit],
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                                  (limit, limit)))

    def test_standard_input_and_output(self):
        text = json.dumps(registration()).encode()
        self.assertEqual(self.good("verify", "-", input=text),
                         self.good("verify", self.file(registration())))
        self.unreadable("verify", "-", input=b"{")
        with open("/dev/full", "wb") as full:
            self.unreadable("verify", self.file(registration()), stdout=full,
                            names=["standard output"])

    def test_names_are_shown_and_not_obeyed(self):
        name = "at\x1b[31mtn\u009b2J"
        document = json.loads(json.dumps(registration()).replace('"attn"', json.dumps(name)))
        text = self.good("verify", self.file(document))
        self.assertIn("at?[31mtn??2J", text)
        self.assertEqual(self.report(self.file(document))["layers"][0]["name"], name)

    def test_progress_on_a_terminal_only(self):
        try:
            master, slave = pty.openpty()
        except OSError as error:  # a bare container may have none
            self.skipTest(f"no terminal to be had: {error}")
        try:
            done = subprocess.run([str(PROGRAM), "verify", str(self.file(registration()))],
                                  stdout=subprocess.PIPE, stderr=slave, env=self.environment,
                                  timeout=120)
            shown = os.read(master, 65536).decode()
        finally:
            os.close(master)
            os.close(slave)
        self.assertEqual(done.returncode, 0)
        self.assertIn("100 %", shown)
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)
        self.assertNotIn(b"%", done.stdout)  # and `good` sees that a pipe gets nothing

    def test_help(self):
        text = self.good("verify", "--help")
        for word in ("FILE", "--json", "--group", "--layer", "--blocks", "--seed", "--profile",
                     "--purpose", "--rules-dir", "--pack", "--no-standard-rules", "Exit codes",
                     "naive", "Examples"):
            self.assertIn(word, text)
        self.assertIn("verify", self.good("--help"))


class VerifyGiven(Cli):
    def test_what_is_served_comes_back_and_what_is_refused_is_refused(self):
        moved = 0
        for path in sorted(REGISTRATIONS.glob("*.json")):
            with self.subTest(path.name):
                code = self.run_program("explain", path).returncode
                report = json.loads(self.good("verify", path, "--blocks", 1, "--json", code=code))
                self.assertIs(report["ok"], code == 0)
                if code:
                    continue
                self.assertFalse(report["together"]["shared_bytes"])
                for layer in report["layers"]:
                    if layer["outcome"] == "excluded":
                        continue
                    moved += 1
                    self.assertGreater(layer["payload_bytes"], 0)
                    self.assertEqual(layer["right_bytes"], layer["payload_bytes"])
                    self.assertEqual(layer["right_in_views"], layer["payload_bytes"])
                    naive = layer["naive"]
                    if naive["tried"] and not naive["is_block"]:
                        self.assertLess(naive["right_bytes"], layer["payload_bytes"])
        self.assertGreater(moved, 500)

    def test_a_large_one_stays_small(self):
        process = subprocess.Popen(
            [str(PROGRAM), "verify", str(REGISTRATIONS / "qwen3.5-27b-aiter.json")],
            stdout=subprocess.DEVNULL, env=self.environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        if b"__asan_init" not in PROGRAM.read_bytes():
            self.assertLess(usage.ru_maxrss, 1 << 20)  # KiB


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
