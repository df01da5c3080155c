#!/usr/bin/env python3
"""What all commands have in common: input that cannot be read, usage, streams, colours."""

import json
import os
import pty
import re

from program import changed, Cli, KERNEL_PAGED, registration, REGISTRATIONS, run_tests


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


class Names(Cli):
    """Names in a registration can hold anything: shown, never obeyed, one way in all commands."""

    name = "at\x1b[31mtn\u009b2J\u202e\n\x7f"
    shown = "at\\x1b[31mtn\\u009b2J\\u202e\\x0a\\x7f"

    def hostile(self, **changes):
        document = changed(("model",), self.name)
        document["caches"][self.name] = document["caches"].pop(KERNEL_PAGED)
        document["groups"][0]["layers"] = [self.name]
        document["backends"] = {self.name: self.name}
        document.update(changes)
        return self.file(document)

    def printable(self, text):
        for line in text.split("\n"):
            self.assertTrue(line.isprintable(), line)
        return text

    def test_in_words(self):
        path = self.hostile()
        other = self.file(registration(), "other.json")
        for arguments, code in ((("explain", path), 0), (("explain", path, "--layer", self.name), 0),
                                (("verify", path), 0), (("diff", path, other), 1)):
            with self.subTest(arguments[0]):
                self.assertIn(self.shown, self.printable(self.good(*arguments, code=code)))
        refused = self.hostile(num_blocks=5)
        for arguments in (("explain", refused), ("verify", refused)):
            self.assertIn(self.shown, self.printable(self.good(*arguments, code=1)))

    def test_in_json(self):
        path = self.hostile()
        for command in ("explain", "verify"):
            text = self.printable(self.good(command, path, "--json"))
            self.assertEqual(json.loads(text)["layers"][0]["name"], self.name)
        self.printable(self.good("diff", path, self.file(registration(), "other.json"), "--json",
                                 code=1))

    def test_in_errors(self):
        path = self.hostile()
        said = self.run_program("explain", path, "--layer", self.name[::-1]).stderr.decode()
        self.assertIn("\\x7f\\x0a\\u202eJ2\\u009b", self.printable(said))
        self.unreadable("verify", path, "--layer", self.name[::-1], names=["\\u202e"])
        self.unreadable("explain", self.folder / self.name, names=[self.shown])
        self.unreadable("explain", path, "--profile", self.name, names=[self.shown])
        self.unreadable(self.name, names=["kvedit"])
        document = changed(("caches", KERNEL_PAGED, "dtype"), self.name)
        self.unreadable("explain", self.file(document), names=["\\u202e"])  # as JSON

    def test_of_files_that_are_no_packs(self):
        folder = self.directory("rules")
        (folder / ("a" + self.name + ".so")).write_bytes(b"no pack")
        text = self.printable(self.good("rules", "--rules-dir", folder, "--all"))
        self.assertIn(self.shown, text)
        packs = json.loads(self.printable(self.good("rules", "--rules-dir", folder, "--json")))
        self.assertIn("a" + self.name + ".so", {os.path.basename(each["path"])
                                                for each in packs["packs"]})


if __name__ == "__main__":
    run_tests()
