# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of the campaign, in the order of a run.

A step takes at most 40 minutes on two quiet cores. Longer checks are split into parts with a common
build tree. Every part builds first, and therefore also runs alone.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    """A long check and its inputs.

    name      The steps `asan.units` and `asan.cuda` also answer to `asan`.
    proves    A line for the list. A setting in braces stands for its value.
    inputs    Patterns of paths; `*` matches `/` too, `!` excludes. The last matching pattern
              decides.
    script    Text for bash, run in the root after tools/ci/common.sh. Exit status 77 means that the
              machine lacks a condition of the step.
    tools     Programs whose versions are inputs.
    settings  Variables of the environment with defaults.
    """
    name: str
    proves: str
    inputs: tuple
    script: str
    tools: tuple = ()
    settings: dict = dataclasses.field(default_factory=dict)


# Inputs of a build with tests: all files but the pages and the scripts that no such test runs.
TESTED = ("*", "!*.md", "docs/conformance.md", "docs/semantics.md", "!.*", "!LICENSE",
          "!tools/go*", "!tools/gpu/*", "!tools/ci/*", "tools/ci/common.sh",
          "!tools/apt-packages.txt", "!tools/bench/*",
          "!tools/checks/check*", "!tools/checks/*self_test.py",
          "!tools/checks/executed_tests.py", "!tools/checks/test_count.py",
          "!proptests/mutants/planted/*")
WITH_BENCHMARKS = (*TESTED, "tools/bench/*")
BUILD = ("CMakeLists.txt", "CMakePresets.json", "*/CMakeLists.txt", "*.cmake", "*.in",
         "tools/ci/common.sh")
SOURCES = ("core/*", "backends/*", "proptests/*", "tools/belfry/*", "tools/bench/*",
           "!*_test.*", "!*.expected", "!*.patch", "!*.py")
# Inputs of a fresh machine: all files but the pages. Checks of pages depend on no release.
FRESH = ("*", "!*.md", "docs/conformance.md", "docs/semantics.md", "!tools/gpu/*",
         "!tools/ci/campaign*", "!proptests/mutants/planted/*")
# Inputs of the site. CMakeLists.txt has the version.
DOCUMENTED = ("*.md", "core/include/*", "core/extras/*.h", "backends/*.h", "proptests/include/*",
              "docs/data/reference_groups.txt", "tools/docs/*", "!tools/docs/*self_test.py",
              "tools/checks/cpp.py", "tools/checks/page.py", "tools/checks/tree.py", "LICENSE",
              "CMakeLists.txt")
GCC = ("g++", "cmake", "python3")
CLANG = ("clang++-19", "cmake", "python3")


# `tools/go test` leaves them out: they take a third of its time.
FAKE_STACKS = "export ASAN_OPTIONS=detect_stack_use_after_return=1\n"


def sanitized(preset, proves, tools):
    """Returns the parts of a sanitized build. Every test runs in exactly one part.

    The exceptions are docs.conformance and docs.rules, which read results of several parts. The
    steps `gcc` and `clang` run both.
    """
    parts = (
        ("units", "the build, unit tests and programs",
         "-LE 'prop|cuda|lint|headers|install|consumers' -E '^tools[.]'"),
        ("suites", "suites on fibers",
         r"-L prop -LE 'cuda|lint|install|consumers' "
         r"-E '\.(on|with)_|^docs[.](conformance|rules)$'"),
        ("carriers", "suites on threads and on shared copies",
         r"-L prop -LE 'cuda|lint|install|consumers' -R '\.(on|with)_'"),
        ("cuda", "the CUDA host half", "-L cuda -LE 'lint|install|consumers'"))
    return [Step(f"{preset}.{part}", f"{proves}: {what}", TESTED,
                 f"{FAKE_STACKS}configure_and_build {preset}\n"
                 f"ctest --preset {preset} {chosen}", tools)
            for part, what, chosen in parts]


def fresh(release, command, part, proves):
    """Returns the step for a command in a bare Debian. Only root can make the bare system."""
    return Step(f"{release}.{part}", f"{proves} in a bare Debian: {release}", FRESH,
                f"[[ $EUID -eq 0 ]] || exit 77\ntools/ci/bare_root.sh {release} {command}",
                ("debootstrap",), {"BELFRY_COLD": ""})


LIBRARIES = """\
configure dev
libraries=(belfry_core belfry_files belfry_tower belfry_engine belfry_sim belfry_driver
           belfry_testing)
targets="$(cmake --build --preset dev --target help)"
[[ "$targets" != *$'\\nbelfry_cuda:'* ]] || libraries+=(belfry_cuda)
[[ "$targets" != *$'\\nbelfry_mpi:'* ]] || libraries+=(belfry_mpi)
cmake --build --preset dev --target "${libraries[@]}"
"""

# Debian 12's clang, with a library of GCC.
CLANG_14 = f"""\
command -v clang++-14 >/dev/null || exit 77
{LIBRARIES}
cmake --install build/dev --prefix build/dev/clang14/prefix >build/clang14.install.log
cmake -S tools/consumers/find_package -B build/dev/clang14/programs -G Ninja \\
  -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_CXX_FLAGS=-O0 \\
  "-DCMAKE_PREFIX_PATH=$PWD/build/dev/clang14/prefix" \\
  "-DPROGRAMS=$PWD/proptests/programs/0[1-9]_*.cpp"
cmake --build build/dev/clang14/programs
ctest --test-dir build/dev/clang14/programs --output-on-failure --no-tests=error
"""

# `tools/go test --rest` compiles all sections at once. The number of lines is exact for a section
# alone.
WALLS = """\
for source in walls wrong_functions; do
  for compiler in g++ clang++-19; do
    python3 tools/checks/compile_fail.py "core/src/compile_fail/$source.cpp" --alone -- \\
      "$compiler" -std=c++20 -Icore/include
  done
done
"""

HEADERS = """\
for preset in dev clang; do
  configure "$preset"
  cmake --build --preset "$preset" --target all_verify_interface_header_sets -- -k 0
done
"""

# The number of cases changes neither the page of conformance nor the tests of rules.
PROPERTIES = """\
configure_and_build dev
RC_PARAMS="max_success=$BELFRY_CAMPAIGN_CASES" \\
  ctest --preset dev -L prop -E 'docs[.](conformance|rules)' --timeout 3600
"""

# A build without sanitizers: sanitizers replace the allocator under test.
MEMORY = """\
configure dev
cmake --build --preset dev --target memory_points
build/dev/bin/memory_points --gtest_brief=1
"""

# Without the libraries that no parser needs: sanitized builds are slow.
FUZZ = """\
configure fuzz
listing="$(cmake --build --preset fuzz --target help)"
mapfile -t targets < <(sed -n 's/^\\([a-z_]*_fuzz\\): phony$/\\1/p' <<<"$listing")
cmake --build --preset fuzz --target "${targets[@]}"
found=77
for target in build/fuzz/bin/*_fuzz; do
  [[ -x "$target" ]] || continue
  found=0
  "$target" -max_total_time="$BELFRY_CAMPAIGN_FUZZ_SECONDS" -artifact_prefix=build/campaign/
done
exit "$found"
"""

CUDA = """\
command -v nvcc >/dev/null || [[ -n "${CUDACXX:-}" ]] || exit 77
configure_and_build cuda
"""

BENCH = """\
configure_and_build release
for bench in build/release/bin/*_bench; do "$bench" --benchmark_min_time=0.01; done
"""

# An installation of two components says which others were not built.
BUILD_COST = """\
python3 tools/ci/build_cost.py build/cost/two --cpu-seconds 240 -- -S . \
  -DCMAKE_BUILD_TYPE=Release '-DBELFRY_COMPONENTS=core;sim'
cmake --install build/cost/two --prefix build/cost/prefix >build/cost/install.log
for component in driver files mpi watch testing cuda tool; do
  said="$(cmake -S tools/consumers/optional_component -B "build/cost/without/$component" -G Ninja \
    "-DCMAKE_PREFIX_PATH=$PWD/build/cost/prefix" "-DCOMPONENT=$component")"
  [[ "$said" == *"$component: 'FALSE', 'belfry's component '$component' was not built: "* ]]
done
python3 tools/ci/build_cost.py build/cost/libraries --cpu-seconds 360 -- -S . \
  -DCMAKE_BUILD_TYPE=Release -DBELFRY_BUILD_TESTS=OFF '-DBELFRY_COMPONENTS=AUTO;-cuda'
python3 tools/ci/build_cost.py build/cost/fetched --cpu-seconds 360 -- \
  -S tools/consumers/fetchcontent "-DFETCHCONTENT_SOURCE_DIR_BELFRY=$PWD" \
  -DCMAKE_BUILD_TYPE=Release '-DBELFRY_COMPONENTS=AUTO;-cuda'
"""

# The memory of all compilations of `tools/go test`.
BUILD_MEMORY = """\
python3 tools/ci/build_cost.py build/cost/asan --target asan_tests -- --preset asan
python3 tools/ci/build_cost.py build/cost/test --target plain_tests -- --preset test \
  '-DBELFRY_COMPONENTS=AUTO;-cuda'
"""

# Without optimization every function is called: inlining hides no file.
CALLS = """\
cmake -S . -B build/calls -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O0 -g' \\
  -DBELFRY_COMPONENTS=sim >build/calls.configure.log
cmake --build build/calls --target two_calls
python3 tools/calls/check_calls.py build/calls/bin/two_calls
"""

# Debian 12's numpy knows neither version 1 of DLPack nor bool.
NUMPY = """\
python3 -m pip --version >/dev/null || exit 77
python3 -m pip install --quiet --upgrade --target build/numpy 'numpy>=2.1'
configure dev
cmake --build --preset dev --target core_dlpack_numpy
said="$(PYTHONPATH=build/numpy python3 core/src/values/dlpack_numpy_test.py \\
  build/dev/core/src/values/libcore_dlpack_numpy.so)"
echo "$said"
[[ "$said" == *"and version 1" ]]
"""

# The second command tries every schedule of its programs, the third audits the watch.
VERDICTS = """\
configure test
cmake --build --preset test --target verdict_soak
build/test/bin/verdict_soak run "$BELFRY_CAMPAIGN_PROGRAMS"
build/test/bin/verdict_soak every "$((BELFRY_CAMPAIGN_PROGRAMS / 10))"
build/test/bin/verdict_soak audit "$((BELFRY_CAMPAIGN_PROGRAMS / 10))"
build/test/bin/verdict_soak verbs "$((BELFRY_CAMPAIGN_PROGRAMS / 10))"
"""

# The table has the verdicts of these cases.
JUDGED = """\
configure test
cmake --build --preset test --target judged_suites
RC_PARAMS="max_success=5 max_size=50 seed=1" \\
  build/test/bin/judged_suites docs/data/judged_suites.txt
"""

PAGE = """\
command -v chromium >/dev/null || exit 77
configure dev
cmake --build --preset dev --target belfry_tool
python3 tools/belfry/page/page_test.py build/dev/bin/belfry build/campaign/pages
"""

# Programs with fibers, exceptions and tensors.
VALGRIND = """\
configure dev
cmake --build --preset dev --target contract_programs
for program in 02_all_reduce 05_errors; do
  valgrind -q --error-exitcode=1 build/dev/bin/contract_programs "$program" >/dev/null
done
"""

# The programs of the table of bugs, optimized. Other builds compile them without optimization.
TWO_VERDICTS = """\
for compiler in g++ clang++-19; do
  tree="build/verdicts/$compiler"
  configure dev -B "$tree" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS= \\
    -DBELFRY_TEST_FLAGS='-O2 -g1' '-DBELFRY_COMPONENTS=AUTO;-cuda'
  cmake --build "$tree" --target bug_table
  "$tree/bin/bug_table" verdicts >"$tree.json"
done
python3 tools/ci/same_verdicts.py build/verdicts/{g++,clang++-19}.json
"""

STEPS = [
    Step("gcc", "GCC, warnings are errors, every test", TESTED,
         "configure_and_build dev\nctest --preset dev -LE 'lint|headers|consumers'", GCC),
    Step("clang", "clang 19, warnings are errors, each file alone, every test", WITH_BENCHMARKS,
         "configure_and_build clang\n"
         "ctest --preset clang -LE 'lint|headers|consumers' -E '^tools[.]'",
         CLANG),
    *sanitized("tsan", "clang 19 with ThreadSanitizer", (*CLANG, "llvm-symbolizer-19")),
    *sanitized("asan", "clang 19 with ASan and UBSan, fake stacks, every case", CLANG),
    Step("headers", "every public header compiles alone, with GCC and clang 19",
         (*BUILD, "core/include/*", "core/extras/*.h", "backends/*.h", "proptests/include/*"),
         HEADERS, (*GCC, "clang++-19")),
    Step("build_cost", "core and sim are built in 240 CPU-s, all libraries in 360",
         (*BUILD, *SOURCES, "tools/cmake/*", "tools/ci/build_cost.py", "tools/consumers/*"),
         BUILD_COST, GCC),
    Step("build_memory", "no compilation of a test takes over 1.2 GB, sanitized or not",
         (*TESTED, "tools/ci/build_cost.py"), BUILD_MEMORY, (*GCC, "clang++-19")),
    Step("clang14", "users' programs compile with clang 14, and run with a library of GCC",
         (*TESTED, "!*_test.*", "docs/examples/*", "!core/src/compile_fail/*", "!tools/checks/*"),
         CLANG_14, (*GCC, "clang++-14")),
    Step("walls", "the first error of a mistake says what to write, with GCC and clang 19",
         ("core/include/*", "core/src/compile_fail/w*.cpp", "tools/checks/compile_fail.py"),
         WALLS, (*GCC, "clang++-19")),
    Step("properties", "properties and contracts, {BELFRY_CAMPAIGN_CASES} cases each; threads: 30",
         TESTED, PROPERTIES, GCC, {"BELFRY_CAMPAIGN_CASES": "1000"}),
    Step("verdicts", "verdicts on {BELFRY_CAMPAIGN_PROGRAMS} random programs, on a tenth in every "
         "schedule", (*BUILD, *SOURCES), VERDICTS, GCC, {"BELFRY_CAMPAIGN_PROGRAMS": "20000"}),
    Step("judged_suites", "every case of the suites is CERTIFIED, or a table has the reason",
         (*BUILD, *SOURCES, "tools/cmake/*", "docs/data/judged_suites.txt"), JUDGED, GCC),
    Step("two_verdicts", "optimized programs of GCC and clang 19 get the same verdicts and tokens",
         (*BUILD, *SOURCES, "tools/cmake/*", "tools/ci/same_verdicts.py"), TWO_VERDICTS,
         (*GCC, "clang++-19")),
    Step("mutants", "planted faults, each killed by the test that its patch names",
         (*TESTED, "proptests/mutants/*", "!*.md"), "python3 tools/checks/run_mutants.py", GCC),
    Step("memory", "memory runs out at every allocation: all cases, carriers, strategies, CUDA",
         (*BUILD, *SOURCES), MEMORY, GCC),
    Step("fuzz", "parsers under libFuzzer, {BELFRY_CAMPAIGN_FUZZ_SECONDS} s each",
         (*BUILD, *SOURCES, "!*_bench.cpp", "!tools/belfry/*", "!tools/bench/*"), FUZZ, CLANG,
         {"BELFRY_CAMPAIGN_FUZZ_SECONDS": "60"}),
    Step("cuda", "the real CUDA backend for every architecture", TESTED, CUDA,
         (*GCC, "nvcc", "$CUDACXX")),
    Step("tidy", "clang-tidy 19", (*BUILD, *SOURCES, ".clang-tidy", "tools/ci/tidy.sh"),
         "configure clang\ntools/ci/tidy.sh build/clang", (*CLANG, "clang-tidy-19")),
    Step("numpy", "arrays of numpy 2.1 or newer by DLPack: version 1, bool, read-only arrays",
         (*BUILD, "core/include/*", "core/src/*.h", "core/src/*.cpp", "core/src/values/*.py",
          "!*_test.cpp"),
         NUMPY, (*GCC, "python3")),
    Step("calls", "docs/ARCHITECTURE.md lists the files that two calls run through",
         (*BUILD, *SOURCES, "docs/ARCHITECTURE.md", "tools/calls/*"), CALLS, (*GCC, "valgrind")),
    Step("docs", "the site builds: every public name has a comment, every link leads somewhere",
         DOCUMENTED, "python3 tools/docs/build_site.py", ("doxygen", "python3")),
    Step("page", "the page of a trace in Chromium: contents, keys, bounds, no error, no network",
         (*BUILD, *SOURCES, "tools/belfry/page/*"), PAGE, (*GCC, "chromium")),
    Step("valgrind", "valgrind finds no error in programs on fibers", (*BUILD, *SOURCES), VALGRIND,
         (*GCC, "valgrind")),
    Step("bench", "the benchmarks build and run", (*BUILD, *SOURCES), BENCH, GCC),
    Step("aarch64", "known answers of the kernels on an emulated aarch64",
         ("core/include/*", "core/src/*", "tools/ci/aarch64.sh", "tools/ci/common.sh"),
         "tools/ci/aarch64.sh build/aarch64", ("aarch64-linux-gnu-g++", "qemu-aarch64")),
    Step("packages", "Debian packages are built, installed in a bare root, and used there",
         (*FRESH, "!tools/docs/*", "!tools/checks/*", "!*_test.*"),
         "[[ $EUID -eq 0 ]] || exit 77\ntools/ci/packages.sh",
         (*GCC, "debootstrap", "dpkg-shlibdeps", "lintian")),
    fresh("bookworm", "tools/go demo", "demo", "tools/go demo"),
    fresh("bookworm", "tools/go test", "test", "tools/go test"),
    fresh("bookworm", "tools/go test --rest", "rest", "tools/go test --rest"),
    fresh("trixie", "tools/go demo", "demo", "tools/go demo"),
    fresh("trixie", "tools/go test", "test", "tools/go test"),
    fresh("trixie", "tools/go test --rest", "rest", "tools/go test --rest"),
]
