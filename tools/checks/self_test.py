#!/usr/bin/env python3
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in a small tree, and compares the errors of each check with those expected."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import asserted_rules
import check
import check_docs
import check_prose
import check_suites
import conformance
import page
import planted_faults
import suite_runs
import tree

LICENCE = ("// SPDX-FileCopyrightText: The belfry authors\n"
           "// SPDX-License-Identifier: Apache-2.0\n\n")
SCRIPT = LICENCE.replace("//", "#")
HEADER = LICENCE + "#pragma once\n\n"
OLD = "to" + "wer"
OLD_HEADER = f"core/extras/{OLD}/include/belfry/{OLD}.h"
OLD_TEST = f"core/extras/{OLD}/src/{OLD}_test.cpp"
MAPPED = ("| name | belfry | shown by |\n|---|---|---|\n"
          f"| `Old` | `{OLD}::Old` | test |\n| `id` | `{OLD}::id(x)` | test |\n"
          "| `k` | `Options::serially` | test |\n| `x` | no | NO_SUCH_CALL |\n"
          "| `y` | nothing | none |\n")
VERBS = ("| part | meaning |\n|---|---|\n| all | x |\n\n"
         "| verb | processes | outcome | test |\n|---|---|---|---|\n"
         "| `save`, `size()` | all | one file | `Verbs.Save` |\n")
SNIPPET = "<!-- snippet: docs/examples/first.cpp [sum] -->\n```cpp\n"
OUTPUT = "<!-- output: docs/examples/first.expected [kBad] -->\n```text\nbad\n```\n"
CHOICE = ("namespace belfry {\n\nenum class Choice { kA };\n\nstruct Options {\n  int a = 1;\n};\n"
          "class Engine {\n public:\n  virtual void start();\n};\n\nnamespace detail {\n"
          "struct Part {\n};\n}  // namespace detail\n\nstd::string to_string(Choice choice);\n"
          "std::string to_string(const Options& options);\n}  // namespace belfry\n")
PATCH = ("The sum is wrong.\nTest: run_test A.B\n--- a/core/src/run/run.cpp\n"
         "-  return sum;\n+  return 0;\n")
MOVED = ("| old | new | since |\n|---|---|---|\n"
         "| `belfry/ran.h` of `belfry::core` | `belfry/run.h` | 2026-01-02 |\n"
         "| `Checkpoint::pick(int)`, `BELFRY_X=ON` | `Choice`, `belfry/error.h` | 2026-01-01 |\n")
SUITE = "proptests/suites/a_props.cpp"
SUITES_PAGE = (f"{check_suites.HEAD}\n|---|---|---|---|---|---|\n"
               "| commit | | 1a2b | not run | not run | not run |\n"
               "| date | | 2026-01-02 | not run | not run | not run |\n"
               "| cases | | 30 | not run | not run | not run |\n"
               "| `suites/a_props` | 2 | 2 of 3 | not run | not run | not run |\n")
RUN = LICENCE + "// SEM-1, INV-1, BF-007\nint a = int(ErrorCode::kBad);\n  return sum;\n"

# Every check accepts this tree.
SOUND = {
    "CMakeLists.txt": SCRIPT + "option(BELFRY_BUILD_TESTS)\n",
    "core/src/words/CMakeLists.txt": SCRIPT +
        "belfry_sources(core HEADERS error.h detail/compiler.h checkpoint.h choice.h\n"
        "  backend/device.h)\n",
    "core/src/run/CMakeLists.txt": SCRIPT +
        "belfry_sources(core HEADERS run.h)\nbelfry_test(run_test)\n",
    "core/include/belfry/detail/compiler.h": HEADER,
    "core/include/belfry/error.h": HEADER + '#include "belfry/detail/compiler.h"\n'
        "enum class ErrorCode : int {\n  kBad = 7,  ///< B.\n};\n",
    "core/include/belfry/run.h": HEADER + '#include "belfry/error.h"\n',
    "core/include/belfry/choice.h": HEADER + '#include "belfry/error.h"\n' + CHOICE,
    "core/include/belfry/checkpoint.h": HEADER + '#include "belfry/error.h"\n'
        "class Checkpoint {\n public:\n  Checkpoint();\n  void save(int path);\n"
        "  int size() const;\n\n private:\n  void insert();\n};\n",
    "core/include/belfry/backend/device.h": HEADER + '#include "belfry/error.h"\n'
        "class D {\n  virtual ~D();\n  virtual int index(\n      int x) = 0;\n};\n",
    "core/src/run/run.cpp": RUN,
    "core/src/run/a_test.cpp": LICENCE + "TEST_F(A, B) {}\n",
    "core/src/compile_fail/a.cpp": LICENCE + "#ifdef NO_SUCH_CALL\n#endif\n",
    OLD_HEADER: HEADER + '#include "belfry/error.h"\n'
        f"namespace belfry::{OLD} {{\nusing Old = int;\n"
        f"inline int id(int x) {{ return x; }}\n}}  // namespace belfry::{OLD}\n",
    OLD_TEST: LICENCE + f"{OLD}::Old x = {OLD}::id(1);\nf(serially);\n",
    f"core/extras/{OLD}/CMakeLists.txt": SCRIPT + f"f(HEADERS {OLD}.h)\n",
    "proptests/processes/a_test.cpp": LICENCE + "TEST(Verbs, Save) {}\n",
    f"{planted_faults.FOLDER}wrong_sum.patch": PATCH,
    "tools/go": "#!/bin/sh\n" + SCRIPT + "  demo) f ;;\n  help | -h) g ;;\n",
    "docs/semantics.md": "### SEM-1 A rule\n\n| n | what | tests |\n|---|---|---|\n"
        "| INV-1 | x | `A.B` |\n",
    "docs/errors.md": "### BF-007 kBad\n\nText.\n\n" + OUTPUT,
    "docs/debugging.md": "| code | look |\n|---|---|\n| [BF-007](errors.md#bf-007-kbad) | x |\n",
    "docs/backends.md": "| `int index( int x)` |\n\n`core/src/run/{run,no}.cpp`, `belfry/run.h`\n",
    "docs/tf_mapping.md": MAPPED,
    "docs/processes.md": VERBS,
    "docs/changes.md": MOVED,
    SUITE: LICENCE + "TEST(A, One) {}\nTYPED_TEST(A, Each) {}\n",
    "docs/suites.md": SUITES_PAGE,
    "docs/conformance.md": "| row | outcome | why |\n|---|---|---|\n| A-01 | tested | x |\n"
        "| A-02 | overridden | y |\n| A-03 | overridden | z |\n| B-01 | overridden | z |\n",
    "docs/decisions/0001-a.md": "| rows | why |\n|---|---|\n| A-02 to A-03, B-01 | so |\n",
    "docs/examples/CMakeLists.txt": SCRIPT + "add_executable(first first.cpp)\n",
    "docs/examples/first.cpp": LICENCE + "  // [sum]\n  int a = 1;\n  // [sum]\n",
    "docs/examples/first.expected": "== kGood\n1\n== kBad\nbad\n",
    "docs/page.md": "# A page\n\nSee [a](#a-page), [b](examples/CMakeLists.txt), `build/x`.\n\n"
        + SNIPPET + "int a = 1;\n```\n```text\nno origin, no check\n```\n"
        "`tools/go demo --seed 3`, -DBELFRY_BUILD_TESTS=ON\n",
    "tools/checks/prose_limits.txt": "core/include 0.0 0.0\ncore/src/compile_fail 0.0 0.0\n"
        "core/src/run 0.0 0.0\ndocs 0.0 0.0\nproptests 0.0 0.0\n"
        f"core/extras/{OLD} 0.0 0.0\n",
}

LAYERS = [
    ({"core/src/words/error.cpp": '#include "belfry/run.h"\n#include "run/rounds.h"\n'},
     ["error.cpp:1: layer 0 includes belfry/run.h of layer 4",
      "error.cpp:2: layer 0 includes run/rounds.h of layer 4"]),
    ({"core/src/words/error_test.cpp": '#include "belfry/run.h"\n'}, []),
    ({"core/src/run/rounds/a.cpp": '#include "run/contexts/a.h"\n#include "run/verbs/a.h"\n',
      "core/src/run/verbs/a.cpp": '#include "run/processes/a.h"\n'},
     ["a.cpp:2: a lower folder of core/src/run includes run/verbs/a.h"]),
    ({"core/include/belfry/lost.h": HEADER + '#include "belfry/error.h"\n'},
     ["lost.h: no CMakeLists.txt under core/src"]),
    ({"backends/sim/CMakeLists.txt": "f(HEADERS sim/found.h) # sim/lost.h\n",
      "backends/sim/driver/CMakeLists.txt": "g(FILES include/belfry/sim/driver.h)\n",
      "backends/sim/driver/include/belfry/sim/driver.h": '#include "belfry/error.h"\n',
      "backends/sim/include/belfry/sim/found.h": '#include "belfry/error.h"\n',
      "backends/sim/include/belfry/sim/lost.h": '#include "belfry/error.h"\n'},
     ["lost.h: no CMakeLists.txt under backends"]),
    ({"core/include/belfry/run.h": HEADER}, ["run.h: a header without includes of belfry"]),
    ({"backends/sim/src/a.cpp": '#include "belfry/run.h"\n#include "belfry/cuda/backend.h"\n'},
     ["a.cpp:1: a backend includes belfry/run.h of layer 4",
      "a.cpp:2: backend sim includes backend cuda"]),
    ({"proptests/suites/a_props.cpp": '#include "belfry/sim/backend.h"\n',
      "core/src/run/b_test.cpp": '#include "belfry/sim/backend.h"\n'},
     ["b_test.cpp:1: core includes a backend", "a_props.cpp:1: a suite includes a backend"]),
    ({"core/src/run/run.cpp": f'#include "belfry/{OLD}.h"\n#include "belfry/belfry.h"\n'
      '#include "belfry/testing/asserts.h"\n',
      f"core/extras/{OLD}/a.cpp": '#include "belfry/sim/backend.h"\n#include "belfry/run.h"\n'},
     [f"core includes belfry/{OLD}.h, a library for users", "belfry.h is for users",
      "which is for tests", f"{OLD} includes a backend"]),
    ({"core/include/belfry/run.h": HEADER + '#include "belfry/error.h"\n#include <fmt/format.h>\n',
      "core/src/run/run.cpp": "#include <Eigen/Core>\n"},
     ["<fmt/format.h> does not belong", "<Eigen/Core> does not belong"]),
]

BODY = "  use(1);\n"
SIX = "std::map<int, int> a, int b = g(1, 2), int c[2], void (*d)(int, int), int e, int f"
SIZES = [
    ({"core/src/run/run.cpp": "void f() {\n" + BODY * 58 + "}\n" + f"void take({SIX}) {{\n}}\n"
      f"C::C({SIX}) : x_{{1}} {{}}\nint ncclReduce({SIX}, int g) {{\n}}\n"
      f"template <class T> requires (f<T>(1, 2)) void g({SIX}) {{}}\n"
      f"auto h = [](int a) {{\n  if (f({SIX}, a)) {{\n  }}\n}};\n"}, []),
    ({"core/src/run/run.cpp": "namespace a {\nclass B {\n public:\n  int f(int x) const {\n"
      + BODY * 59 + "}\n};\n}\n"}, ["run.cpp:4: f (lines) has 61"]),
    ({"core/src/run/run.cpp":
      "C::C() : a_{1}, b_(f, {}) {\n  auto h = [] {\n" + BODY * 60 + "  };\n}\n"},
     ["run.cpp:1: C::C (lines) has 64"]),
    ({"core/src/run/run.cpp": 'const char* kText = "}";\nint a[] = {1};\nvoid f() {\n'
      + "  use('{', \"}\"); // }\n" * 60 + "}\n"}, ["run.cpp:3: f (lines) has 62"]),
    ({"core/src/run/run.cpp": f"void take({SIX}, int g) {{\n}}\nC::C({SIX}, int g) : x_(1) {{}}\n"},
     ["run.cpp:1: take (parameters) has 7; at most 6", "run.cpp:3: C::C (parameters) has 7"]),
    ({"core/src/run/run.cpp": "\n" * 401, "core/src/run/run_test.cpp": "\n" * 600,
      "tools/a.py": "\n" * 601}, ["run.cpp: the file (lines) has 401", "a.py: the file"]),
    ({"core/include/belfry/run.h": "class Wide {\n" + "  virtual int f() = 0;\n" * 9 + "};\n"
      "class Fits {\n" + "  virtual int f() = 0;\n" * 8 + "};\n"},
     ["run.h:1: Wide (pure virtuals) has 9"]),
]

FILES = [
    ({"core/include/belfry/run.h": "int x; "},
     ["two licence lines", "no #pragma once", "no line end", "blank at the end"]),
    ({"tools/thing": "#!/bin/sh\n" + "x" * 101 + "\n"},
     ["tools/thing: does not begin", "thing:2: 101 columns"]),
    ({"README.md": "A project.\n", ".gitignore": "/build/\n", "left_by_a_test": "1\n",
      "scratch/notes.md": "A note.\n"},
     ["left_by_a_test: has no place at", "scratch/notes.md: has no place at"]),
]

WORDS = [
    ({"README.md": f"A {OLD} is a replica. See https://cmake.org/.\n#define X\n"
      "waits in merge_call #2\n"}, []),
    *(({"core/src/run/run.cpp": f"\n{text}\n"}, [f"run.cpp:2: {wanted}"]) for text, wanted in (
        ("/wo" + "rk/main", "a local path"), ("is" + "sue 12", "a tracker"),
        ("// TO" + "DO", "a leftover"), ("see #" + "44.", "a tracker"),
        ("host.inter" + "nal", "a private host"), (f"a {OLD}", "the older word"),
        ("http" + "://nowhere.test/", "the host nowhere.test"))),
]

DETERMINISM = [
    ({"core/src/run/run.cpp": "static constexpr int kA = 1;\nstatic int f(int x);\n"
      "// a thread_local in a comment\n", "proptests/src/a.cpp": "getenv();\n"}, []),
    ({"proptests/src/a.cpp": "std::chrono::seconds s;\n"}, ["proptests/src/a.cpp:1: a clock"]),
    *(({"core/src/run/run.cpp": f"{text}\n"}, ["run.cpp:1: "]) for text in (
        "std::unordered_map<int, int> a;", "std::chrono::seconds s;", "rand();",
        'std::getenv("A");', "thread_local int a;", "static std::map<int, int> cache;",
        "  static int calls = 0;", "__DATE__")),
]

DOCS = [
    ({"docs/page.md": SNIPPET + "int a = 2;\n```\n```cpp\n```\n" + SNIPPET.replace("sum", "other")
      + "```\n" + SNIPPET.replace("first", "lost") + "```\n<!-- not compiled: a sketch -->\n"
      "```cpp\n```\n"},
     ["page.md:4: the block differs from snippet: docs/examples/first.cpp [sum]",
      "page.md:6: the block above has no `<!-- snippet", "page.md:9: docs/examples/first.cpp has",
      "page.md:12: docs/examples/lost.cpp does not exist"]),
    ({"docs/examples/CMakeLists.txt": ""}, ["page.md:8: docs/examples/first.cpp is in no"]),
    ({"tools/consumers/CMakeLists.txt": "consumer(find_package)\n",
      "tools/consumers/find_package/CMakeLists.txt": "a()\n# [train]\nb()\n# [train]\n",
      "tools/consumers/lost/CMakeLists.txt": "a()\n# [train]\nb()\n# [train]\n",
      "docs/page.md": "".join(f"<!-- snippet: tools/consumers/{name}/CMakeLists.txt [train] -->\n"
                              f"```cmake\n{text}\n```\n" for name, text in (
                                  ("find_package", "b()"), ("find_package", "c()"),
                                  ("lost", "b()")))},
     ["page.md:8: the block differs", "lost/CMakeLists.txt is in no CMakeLists.txt"]),
    ({"docs/page.md": "```sh\ntools/go dance\ncmake -DBELFRY_BUILD_BELLS=ON\n```\n"},
     ["page.md:2: tools/go has no command 'dance'",
      "page.md:3: CMake has no option BELFRY_BUILD_BELLS"]),
    ({"docs/page.md": OUTPUT.replace("kBad", "kGood") + OUTPUT.replace("kBad", "kNone")
      + OUTPUT.replace("first", "lost")},
     ["page.md:4: the block differs", "first.expected has no part [kNone]",
      "docs/examples/lost.expected does not exist"]),
    ({"docs/page.md": "[a](lost.md#part), [b](errors.md#bf-007), [c](../tools)\n"},
     ["page.md:1: the link to lost.md#part leads", "the link to errors.md#bf-007 leads"]),
    ({"docs/errors.md": "### BF-007 kBad\n\nA.\n\n### BF-008 kLater\n\nReserved.\n",
      "docs/debugging.md": "| a | b |\n|---|---|\n| [BF-008](errors.md#bf-008-klater) | x |\n"},
     ["no row [BF-007](errors.md#bf-007-kbad)", "no code that is thrown for [BF-008]"]),
]

CITATIONS = [
    ({"core/src/run/run.cpp": "\n// SEM-1, SEM-2, BF-008, INV-2.\nErrorCode::kBad\n"},
     ["run.cpp:2: SEM-2 is in none", "run.cpp:2: BF-008 is in none", "run.cpp:2: INV-2 is in"]),
    ({"docs/semantics.md": SOUND["docs/semantics.md"] + "### SEM-3 A\n### SEM-2 B\n"},
     ["the rules are not in the order"]),
    ({"docs/semantics.md": SOUND["docs/semantics.md"] + "### SEM-1 A\n"},
     ["the rules are not in the order"]),
    ({"docs/semantics.md": SOUND["docs/semantics.md"] + "| INV-3 | x | none |\n"
      "| INV-4 | x | `A.C` |\n"},
     ["are not INV-1, INV-2", "INV-3: there is no test named", "INV-4: there is no test A.C"]),
    ({"docs/errors.md": "### BF-007 kGood\n\nReserved.\n"},
     ["the sections are not those of the codes, each once: BF-007 kBad, BF-007 kGood"]),
    ({"docs/errors.md": 2 * SOUND["docs/errors.md"]}, ["the codes, each once"]),
    ({"docs/errors.md": "### BF-007 kBad\nText.\n"}, ["BF-007 kBad shows no message"]),
    ({"docs/errors.md": "### BF-007 kBad\nReserved.\n"}, ["is used, and its section says"]),
    ({"core/src/run/run.cpp": ""}, ["BF-007 kBad is used by nobody"]),
    ({"docs/backends.md": "| `int index()` |\n"}, ["`int index( int x)` is not in"]),
    ({"docs/page.md": "`core/src/run/*.cpp`, `build/x`, `a/b`\n"
      "`core/src/lost.cpp` and `belfry/lost.h`\n"},
     ["page.md:2: core/src/lost.cpp does not", "page.md:2: belfry/lost.h does not exist"]),
]

MAPPING = [
    ({"docs/tf_mapping.md": MAPPED + f"| `z` | `{OLD}::other` | test |\n"
      "| `z` | no | NO_OTHER_CALL |\n| `z` | words | test |\n| `z` | none |\n"},
     [f"tf_mapping.md:8: no test of core/extras/{OLD} uses {OLD}::other",
      "tf_mapping.md:9: no file of core/src/compile_fail has a section NO_OTHER_CALL",
      "tf_mapping.md:10: the row names nothing", "tf_mapping.md:11: a row that is not name"]),
    ({"docs/tf_mapping.md": MAPPED.replace("::id", "::no")},
     [f"no test of core/extras/{OLD} uses", f"{OLD}::id has no row"]),
]

PROCESSES = [
    ({"docs/processes.md": VERBS.replace(", `size()`", "")}, ["size of checkpoint.h has no row"]),
    ({"docs/processes.md": VERBS.replace("all | one", "some | one").replace("s.Save", "s.Lost")},
     ["processes.md:7: 'some' is none of", "processes.md:7: there is no test `Verbs.Lost`"]),
    ({"docs/processes.md": VERBS + "| `size` | all |\n"}, ["processes.md:8: a row without verbs"]),
]

CHANGES = [
    ({"docs/changes.md": MOVED.replace("/run.h", "/new.h").replace("`Choice", "`Chosen")},
     ["changes.md:3: no public header has belfry/new.h",
      "changes.md:4: no public header has Chosen"]),
    ({"docs/changes.md": MOVED.replace("belfry/ran.h", "belfry/error.h").replace("pick", "save")},
     ["changes.md:3: belfry/error.h is still in a public header",
      "changes.md:4: save is still in a public header"]),
    ({"docs/changes.md": MOVED.replace("2026-01-01", "2026-01-03") + "| `a` | `b` |\n"},
     ["changes.md:4: a row below an older row", "changes.md:5: a row that is not old"]),
]

OVERRIDDEN = [
    ({"docs/decisions/0001-a.md": "| rows | why |\n|---|---|\n| A-02, B-01 to B-02 | so |\n"},
     ["0001-a.md: B-02 is no row", "no page of decisions names A-03"]),
]

CHOICE_H = "core/include/belfry/choice.h"
NOT_PRINTED = "tools/checks/not_printed.txt"
PRINTS = [
    ({CHOICE_H: HEADER + CHOICE.replace("(const Options&", "(const Lost&")},
     ["choice.h:10: Options has no operator<<"]),
    ({CHOICE_H: HEADER + CHOICE.replace("(const Options&", "(const Lost&"),
      NOT_PRINTED: "# Parts.\nOptions: so\n"}, []),
    ({NOT_PRINTED: "Lost: so\nOptions\n"},
     ["not_printed.txt:2: an entry is `type: reason`", "no public header has the value type Lost"]),
    ({CHOICE_H: HEADER + CHOICE.replace("namespace belfry {", "namespace belfry::sim {")},
     ["sim::Choice needs `using", "sim::Options needs `using"]),
]

LIMITS = check_prose.LIMITS
README_LIMIT = SOUND[LIMITS] + "README.md 0.0 0.0\n"
PROSE = [
    # Five of nine words: What, it, what, they, it.
    ({"README.md": "What it does is what they do with it.\n", LIMITS: README_LIMIT},
     ["README.md: 55.6 % pronouns, at most 0.0 %; most are in README.md",
      "README.md: 100.0 % headless"]),
    ({"README.md": "# What a heading it is\n\nWhat is short.\n\n- What an item it is here.\n\n"
      "```\nWhat a line of code it is\n```\n", LIMITS: README_LIMIT,
      "core/src/run/a.h": "// SPDX-Licence: what it is by those who.\n"}, []),
    ({"core/src/run/a.h": "int a;\n// What the buffer holds belongs to\n// the caller of run.\n"},
     ["core/src/run: 10.0 % pronouns", "core/src/run: 100.0 % headless"]),
    ({"core/src/kernels/a.h": "// A sentence of the proper length.\n"},
     ["core/src/kernels is in the limits or in the tree"]),
]

PLANTED = f"{planted_faults.FOLDER}wrong_sum.patch"
MUTANTS = [
    ({PLANTED: PATCH.replace("A.B", "Kinds/A.B/whole")}, []),
    *(({PLANTED: PATCH.replace(old, new)}, [f"wrong_sum.patch: {wanted}"]) for old, new, wanted in (
        ("return sum", "return add", "found 0 times in core/src/run/run.cpp"),
        ("run.cpp", "gone.cpp", "found 0 times in core/src/run/gone.cpp"),
        ("A.B", "A.C", "there is no test A.C"),
        ("run_test", "add_test", "no belfry_test is named add_test"),
        ("The sum is wrong.\n", "", "no sentence"),
        ("Test: run_test A.B\n", "", "no line `Test: PROGRAM SUITE.NAME`"),
        ("Test: run_test A.B\n", "Test: A.B\n", "no line `Test: PROGRAM SUITE.NAME`"),
        ("A.B", "B", "B is not the name of a test"),
        ("+  ret", "--- a/core/other.cpp\n+  ret", "a planted fault changes one file"),
        ("A.B\n", "A.B\nEnds: in tears\n", "a test ends by a failure"),
        ("return 0", "return sum", "a hunk changes nothing"),
        (PATCH[PATCH.index("-  "):], "", "a hunk changes nothing"))),
    ({"core/src/run/run.cpp": 2 * RUN}, ["wrong_sum.patch: found 2 times"]),
]

SUITE_ROWS = [
    ({SUITE: LICENCE + "TEST(A, One) {}\n"}, ["`suites/a_props` has 1 tests"]),
    ({"proptests/strategies/b_test.cpp": "TEST(B, One) {}\n"}, ["no row `strategies/b_test`"]),
    ({SUITE: LICENCE}, ["no suite is called `suites/a_props`"]),
    ({"docs/suites.md": SUITES_PAGE.replace("| cases | | 30 | not run | not run | not run |\n",
                                            "")}, ["no row cases"]),
    *(({"docs/suites.md": SUITES_PAGE.replace(*plant)}, [wanted]) for plant, wanted in (
        (("| 2 of 3 | not run", "| 2 of 3 | 2"), "'2' is no result of driver at a commit"),
        (("2 of 3", "passed"), "'passed' is no result of simulator"))),
]

PLANTS = {"changes": CHANGES, "layers": LAYERS, "sizes": SIZES, "files": FILES, "words": WORDS,
          "docs": DOCS,
          "determinism": DETERMINISM, "citations": CITATIONS, "mapping": MAPPING,
          "processes": PROCESSES, "overridden": OVERRIDDEN, "prints": PRINTS, "prose": PROSE,
          "mutants": MUTANTS, "suites": SUITE_ROWS}


class Planted(tree.Tree):
    """A tree without a folder."""

    def __init__(self, texts):
        self.root, self.files, self.texts = pathlib.Path("/nowhere"), sorted(texts), dict(texts)


class Checks(unittest.TestCase):
    def test_each_check_but_format_has_plants(self):
        self.assertEqual(set(PLANTS) | {"format"}, set(check.CHECKS))

    def test_a_sound_tree_has_no_errors(self):
        for name in PLANTS:
            self.assertEqual(check.run(name, Planted(SOUND)).errors, [], name)

    def test_each_plant_has_its_errors(self):
        for name, plants in PLANTS.items():
            for texts, wanted in plants:
                with self.subTest(check=name, planted=texts):
                    errors = check.run(name, Planted(SOUND | texts)).errors
                    self.assertEqual(len(errors), len(wanted), errors)
                    for part in wanted:
                        self.assertTrue(any(part in error for error in errors), (part, errors))


class Command(unittest.TestCase):
    """Checks that need files and programs."""

    def run_check(self, *names, **environment):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "run.cpp").write_text("int   x ;\n")
            (root / ".clang-format").write_text("BasedOnStyle: Google\n")
            run = subprocess.run([sys.executable, check.__file__, "--root", root, *names],
                                 capture_output=True, text=True, env=os.environ | environment)
        return run.returncode, run.stdout + run.stderr

    def test_format_reports_or_says_that_it_did_not_look(self):
        status, output = self.run_check("format")
        self.assertIn(status, (1, 77), output)
        self.assertIn("run.cpp:1: not formatted" if status == 1 else "skipped: ", output)
        status, output = self.run_check("words", "format", PATH="/nonexistent")
        self.assertEqual(status, 77, output)
        # The summary of `tools/go test` shows the last line.
        self.assertEqual(output.splitlines()[-1], "format, 2 files: skipped: clang-format 19 is "
                         "not installed; formatting was not checked")

    def test_errors_count_more_than_a_skipped_check(self):
        status, output = self.run_check("format", "files", PATH="/nonexistent")
        self.assertEqual(status, 1, output)
        self.assertIn("run.cpp: has no place at the top level", output)

    def test_names_are_those_of_checks(self):
        self.assertEqual(self.run_check("dance")[0], 2)


class Writers(unittest.TestCase):
    def test_pages_and_limits_follow_the_tree(self):
        texts = SOUND | {"docs/page.md": "It is what one reads.\n" + SNIPPET + "int b;\n```\n.\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in texts.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            check_docs.write(tree.Tree(folder))
            check_prose.write(tree.Tree(folder))
            files = tree.Tree(folder)
            for name in ("docs", "prose"):
                self.assertEqual(check.run(name, files).errors, [])
            self.assertEqual(files.text("docs/page.md"),
                             texts["docs/page.md"].replace("b;", "a = 1;"))


class SuiteRuns(unittest.TestCase):
    def report(self, folder, name, cases, **results):
        tests = [{"name": test, "file": f"/there/{SUITE}", "status": "RUN", **result}
                 for test, result in results.items()]
        path = pathlib.Path(folder, name)
        path.write_text(json.dumps({"timestamp": "2026-03-04T05:06:07Z", "cases": cases,
                                    "testsuites": [{"name": "A", "testsuite": tests}]}))
        return path

    def test_a_column_has_the_tests_that_passed_in_every_report(self):
        passed, failed = {"result": "COMPLETED"}, {"result": "COMPLETED", "failures": [{}]}
        column = suite_runs.Column()
        with tempfile.TemporaryDirectory() as folder:
            column.add(self.report(folder, "a.json", "30", One=passed, Two=passed, Three=passed))
            column.add(self.report(folder, "b.json", "5", One=passed, Two=failed,
                                   Four={"result": "SKIPPED"}, Five={"status": "NOTRUN"}))
        self.assertEqual(column.cell("`suites/a_props`"), "2 of 4")
        self.assertEqual(column.cell("`suites/b_props`"), "not run")
        self.assertEqual(column.facts("1a2b"),
                         {"commit": "1a2b", "date": "2026-03-04", "cases": "5 to 30"})

    def test_other_columns_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in (SUITE, "docs/suites.md"):
                pathlib.Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path(folder, name).write_text(SOUND[name])
            report = self.report(folder, "a.json", "7", One={"result": "COMPLETED"})
            subprocess.run([sys.executable, suite_runs.__file__, "--root", folder, "--commit",
                            "3c4d", "one GPU", report], check=True)
            files = tree.Tree(folder)
            self.assertEqual(check.run("suites", files).errors, [])
            self.assertEqual(check_suites.read(files)["`suites/a_props`"][1],
                             ["2", "2 of 3", "not run", "1", "not run"])
            self.assertEqual(check_suites.read(files)["commit"][1][1:],
                             ["1a2b", "not run", "3c4d", "not run"])


class Pages(unittest.TestCase):
    def test_headings_blocks_and_rows(self):
        read = page.Page("# The `fn`, again\n## The fn again\n## [The fn](a.md) again\nBefore:\n\n"
                         "```cpp\n# no\n| a | b |\n  int x;\n```\n| a | b |\n|---|---|\n"
                         "| c \\| d | e |\n\n| f | g |\n")
        self.assertEqual(list(read.headings()), [
            (1, 1, "The `fn`, again", "the-fn-again"), (2, 2, "The fn again", "the-fn-again-1"),
            (3, 2, "[The fn](a.md) again", "the-fn-again-2")])
        self.assertEqual(read.blocks,
                         [page.Block("cpp", "Before:", "# no\n| a | b |\n  int x;", 6, 10)])
        self.assertEqual(list(read.rows()), [(13, ["c \\| d", "e"])])
        self.assertEqual(list(read.rows("| b |")), [(13, ["c \\| d", "e"])])
        self.assertEqual(list(read.rows("| x |")), [])


class Conformance(unittest.TestCase):
    """Where a comment says that a decision changed an outcome."""
    TEST = "TEST(Conformance, RUN_01_RUN_02_Some) {\n%s  run();\n}\n"
    BOTH = {("RUN_01_RUN_02_Some", "RUN-01"): "so.", ("RUN_01_RUN_02_Some", "RUN-02"): "so."}

    def found(self, text):
        return conformance.overridden_in(text, {"RUN": ("", ["01", "02"])})

    def test_reads_comments_above_and_inside(self):
        self.assertEqual(self.found("// Overridden: so.\n" + self.TEST % ""), (self.BOTH, []))
        self.assertEqual(self.found(self.TEST % "  // Overridden:\n  // so.\n"), (self.BOTH, []))
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

    def test_tells_which_sections_ctest_compiles(self):
        files = Planted({
            "core/src/compile_fail/a.cpp": "#ifdef RUN_01_SUCH\n#endif\n#ifdef RUN_02_NO\n#endif\n",
            "core/src/compile_fail/CMakeLists.txt": "f(a\n  SECTIONS RUN_01_SUCH)\n"})
        self.assertEqual(conformance.sections(files), {"RUN_01_SUCH": True, "RUN_02_NO": False})


class AssertedRules(unittest.TestCase):
    """A declaration counts if the test passed and the report of the run has the declaration."""
    TEST = 'TEST(Run, Merges) {\n  testing::asserts("SEM-1",\n      "SEM-22");\n}\n'
    BOTH = {"SEM-1", "SEM-22"}

    def problems(self, outcome, source=TEST, without=()):
        files = Planted({"core/src/run/a_test.cpp": source, "proptests/memory/b_test.cpp":
                         'RC_GTEST_PROP(Runs, Fail, (int i)) {\n  testing::asserts("SEM-1");\n}\n'})
        declared = asserted_rules.declared_in_sources(files, without)
        outcomes = {("Run", "Merges"): outcome} if outcome else {}
        return asserted_rules.compare(["SEM-1", "SEM-22"], declared, outcomes)

    def test_every_rule_has_a_test_that_passed(self):
        tests = {"SEM-1": ["Run.Merges"], "SEM-22": ["Run.Merges"]}
        self.assertEqual(self.problems([self.BOTH, True], without=["proptests/memory/"]),
                         (tests, []))
        self.assertEqual(self.problems([self.BOTH, True])[1],
                         ["Runs.Fail declares SEM-1 in its source and in no run"])

    def test_declarations_without_effect_are_problems(self):
        for outcome, source, wanted in (
                ([self.BOTH, False], self.TEST, 4), (None, self.TEST, 4),
                ([{"SEM-1"}, True], self.TEST, 2),
                ([{"SEM-1", "SEM-23"}, True], self.TEST.replace("22", "23"), 2),
                ([{"SEM-1"}, True], self.TEST.replace("tes", "// tes"), 1),
                ([set(), True], self.TEST.replace("TEST(Run, Merges)", "void f()"), 2)):
            problems = self.problems(outcome, source, ["proptests/memory/"])[1]
            self.assertEqual(len(problems), wanted, problems)

    def test_reads_names_of_types_and_parameters(self):
        for name in (("Run/0", "Merges"), ("Run/Tensors", "Merges"), ("All/Run", "Merges/3")):
            self.assertEqual(asserted_rules.name_in_source(*name), ("Run", "Merges"))

    def test_reads_reports(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "a.json")
            report.write_text('{"testsuites": [{"name": "Run/0", "testsuite": [{"name": "Merges", '
                              '"result": "COMPLETED", "SEM-1": "asserted"}]}, {"name": "Run/1", '
                              '"testsuite": [{"name": "Merges", "result": "SKIPPED"}]}]}')
            self.assertEqual(asserted_rules.outcomes_of([report], {}),
                             {("Run", "Merges"): [{"SEM-1"}, False]})
            with self.assertRaises(SystemExit):
                asserted_rules.outcomes_of([f"{folder}/none.json"], {})


if __name__ == "__main__":
    unittest.main()
