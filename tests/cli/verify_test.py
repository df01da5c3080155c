#!/usr/bin/env python3
"""kvedit verify: figures, options, real bytes of the given registrations."""

import json
import os
import pty
import resource
import subprocess

from program import (
    changed, Cli, KERNEL_PAGED, PROGRAM, registration, REGISTRATIONS, run_tests, striped, STRIPED_PACK,
    without_pages)


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

    def test_nothing_to_move(self):
        path = self.file({"schema": "kvedit.registration/1", "num_blocks": 1, "groups": [],
                          "storages": {}, "caches": {}})
        text = self.good("verify", path)
        self.assertIn("1 block, ", text)
        self.assertIn("nothing moved: there are no layers", text)

    def test_warnings_are_shown(self):
        other = registration()
        other["groups"].append(json.loads(json.dumps(other["groups"][0])))
        other["groups"][1]["layers"] = ["other"]
        other["caches"]["other"] = {**other["caches"][KERNEL_PAGED], "storage_offset": 16384}
        other["storages"]["s0"]["nbytes"] += 32768
        text = self.good("verify", self.file(other))
        self.assertTrue(text.startswith("warning overlap: layer other of group 1 keeps block 0"), text)
        self.assertIn("bytes under different ids; groups were moved one at a time", text)
        report = self.report(self.file(other))
        self.assertGreater(report["together"]["shared_bytes"], 0)
        self.assertEqual(report["problems"][0]["facts"]["other_block"], 1)

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
    run_tests()
