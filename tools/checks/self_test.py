#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Plants violations and sees each check report them, and sees it accept a sound tree."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import conformance
import tree

CHECKS = pathlib.Path(__file__).resolve().parent
LICENCE = ("// SPDX-FileCopyrightText: The belfry authors\n"
           "// SPDX-License-Identifier: Apache-2.0\n\n")
HEADER = LICENCE + "#pragma once\n\n"


class CheckTest(unittest.TestCase):
    """A tree in a temporary folder, outside any repository."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("core/src/words/CMakeLists.txt", "belfry_sources(core HEADERS error.h)\n")
        self.write("core/src/run/CMakeLists.txt", "belfry_sources(core HEADERS run.h)\n")
        self.write("core/include/belfry/error.h", HEADER + "namespace belfry {}\n")
        self.write("core/include/belfry/run.h", HEADER + '#include "belfry/error.h"\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_check(self, check, **environment):
        run = subprocess.run([sys.executable, CHECKS / f"check_{check}.py", "--root", self.root],
                             capture_output=True, text=True, env=os.environ | environment)
        return run.returncode, run.stdout + run.stderr

    def accepts(self, check):
        status, output = self.run_check(check)
        self.assertEqual(status, 0, output)

    def reports(self, check, *wanted):
        status, output = self.run_check(check)
        self.assertEqual(status, 1, output)
        for text in wanted:
            self.assertIn(text, output)


class Layers(CheckTest):
    def test_accepts_lower_layers(self):
        self.accepts("layers")

    def test_reports_a_higher_layer(self):
        self.write("core/src/words/error.cpp", '#include "belfry/run.h"\n')
        self.reports("layers", "core/src/words/error.cpp:1", "layer 0 includes belfry/run.h")

    def test_reports_a_higher_private_header(self):
        self.write("core/src/words/error.cpp", '#include "run/rounds.h"\n')
        self.reports("layers", "layer 0 includes run/rounds.h of layer 4")

    def test_reports_an_unlisted_header(self):
        self.write("core/include/belfry/lost.h", HEADER)
        self.reports("layers", "lost.h: no CMakeLists.txt")

    def test_reports_an_unlisted_header_of_a_backend(self):
        self.write("backends/sim/CMakeLists.txt", "f(HEADERS sim/found.h) # sim/lost.h\n")
        self.write("backends/sim/driver/CMakeLists.txt", "g(FILES include/belfry/sim/driver.h)\n")
        for header in ("include/belfry/sim/found.h", "driver/include/belfry/sim/driver.h"):
            self.write(f"backends/sim/{header}", HEADER)
        self.accepts("layers")
        self.write("backends/sim/include/belfry/sim/lost.h", HEADER)
        self.reports("layers", "lost.h: no CMakeLists.txt under backends", "1 errors")

    def test_reports_a_header_without_the_check_of_the_compiler(self):
        self.write("core/src/words/CMakeLists.txt",
                   "belfry_sources(core HEADERS error.h detail/compiler.h leaf.h)\n")
        self.write("core/include/belfry/detail/compiler.h", HEADER)
        self.write("core/include/belfry/leaf.h",
                   HEADER + '#include "belfry/detail/compiler.h"\n')
        self.write("core/include/belfry/error.h", HEADER + '#include "belfry/leaf.h"\n')
        self.write("core/include/belfry/run.h", HEADER + '#include "belfry/leaf.h"\n')
        self.accepts("layers")
        self.write("core/include/belfry/leaf.h", HEADER)
        self.reports("layers", "leaf.h: a header without includes of belfry", "1 errors")

    def test_reports_a_backend_that_sees_too_much(self):
        self.write("backends/sim/src/backend.cpp", '#include "belfry/run.h"\n')
        self.reports("layers", "a backend includes belfry/run.h of layer 4")

    def test_reports_backends_that_see_each_other(self):
        self.write("backends/cuda/src/backend.cpp", '#include "belfry/sim/backend.h"\n')
        self.reports("layers", "backend cuda includes backend sim")

    def test_reports_a_suite_that_sees_a_backend(self):
        self.write("proptests/suites/reduce_props.cpp", '#include "belfry/sim/backend.h"\n')
        self.reports("layers", "a suite includes a backend")

    def test_reports_a_library_that_includes_an_extra(self):
        self.write("core/extras/files/CMakeLists.txt", "f(HEADERS files/csv.h)\n")
        self.write("core/extras/files/include/belfry/files/csv.h",
                   HEADER + '#include "belfry/run.h"\n')
        self.write("core/extras/files/src/csv.cpp", '#include "belfry/files/csv.h"\n')
        self.accepts("layers")
        self.write("core/src/run/run.cpp", '#include "belfry/files/csv.h"\n')
        self.write("core/extras/files/src/csv.cpp", '#include "belfry/sim/backend.h"\n')
        self.reports("layers", "core includes belfry/files/csv.h", "files includes a backend",
                     "2 errors")

    def test_reports_third_parties_in_the_wrong_place(self):
        self.write("core/include/belfry/error.h", HEADER + "#include <fmt/format.h>\n")
        self.write("core/src/words/error.cpp", "#include <Eigen/Core>\n")
        self.reports("layers", "<fmt/format.h> does not belong", "<Eigen/Core> does not belong")

    def test_reports_angle_brackets(self):
        self.write("core/src/run/run.cpp", "#include <belfry/run.h>\n")
        self.reports("layers", "included with quotes")


class Sizes(CheckTest):
    BODY = "  use(1);\n"

    def test_accepts_what_fits(self):
        self.write("core/src/run/run.cpp", "void f() {\n" + self.BODY * 58 + "}\n")
        self.accepts("sizes")

    def test_reports_a_long_function(self):
        self.write("core/src/run/run.cpp", "namespace a {\nclass B {\n  int f(int x) const {\n"
                   + self.BODY * 59 + "}\n};\n}\n")
        self.reports("sizes", "core/src/run/run.cpp:3: f (lines) has 61")

    def test_counts_a_function_with_its_lambdas(self):
        self.write("core/src/run/run.cpp",
                   "void g() {\n  auto h = [] {\n" + self.BODY * 60 + "  };\n}\n")
        self.reports("sizes", "g (lines) has 64")

    def test_is_not_misled_by_literals(self):
        text = 'const char* kText = "}";\nvoid f() {\n' + "  use('{', \"}\"); // }\n" * 60 + "}\n"
        self.write("core/src/run/run.cpp", text)
        self.reports("sizes", "core/src/run/run.cpp:2: f (lines) has 62")

    def test_reports_many_parameters(self):
        six = "std::map<int, int> a, int b = g(1, 2), int c[2], void (*d)(int, int), int e, int f"
        self.write("core/src/run/run.cpp", f"void take({six}) {{\n}}\nC::C({six}) : x_(1, 2) {{}}\n"
                   f"int ncclReduce({six}, int g) {{\n}}\nbool operator()({six}) {{}}\n"
                   f"template <class T> requires (f<T>(1, 2)) void g({six}) {{}}\n")
        self.accepts("sizes")
        self.write("core/src/run/run.cpp", f"void take({six}, int g) {{\n}}\n"
                   f"C::C({six}, int g) : x_(1) {{}}\n")
        self.reports("sizes", "core/src/run/run.cpp:1: take (parameters) has 7; at most 6",
                     "run.cpp:3: C::C (parameters) has 7", "2 errors")

    def test_reports_a_long_file(self):
        self.write("core/src/run/run.cpp", "\n" * 401)
        self.write("core/src/run/run_test.cpp", "\n" * 599)
        self.reports("sizes", "run.cpp: the file (lines) has 401", "sizes, 6 files: 1 errors")

    def test_reports_a_wide_interface(self):
        virtuals = "".join(f"  virtual int f{i}() = 0;\n" for i in range(9))
        self.write("core/include/belfry/run.h", "class Wide {\n" + virtuals + "};\n")
        self.reports("sizes", "Wide (pure virtuals) has 9")


class Files(CheckTest):
    def setUp(self):
        super().setUp()
        for name in ("words", "run"):
            path = f"core/src/{name}/CMakeLists.txt"
            self.write(path, LICENCE.replace("//", "#") + (self.root / path).read_text())

    def test_accepts_what_is_marked(self):
        self.accepts("files")

    def test_reports_what_is_missing(self):
        self.write("core/include/belfry/run.h", "int x; ")
        self.reports("files", "two licence lines", "no #pragma once", "no line end", "blank at the")

    def test_reports_long_lines_and_unmarked_scripts(self):
        self.write("tools/thing", "#!/bin/sh\n" + "x" * 101 + "\n")
        self.reports("files", "tools/thing: does not begin", "101 columns")

    def test_reports_files_at_the_top_level(self):
        self.write("README.md", "A project.\n")
        self.write(".gitignore", "/build/\n")
        self.accepts("files")
        self.write("left_by_a_test", "1\n")
        self.write("scratch/notes.md", "A note.\n")
        self.reports("files", "left_by_a_test: has no place at the top level",
                     "scratch/notes.md: has no place at the top level", "2 errors")


class Words(CheckTest):
    def test_accepts_plain_text(self):
        self.write("README.md", "A tow" + "er is a replica. See https://cmake.org/.\n#define X\n"
                                "waits in merge_call #2\n")
        self.accepts("words")

    def test_reports_each_kind(self):
        planted = {"/wo" + "rk/main": "a local path", "is" + "sue 12": "tracker",
                   "// TO" + "DO": "leftover", "see #" + "44.": "tracker",
                   "host.inter" + "nal": "private host", "a to" + "wer": "older word",
                   "http" + "://nowhere.test/": "nowhere.test"}
        for text, wanted in planted.items():
            with self.subTest(text):
                self.write("core/src/run/run.cpp", text + "\n")
                self.reports("words", "run.cpp:1", wanted)


class Determinism(CheckTest):
    def test_accepts_constants_and_functions(self):
        self.write("core/src/run/run.cpp", "static constexpr int kA = 1;\nstatic int f(int x);\n"
                                           "// a thread_local in a comment\n")
        self.accepts("determinism")

    def test_reports_each_kind(self):
        for text in ("std::unordered_map<int, int> a;", "std::chrono::seconds s;", "rand();",
                     'std::getenv("A");', "thread_local int a;", "static std::map<int, int> cache;",
                     "  static int calls = 0;"):
            with self.subTest(text):
                self.write("core/src/run/run.cpp", text + "\n")
                self.reports("determinism", "run.cpp:1")


class Format(CheckTest):
    def test_reports_or_says_that_it_did_not_look(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("core/src/run/run.cpp", "int   x ;\n")
        status, output = self.run_check("format")
        self.assertIn(status, (1, 77), output)
        self.assertIn("run.cpp:1: not formatted" if status == 1 else "SKIPPED", output)

    def test_is_skipped_without_the_formatter(self):
        status, output = self.run_check("format", PATH="/nonexistent")
        self.assertEqual(status, 77, output)
        self.assertIn("formatting was not checked", output)


class Docs(CheckTest):
    def setUp(self):
        super().setUp()
        self.write("docs/examples/CMakeLists.txt", "add_executable(first first.cpp)\n")
        self.write("docs/examples/first.cpp", "  // [sum]\n  int a = 1;\n  // [sum]\n")

    def page(self, origin, code):
        self.write("docs/page.md", f"{origin}\n```cpp\n{code}\n```\n")

    def test_accepts_equal_code_and_good_links(self):
        self.page("[list](examples/CMakeLists.txt)\n"
                  "<!-- snippet: docs/examples/first.cpp [sum] -->", "int a = 1;")
        self.accepts("docs")

    def test_reports_code_that_differs(self):
        self.page("<!-- snippet: docs/examples/first.cpp [sum] -->", "int a = 2;")
        self.reports("docs", "docs/page.md:4: the block differs")

    def test_reports_missing_origins(self):
        self.page("Text.", "int a = 1;")
        self.reports("docs", "has no `<!-- snippet")
        self.page("<!-- snippet: docs/examples/first.cpp [other] -->", "int a = 1;")
        self.reports("docs", "has no pair")
        self.page("<!-- snippet: docs/examples/lost.cpp [sum] -->", "int a = 1;")
        self.reports("docs", "does not exist")

    def test_reports_code_that_is_not_compiled(self):
        self.write("docs/examples/CMakeLists.txt", "")
        self.page("<!-- snippet: docs/examples/first.cpp [sum] -->", "int a = 1;")
        self.reports("docs", "is not compiled")

    def test_compares_lists_of_projects_that_are_built(self):
        self.write("tools/consumers/CMakeLists.txt", "consumer(find_package)\n")
        text = "project(a)\n# [train]\nfind_package(belfry)\n# [train]\n"
        self.write("tools/consumers/find_package/CMakeLists.txt", text)
        self.write("tools/consumers/lost/CMakeLists.txt", text)
        origin = "<!-- snippet: tools/consumers/find_package/CMakeLists.txt [train] -->\n```cmake\n"
        self.write("docs/page.md", origin + "find_package(belfry)\n```\n")
        self.accepts("docs")
        self.write("docs/page.md", origin + "find_package(bells)\n```\n\n```cmake\nf()\n```\n" +
                   origin.replace("find_package/", "lost/") + "find_package(belfry)\n```\n")
        self.reports("docs", "page.md:4: the block differs", "page.md:8: the block above has no",
                     "lost/CMakeLists.txt is in no CMakeLists.txt", "3 errors")

    def test_reports_commands_and_options_that_do_not_exist(self):
        self.write("tools/go", "  demo) f ;;\n  help | -h) g ;;\n")
        self.write("CMakeLists.txt", "option(BELFRY_BUILD_TESTS)\n")
        self.write("docs/page.md",
                   "`tools/go demo --seed 3`, `tools/go help`, -DBELFRY_BUILD_TESTS=ON\n")
        self.accepts("docs")
        self.write("docs/page.md", "```sh\ntools/go dance\ncmake -DBELFRY_BUILD_BELLS=ON\n```\n")
        self.reports("docs", "page.md:2: tools/go has no command 'dance'",
                     "page.md:3: CMake has no option BELFRY_BUILD_BELLS", "2 errors")

    def test_compares_output(self):
        self.write("docs/examples/first.expected", "== one\n1\n== two\n2\n")
        self.write("docs/page.md", "<!-- output: docs/examples/first.expected [two] -->\n"
                   "```text\n2\n```\n```text\nno origin, no check\n```\n")
        self.accepts("docs")
        self.write("docs/page.md", "<!-- output: docs/examples/first.expected [one] -->\n"
                   "```text\n2\n```\n<!-- output: docs/examples/first.expected [six] -->\n"
                   "```text\n1\n```\n<!-- output: docs/lost.expected -->\n```text\n1\n```\n")
        self.reports("docs", "page.md:4: the block differs", "no line `== six`",
                     "docs/lost.expected does not exist")

    def test_reports_dead_links(self):
        self.write("docs/page.md", "See [this](lost.md#part).\n")
        self.reports("docs", "docs/page.md:1: the link to lost.md leads nowhere")

    def test_requires_a_first_thing_to_do_for_each_code(self):
        self.write("docs/errors.md", "### BF-001 kWrong\n\nA.\n\n### BF-002 kLater\n\nReserved.\n")
        self.write("docs/debugging.md", "| [BF-001](errors.md#bf-001-kwrong) | Look. |\n")
        self.accepts("docs")
        self.write("docs/debugging.md", "| [BF-002](errors.md#bf-002-klater) | Look. |\n")
        self.reports("docs", "no row [BF-001](errors.md#bf-001-kwrong)", "no code BF-002")


class Citations(CheckTest):
    CODES = "core/include/belfry/error.h"

    def setUp(self):
        super().setUp()
        self.write(self.CODES, HEADER + "enum class ErrorCode : int {\n  kBad = 7,  ///< B.\n};\n")
        self.write("core/src/run/run.cpp", "// SEM-1, BF-007\nint a = int(ErrorCode::kBad);\n")
        self.write("docs/semantics.md", "### SEM-1 A rule\n")
        self.write("docs/errors.md", "### BF-007 kBad\n<!-- output: docs/x.expected [kBad] -->\n")
        self.write("core/include/belfry/backend/device.h",
                   HEADER + "class D {\n  virtual ~D();\n  virtual int index(\n int x) = 0;\n};\n")
        self.write("docs/backends.md", "| `int index( int x)` |\n`core/src/run/{run,no}.cpp`\n")

    def test_accepts_a_sound_tree(self):
        self.accepts("citations")

    def test_reports_a_dangling_rule(self):
        self.write("core/src/run/run.cpp", "\n// See SEM-1 and SEM-2.\nErrorCode::kBad\n")
        self.reports("citations", "run.cpp:2: SEM-2 is not a rule")

    def test_reports_rules_twice_or_out_of_order(self):
        self.write("docs/semantics.md", "### SEM-2 A\n### SEM-1 B\n### SEM-1 C\n")
        self.reports("citations", "SEM-1 is there twice", "not in the order")

    def test_reports_invariants_without_tests(self):
        rows = "### SEM-1 A\n| INV-1 | x | `A.B`, `A.C` |\n| INV-3 | y | none |\n"
        self.write("docs/semantics.md", rows)
        self.write("core/src/run/run.cpp", "TEST_F(A, B) {}\n// INV-2\nErrorCode::kBad\n")
        self.reports("citations", "INV-1: there is no test A.C", "INV-3 names no test",
                     "are not INV-1, INV-2", "run.cpp: INV-2 is not an invariant", "4 errors")

    def test_reports_a_dangling_code(self):
        self.write("core/src/run/run.cpp", "// BF-008\nErrorCode::kBad\n")
        self.reports("citations", "run.cpp: BF-008 is not a code")

    def test_reports_codes_and_sections_that_do_not_meet(self):
        self.write("docs/errors.md", "### BF-007 kGood\n<!-- output: docs/x.expected [kBad] -->\n")
        self.reports("citations", "there is no code BF-007 kGood", "BF-007 kBad has no section")

    def test_reports_a_section_without_a_message(self):
        self.write("docs/errors.md", "### BF-007 kBad\nText.\n")
        self.reports("citations", "BF-007 kBad shows no message")

    def test_reports_wrong_reservations(self):
        self.write("docs/errors.md", "### BF-007 kBad\nReserved.\n")
        self.reports("citations", "is used, but its section says Reserved")
        self.write("docs/errors.md", "### BF-007 kBad\n<!-- output: docs/x.expected [kBad] -->\n")
        self.write("core/src/run/run.cpp", "")
        self.reports("citations", "is used by nobody")

    def test_reports_a_signature_that_is_not_described(self):
        self.write("docs/backends.md", "| `int index()` |\n")
        self.reports("citations", "`int index( int x)` is not in docs/backends.md")

    def test_reports_paths_that_do_not_exist(self):
        self.write("docs/page.md", "`core/src/run/*.cpp`, `belfry/run.h`, `build/x`, `a/b`\n"
                   "`core/src/lost.cpp` and `belfry/lost.h`\n")
        self.reports("citations", "page.md:2: core/src/lost.cpp", "belfry/lost.h does not exist",
                     "2 errors")


class Mapping(CheckTest):
    OLD = "to" + "wer"

    def setUp(self):
        super().setUp()
        self.header = f"core/extras/{self.OLD}/include/belfry/{self.OLD}.h"
        self.write(self.header, HEADER + "using Old = int;\ninline int id(int x) { return x; }\n")
        self.test = f"core/extras/{self.OLD}/src/{self.OLD}_test.cpp"
        self.write(self.test, f"{self.OLD}::Old x = {self.OLD}::id(1);\nf(serially);\n")
        self.write("core/src/compile_fail/a.cpp", "#ifdef NO_SUCH_CALL\n#endif\n")
        self.rows = [f"| `Old` | `{self.OLD}::Old` | test |",
                     f"| `id` | `{self.OLD}::id(x)` | test |",
                     "| `k` | `Options::serially` | test |", "| `x` | no | NO_SUCH_CALL |",
                     "| `y` | nothing | none |"]

    def page(self, rows):
        head = ["| name | belfry | shown by |", "|---|---|---|"]
        self.write("docs/tf_mapping.md", "\n".join(head + rows) + "\n")

    def test_accepts_what_agrees(self):
        self.page(self.rows)
        self.accepts("mapping")

    def test_reports_a_spelling_that_is_not_used(self):
        self.page([*self.rows, f"| `z` | `{self.OLD}::other` | test |"])
        self.reports("mapping", "tf_mapping.md:8", "does not use")

    def test_reports_a_missing_section_and_a_row_without_a_spelling(self):
        self.page([*self.rows, "| `z` | no | NO_OTHER_CALL |", "| `z` | words | test |"])
        self.reports("mapping", "tf_mapping.md:8", "section NO_OTHER_CALL")
        self.reports("mapping", "tf_mapping.md:9", "names nothing")

    def test_reports_names_without_a_row(self):
        self.page(self.rows[:1] + self.rows[2:])
        self.reports("mapping", "tf_mapping.md", f"{self.OLD}::id has no row")


class Processes(CheckTest):
    HEAD = "## Verbs\n\n| verb | processes | outcome | test |\n|---|---|---|---|\n"

    def setUp(self):
        super().setUp()
        self.write("core/include/belfry/checkpoint.h",
                   HEADER + "class Checkpoint {\n public:\n  void save(int path);\n"
                   "  int size() const;\n\n private:\n  void insert();\n};\n")
        self.write("proptests/processes/a_test.cpp", "TEST(Verbs, Save) {}\n")

    def page(self, *rows):
        self.write("docs/processes.md", self.HEAD + "".join(f"{row}\n" for row in rows))

    def test_accepts_a_row_for_each_function(self):
        self.page("| `save`, `size()` | all | one file | `Verbs.Save` |")
        self.accepts("processes")

    def test_reports_a_function_without_a_row(self):
        self.page("| `save` | all | one file | `Verbs.Save` |")
        self.reports("processes", "processes.md", "size of checkpoint.h has no row")

    def test_reports_rows_without_a_test_or_a_part(self):
        self.page("| `save` | own | | `Verbs.Lost` |", "| `size` | some | | `Verbs.Save` |",
                  "| `size` | all |")
        self.reports("processes", "processes.md", "no test Verbs.Lost")
        self.reports("processes", "processes.md", "'some' is none of")
        self.reports("processes", "processes.md", "a row without verbs")


class Overridden(CheckTest):
    def setUp(self):
        super().setUp()
        self.write("docs/conformance.md", "| A-01 | tested | x |\n| A-02 | overridden | y |\n"
                   "| A-03 | overridden | z |\n| B-01 | overridden | z |\n")

    def decide(self, cell):
        self.write("docs/decisions/0001-a.md", f"| rows | why |\n|---|---|\n| {cell} | so |\n")

    def test_accepts_rows_that_are_decided(self):
        self.decide("A-02 to A-03, B-01")
        self.accepts("overridden")

    def test_reports_rows_that_nobody_decided(self):
        self.decide("A-02, B-01")
        self.reports("overridden", "names A-03")

    def test_reports_decisions_about_no_row(self):
        self.decide("A-02 to A-04, B-01")
        self.reports("overridden", "0001-a.md: A-04 is no row")


class Prints(CheckTest):
    PATH = "core/include/belfry/choice.h"
    LIST = "tools/checks/not_printed.txt"
    TEXT = ("namespace belfry {\n\nenum class Choice { kA };\n\n"
            "struct Options {\n  int a = 1;\n};\n"
            "class Engine {\n public:\n  virtual void start();\n};\n\nnamespace detail {\n"
            "struct Part {\n};\n}  // namespace detail\n\nstd::string to_string(Choice choice);\n"
            "std::string to_string(const Options& options);\n}  // namespace belfry\n")
    PRINTED = "inline constexpr bool kPrints<{}> = true;\n"

    def header(self, *printed):
        self.write(self.PATH, HEADER + self.TEXT + "".join(map(self.PRINTED.format, printed)))

    def test_accepts_types_that_print(self):
        self.header("Choice", "Options")
        self.accepts("prints")

    def test_reports_types_that_do_not_print(self):
        self.header("Choice")
        self.reports("prints", "choice.h:10: Options has no operator<<", "1 errors")

    def test_accepts_types_with_a_reason(self):
        self.header("Choice")
        self.write(self.LIST, "# Parts.\nOptions: so\n")
        self.accepts("prints")

    def test_reports_reasons_of_no_type(self):
        self.header("Choice", "Options")
        self.write(self.LIST, "Lost: so\nOptions\n")
        self.reports("prints", "no public header has the value type Lost", "`type: reason`")

    def test_reports_kprints_without_a_text(self):
        self.header("Choice", "Options", "Engine")
        self.reports("prints", "kPrints of Engine, which has no to_string")

    def test_reports_a_namespace_without_the_operator(self):
        self.header("Choice", "Options", "sim::Options")
        self.reports("prints", "kPrints in a namespace without")


class Conformance(unittest.TestCase):
    """Where a comment says that a decision changed an outcome."""
    FAMILIES = {"RUN": ("", ["01", "02"])}
    TEST = "TEST(Conformance, RUN_01_RUN_02_Some) {\n%s  run();\n}\n"

    def found(self, text):
        return conformance.overridden_in(text, self.FAMILIES)

    def test_reads_comments_above_and_inside(self):
        both = {("RUN_01_RUN_02_Some", "RUN-01"): "so.", ("RUN_01_RUN_02_Some", "RUN-02"): "so."}
        self.assertEqual(self.found("// Overridden: so.\n" + self.TEST % ""), (both, []))
        self.assertEqual(self.found(self.TEST % "  // Overridden:\n  // so.\n"), (both, []))
        section = "#ifdef RUN_01_SUCH\n  // EXPECT: no\n  // Overridden: so.\n#endif\n"
        self.assertEqual(self.found(section), ({("RUN_01_SUCH", "RUN-01"): "so."}, []))

    def test_reads_the_rows_and_repeats(self):
        text = ("// Overridden (RUN-02): so.\n" + self.TEST % ""
                + "// Overridden: as above.\nTEST(Conformance, RUN_01_Other) {}\n")
        self.assertEqual(self.found(text), ({("RUN_01_RUN_02_Some", "RUN-02"): "so.",
                                             ("RUN_01_Other", "RUN-01"): "so."}, []))

    def test_reports_what_belongs_to_no_row(self):
        for text in (self.TEST % "" + "// Overridden: so.\nint helper();\n",
                     "// Overridden (RUN-03): so.\n" + self.TEST % "",
                     "// Overridden: so.\nTEST(Run, Plain) {}\n",
                     "// Overridden, so.\n" + self.TEST % ""):
            why, problems = self.found(text)
            self.assertEqual((why, len(problems)), ({}, 1), text)


class ConformanceSections(CheckTest):
    """Sections that must not compile are tests of rows if ctest compiles them."""

    def test_tells_which_sections_are_listed(self):
        self.write("core/src/compile_fail/a.cpp", "#ifdef RUN_01_SUCH\n#endif\n"
                                                  "#ifdef RUN_02_OTHER\n#endif\n")
        self.write("core/src/compile_fail/CMakeLists.txt",
                   "belfry_compile_fail(a\n  SOURCE a.cpp\n  SECTIONS RUN_01_SUCH)\n")
        self.assertEqual(conformance.sections(tree.Tree(self.root)),
                         {"RUN_01_SUCH": True, "RUN_02_OTHER": False})


class Rules(CheckTest):
    """A rule without a test, and declarations that count for nothing."""
    PAGE = "### SEM-1 First\n\n### SEM-22 Second\n"
    TEST = 'TEST(Run, Merges) {\n  testing::asserts("SEM-1", "SEM-22");\n}\n'

    def setUp(self):
        super().setUp()
        self.write("docs/semantics.md", self.PAGE)

    def test_accepts_rules_that_tests_declare(self):
        self.write("core/src/run/a_test.cpp", self.TEST)
        self.accepts("rules")
        self.write("core/src/run/a_test.cpp", self.TEST.replace(', "SEM-22"', ""))
        self.write("core/src/run/b_test.cpp", 'RC_GTEST_PROP(Runs, Merge,\n  (int i)) {\n'
                   '  testing::asserts(\n      "SEM-22");\n}\n')
        self.accepts("rules")

    def test_reports_rules_that_no_test_declares(self):
        self.write("core/src/run/a_test.cpp", self.TEST.replace(', "SEM-22"', ""))
        self.reports("rules", "no test declares SEM-22")

    def test_reports_comments_and_calls_outside_tests(self):
        self.write("core/src/run/a_test.cpp", self.TEST.replace("testing", "// testing"))
        self.reports("rules", "no test declares SEM-1", "no test declares SEM-22")
        self.write("core/src/run/a_test.cpp", 'void f() {\n  testing::asserts("SEM-1");\n}\n')
        self.reports("rules", "a_test.cpp:2: asserts() outside", "no test declares SEM-1")

    def test_reports_rules_that_do_not_exist(self):
        self.write("core/src/run/a_test.cpp", self.TEST.replace("22", "23"))
        self.reports("rules", "Run.Merges declares SEM-23", "no test declares SEM-22")


if __name__ == "__main__":
    unittest.main()
