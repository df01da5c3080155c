#!/usr/bin/env python3
"""kvedit explain: what is served, what is refused, the same bytes every time."""

import json

from program import (
    changed, Cli, KERNEL_PAGED, registration, REGISTRATIONS, run_tests, STRIPED_PACK, without_pages)


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


if __name__ == "__main__":
    run_tests()
