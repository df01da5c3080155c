#!/usr/bin/env python3
"""The checker against small trees: one that is right, and the same tree with one flaw each."""

import tempfile
import unittest
from pathlib import Path

import check_structure

GOOD = {
    "core/CMakeLists.txt": "add_library(kvedit src/host.cpp)\n",
    "core/include/kvedit/host.hpp": "#pragma once\n\n#include <string>\n\n#include <kvedit/error.hpp>\n",
    "core/include/kvedit/error.hpp": "#pragma once\n",
    "core/src/base/CMakeLists.txt": "kvedit_room(base SOURCES runs.cpp)\n",
    "core/src/base/runs.hpp": "#pragma once\n\n#include <vector>\n",
    "core/src/base/runs.cpp": '#include "base/runs.hpp"\n\n#include <algorithm>\n',
    "core/src/match/CMakeLists.txt": "kvedit_room(match SOURCES match.cpp)\n",
    "core/src/match/match.hpp": '#pragma once\n\n#include "base/runs.hpp"\n',
    "core/src/match/match.cpp": '#include "match/match.hpp"\n\n#include <kvedit/host.hpp>\n',
    "core/src/json/CMakeLists.txt": "kvedit_room(json SOURCES read.cpp)\n",
    "core/src/json/read.cpp": "#include <boost/json.hpp>\n\n#include <boost/json/value.hpp>\n",
    "core/src/host.hpp": "#pragma once\n",
    "core/src/host.cpp": '#include "host.hpp"\n\n#include <spdlog/spdlog.h>\n\n#include "match/match.hpp"\n',
    "core/cli/CMakeLists.txt": "add_executable(program main.cpp)\n",
    "core/cli/main.cpp": "#include <CLI/CLI.hpp>\n\n#include <kvedit/host.hpp>\n",
    "core/verify/CMakeLists.txt": "add_library(verify json.cpp)\n",
    "core/verify/json.cpp": '#include "json/problem_writer.hpp"\n#include "json/text_writer.hpp"\n',
    "core/torch/CMakeLists.txt": "add_library(kvedit_torch views.cpp)\n",
    "core/torch/views.cpp": "#include <ATen/core/TensorBase.h>\n\n#include <kvedit/host.hpp>\n",
    "sdk/include/kvedit/rule_abi.h": "#pragma once\n\n#include <stdint.h>\n",
    "sdk/include/kvedit/rule.hpp": "#pragma once\n\n#include <kvedit/rule/box.hpp>\n",
    "sdk/include/kvedit/rule/box.hpp": "#pragma once\n\n#include <kvedit/rule_abi.h>\n",
    "plugins/row/CMakeLists.txt": "kvedit_add_rule_pack(row SOURCES row.cpp)\n",
    "plugins/row/row.cpp": "#include <kvedit/rule.hpp>\n",
    "python/binding/CMakeLists.txt": "add_library(kvedit_python MODULE host.cpp)\n",
    "python/binding/host.cpp": "#include <Python.h>\n\n#include <kvedit/host.hpp>\n",
    "tests/CMakeLists.txt": "kvedit_test(runs SOURCES unit/runs_test.cpp)\n",
    "tests/unit/runs_test.cpp": '#include <catch2/catch.hpp>\n\n#include "base/runs.hpp"\n',
}


def findings_of(changes):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**GOOD, **changes}.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check_structure.check(folder)[1]


class CheckerTest(unittest.TestCase):
    def test_a_right_tree_has_no_findings(self):
        found = findings_of({})
        self.assertEqual(found.errors, [])
        self.assertEqual(found.warnings, [])

    def expect(self, path, text, words, **more):
        errors = findings_of({path: text, **more}).errors
        self.assertEqual(len(errors), 1, errors)
        self.assertTrue(errors[0].startswith(path), errors[0])
        self.assertIn(words, errors[0])

    def test_includes_that_a_file_may_not_have(self):
        own = '#include "match/match.hpp"\n'
        for path, text, words in (
            ("core/src/match/match.cpp", own + '#include "json/read.hpp"\n',
             "room match may not include room json"),
            ("core/src/match/match.cpp", own + "#include <boost/json.hpp>\n",
             "room match may not include <boost/json.hpp>"),
            ("core/src/match/match.cpp", own + "#include <kvedit/rule_abi.h>\n",
             "room match may not include <kvedit/rule_abi.h>"),
            ("core/src/json/read.cpp", "#include <boost/dll.hpp>\n",
             "room json may not include <boost/dll.hpp>"),
            ("core/src/match/match.cpp", own + "#include <spdlog/spdlog.h>\n", "spdlog"),
            ("core/src/match/match.cpp", own + "#include <ATen/core/TensorBase.h>\n",
             "only core/torch includes libtorch"),
            ("core/src/match/match.cpp", own + '#include "../base/runs.hpp"\n', "not by way"),
            ("core/src/match/match.cpp", '#include <vector>\n' + own, "comes first"),
            ("core/src/base/runs.hpp", '#pragma once\n#include "match/match.hpp"\n',
             "room base may not include room match"),
            ("core/include/kvedit/host.hpp", "#pragma once\n#include <spdlog/spdlog.h>\n",
             "a public header may include"),
            ("core/include/kvedit/host.hpp", '#pragma once\n#include "base/runs.hpp"\n',
             "a public header may include"),
            ("core/cli/main.cpp", '#include "match/match.hpp"\n', "the program may include"),
            ("core/verify/json.cpp", '#include "json/document.hpp"\n', "core/verify may include"),
            ("core/verify/json.cpp", '#include "match/match.hpp"\n', "core/verify may include"),
            ("core/src/host.cpp", '#include "host.hpp"\n' + "#include <boost/json.hpp>\n", "the host may include"),
            ("core/torch/views.cpp", "#include <torch/torch.h>\n", "never included"),
            ("sdk/include/kvedit/rule.hpp", "#pragma once\n#include <kvedit/host.hpp>\n",
             "the SDK may include"),
            ("python/binding/host.cpp", '#include "match/match.hpp"\n', "the Python module may include"),
            ("plugins/row/row.cpp", "#include <kvedit/host.hpp>\n", "a standard rule may include"),
            ("tests/unit/runs_test.cpp", "#include <c10/core/TensorImpl.h>\n",
             "only core/torch includes libtorch"),
        ):
            with self.subTest(path=path, text=text):
                self.expect(path, text, words)

    def test_a_test_that_no_cmake_file_names(self):
        self.expect("tests/unit/extra_test.cpp", "", "in no CMakeLists.txt")

    def test_a_name_in_a_comment_is_not_listed(self):
        self.expect("tests/unit/extra_test.cpp", "", "in no CMakeLists.txt",
                    **{"tests/unit/CMakeLists.txt": "# extra_test.cpp\n"})

    def test_a_list_of_stems_counts(self):
        lists = "foreach(pack broken)\n  add_library(${pack} MODULE ${pack}.cpp)\nendforeach()\n"
        tree = {"tests/packs/broken.cpp": "", "tests/packs/CMakeLists.txt": lists}
        self.assertEqual(findings_of(tree).errors, [])
        self.expect("tests/packs/other.cpp", "", "in no CMakeLists.txt", **tree)

    def test_a_list_of_files_in_a_folder_counts(self):
        lists = "foreach(source broken.c)\n  pack(fixtures/${source})\nendforeach()\n"
        tree = {"tests/packs/fixtures/broken.c": "", "tests/packs/CMakeLists.txt": lists}
        self.assertEqual(findings_of(tree).errors, [])
        self.expect("tests/packs/fixtures/other.c", "", "in no CMakeLists.txt", **tree)

    def test_folders_from_a_list_count(self):
        lists = "foreach(rule mamba-row)\n  string(REPLACE - _ file ${rule})\n  pack(${rule}/${file}.cpp)\n"
        tree = {"plugins/mamba-row/mamba_row.cpp": "", "plugins/CMakeLists.txt": lists}
        self.assertEqual(findings_of(tree).errors, [])
        self.expect("plugins/other/other.cpp", "", "in no CMakeLists.txt", **tree)

    def test_globs_count_as_deep_as_they_say(self):
        lists = "file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */*.cpp)\n"
        tree = {"plugins/mamba-row/mamba_row.cpp": "", "plugins/CMakeLists.txt": lists}
        self.assertEqual(findings_of(tree).errors, [])
        self.expect("plugins/other/deep/other.cpp", "", "in no CMakeLists.txt", **tree)

    def test_a_source_listed_in_the_folder_above_by_another_folder_is_not_listed(self):
        self.expect("tests/golden/runs_test.cpp", "", "in no CMakeLists.txt")

    def test_names_that_say_nothing(self):
        self.expect("core/src/match/match_utils.hpp", "#pragma once\n", "says nothing")

    def test_a_room_that_the_table_does_not_know(self):
        errors = findings_of({"core/src/extra/extra.hpp": "#pragma once\n"}).errors
        self.assertEqual(len(errors), 1, errors)
        self.assertIn("a room that the table does not know", errors[0])

    def test_sizes(self):
        self.expect("core/src/match/long.hpp", "#pragma once\n" * 401, "at most 400")
        found = findings_of({"core/src/match/long.hpp": "#pragma once\n" * 301})
        self.assertEqual(found.errors, [])
        self.assertEqual(len(found.warnings), 1)

    def test_a_header_without_guard(self):
        self.expect("core/src/match/bare.hpp", "struct Bare;\n", "no #pragma once")

    def test_words_left_behind(self):
        self.expect("core/src/base/runs.hpp", "#pragma once\n// TODO later\n", "TODO")
        self.expect("core/src/base/runs.hpp", '#pragma once\n// see /work/x\n', "machine path")


if __name__ == "__main__":
    unittest.main()
