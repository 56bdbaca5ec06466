# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks tables of pages against headers and tests, and planted faults against the tree.

mapping     Each row of the page of other systems' names has a name, its spelling in belfry, and its
            proof. `test`: the tests use every spelling in code type; a name in capitals: a section
            that must not compile; `none`: belfry has nothing of the kind. Every name that the tests
            use or the headers declare is on the page.
processes   Every public function of strategies, contexts and checkpoints has a row in the table of
            verbs, and every row has a test. A function `verb_at` belongs to the row of `verb`.
overridden  A page of decisions names each row of the conformance catalogue that is overridden:
            `RUN-04, RG-01 to RG-10` in the first cell of a row.
changes     On the page of names that moved, each row has an old name, a new name and a date, newest
            first. Public headers have the new names, and no old ones.
mutants     The file, the program and the test of each planted fault exist, and each hunk occurs
            exactly once. The campaign runs the tests.
"""

import re

import cpp
import page
import planted_faults

MAPPING = "docs/tf_mapping.md"
SPACE = "to" + "wer"
MAPPING_TESTS = rf"core/extras/{SPACE}/src/\w+_test\.cpp$"

PROCESSES = "docs/processes.md"
PARTS = {"all", "own", "BF-080"}
INCLUDE = "core/include/belfry/"
CLASSES = {"strategy.h": "Strategy", "replica_context.h": "ReplicaContext",
           "cross_replica_context.h": "CrossReplicaContext", "checkpoint.h": "Checkpoint",
           "detail/strategy_verbs.h": "StrategyVerbs", "detail/assign_verbs.h": "AssignVerbs",
           "detail/exchange_verbs.h": "ExchangeVerbs",
           "detail/axis_verbs.h": "AxisVerbs", "detail/destination_verbs.h": "DestinationVerbs"}
FUNCTIONS = ("vjp.h", "indexed_slices.h", "scatter.h", "launch.h")
TAKES_CONTEXT = re.compile(r"\w+\((?:ReplicaContext|CrossReplicaContext|const K& )")
VERB = re.compile(r"(?:detail::)?Verb<.*> (\w+)\{")
INTERNAL = {"core", "merges"}  # For belfry itself.

CONFORMANCE = "docs/conformance.md"
ROWS = re.compile(r"([A-Z]+)-(\d+)(?: to \1-(\d+))?")

CHANGES = "docs/changes.md"
MOVED = "| old | new | since |"
DATE = re.compile(r"\d{4}-\d\d-\d\d")
PUBLIC = r"(?:\w+/)+include/belfry/"
# A name of C++, without its class; options of the build and headers are no such names.
NAME = re.compile(r"(?:\w+::)*([A-Za-z]\w*)(?:\(.*\))?")

PROGRAM = re.compile(r"\bbelfry_test\((\w+)")
# A test with parameters has a prefix and a suffix: Carriers/Executors.Meet/fiber.
PARAMETER = re.compile(r"^\w+/|/\w+$")
# A suite with types has a suffix: Crossed/ring.ReductionsHaveTheStatedBits.
TYPE = re.compile(r"/\w+(?=[.])")


def contains(text, wanted):
    return re.search(r"(?<!\w)" + re.escape(wanted) + r"(?!\w)", text) is not None


def spelling(quoted):
    """Returns what a test must contain to have used a spelling."""
    name = re.match(r"[\w:]+", quoted)
    if not name:
        return quoted
    return name[0] if name[0].startswith(f"{SPACE}::") else name[0].rpartition("::")[2]


def mapped_names(files, tests):
    """Returns the names of the namespace that the headers declare or the tests use."""
    names = set(re.findall(rf"\b{SPACE}::(\w+)", tests))
    headers = r"(/verbs|/input|/values|/variables)?\.h$"
    for path in files.named(rf"core/extras/{SPACE}/include/belfry/{SPACE}{headers}"):
        for declared in cpp.declarations(files.text(path)):
            is_named = (declared.spaces == f"belfry::{SPACE}" and not declared.owner
                        and (declared.kind != "function" or declared.body is not None))
            if is_named and (found := re.match(r"using (\w+) =|concept (\w+) =|"
                                               r"inline constexpr \w+ (\w+) =", declared.head)):
                names.update(filter(None, found.groups()))
            elif is_named and declared.kind == "function":
                names.add(declared.name)
    return names


def check_mapping(files, report):
    text = files.text(MAPPING)
    tests = "\n".join(files.text(path) for path in files.named(MAPPING_TESTS))
    sections = {name for path in files.named(r"core/src/compile_fail/\w+\.cpp$")
                for name in cpp.SECTION.findall(files.text(path))}
    for number, cells in page.Page(text).rows():
        where, quoted = f"{MAPPING}:{number}", page.QUOTED.findall(cells[1])
        if len(cells) != 3:
            report.error(where, "a row that is not name, belfry, shown by")
        elif cells[2] == "test":
            for each in map(spelling, quoted):
                if not contains(tests, each):
                    report.error(where, f"no test of core/extras/{SPACE} uses {each}")
            if not quoted:
                report.error(where, "the row names nothing that the test could use")
        elif cells[2] != "none" and cells[2] not in sections:
            report.error(where, f"no file of core/src/compile_fail has a section {cells[2]}")
    for name in sorted(mapped_names(files, tests)):
        if not contains(text, f"{SPACE}::{name}"):
            report.error(MAPPING, f"{SPACE}::{name} has no row")


def verbs_of(files):
    """Returns {public function or verb: header}."""
    found = {}
    for header, owner in CLASSES.items():
        for declared in cpp.declarations(files.text(INCLUDE + header)):
            if declared.owner != owner or not declared.public:
                continue
            verb = VERB.match(declared.head)
            if verb or declared.kind == "function" and re.match(r"[a-z]\w*$", declared.name):
                found[(verb[1] if verb else declared.name).removesuffix("_at")] = header
    for header in FUNCTIONS:
        for declared in cpp.declarations(files.text(INCLUDE + header)):
            if (declared.kind == "function" and declared.spaces == "belfry" and not declared.owner
                    and TAKES_CONTEXT.search(declared.head)):
                found[declared.name] = header
    return {name: header for name, header in found.items() if name not in INTERNAL}


def check_processes(files, report):
    tests, named = cpp.tests_of(files, "proptests/processes/"), set()
    for number, cells in page.Page(files.text(PROCESSES)).rows("| processes | outcome | test |"):
        where, verbs = f"{PROCESSES}:{number}", re.findall(r"`(\w+)[^`]*`", cells[0])
        if len(cells) != 4 or not verbs:
            report.error(where, "a row without verbs, part, outcome and test")
            continue
        named |= set(verbs)
        if cells[1] not in PARTS:
            report.error(where, f"'{cells[1]}' is none of {', '.join(sorted(PARTS))}")
        if cells[3].strip("`") not in tests:
            report.error(where, f"there is no test {cells[3]}")
    for name, header in sorted(verbs_of(files).items()):
        if name not in named:
            report.error(PROCESSES, f"{name} of {header} has no row")


def rows_in(cell):
    for family, first, last in ROWS.findall(cell):
        for number in range(int(first), int(last or first) + 1):
            yield f"{family}-{number:02}"


def check_overridden(files, report):
    outcomes = {cells[0]: cells[1] for _, cells in page.Page(files.text(CONFORMANCE)).rows()}
    decided = {row: path for path in files.named(r"docs/decisions/\d+-.+\.md$")
               for _, cells in page.Page(files.text(path)).rows() if ROWS.match(cells[0])
               for row in rows_in(cells[0])}
    for row, path in decided.items():
        if row not in outcomes:
            report.error(path, f"{row} is no row of {CONFORMANCE}")
    for row, outcome in outcomes.items():
        if outcome == "overridden" and row not in decided:
            report.error(CONFORMANCE, f"no page of decisions names {row}")


def names_in(cell):
    """Returns the headers and the names of C++ in a cell; of a target, nothing."""
    quoted = [each for each in page.QUOTED.findall(cell) if not each.startswith("belfry::")]
    headers = {each for each in quoted if each.endswith(".h")}
    found = (NAME.fullmatch(each) for each in set(quoted) - headers)
    return headers, {match[1] for match in found if match}


def check_changes(files, report):
    paths = [path for path in files.named(PUBLIC) if path.endswith(".h")]
    headers = {path[path.index("include/") + len("include/"):] for path in paths}
    words = {word for path in paths for word in re.findall(r"\w+", files.text(path))}
    latest = ""
    for number, cells in page.Page(files.text(CHANGES)).rows(MOVED):
        where = f"{CHANGES}:{number}"
        if len(cells) != 3 or not DATE.fullmatch(cells[2]):
            report.error(where, "a row that is not old, new, since (a date)")
            continue
        if latest and cells[2] > latest:
            report.error(where, "a row below an older row")
        latest = cells[2]
        (old_headers, old_names), (new_headers, new_names) = map(names_in, cells[:2])
        for name in sorted(new_headers - headers | new_names - words):
            report.error(where, f"no public header has {name}")
        for name in sorted((old_headers - new_headers) & headers
                           | (old_names - new_names) & words):
            report.error(where, f"{name} is still in a public header")


def check_mutants(files, report):
    tests = cpp.tests_of(files)
    programs = {program for text in files.cmake().values() for program in PROGRAM.findall(text)}
    for name, patch in planted_faults.patches_of(files):
        where = f"{planted_faults.FOLDER}{name}.patch"
        try:
            fault = planted_faults.parse(name, patch)
            fault.plant(files.text(fault.file))
        except planted_faults.BadPatch as error:
            report.error(where, str(error))
            continue
        if fault.program not in programs:
            report.error(where, f"no belfry_test is named {fault.program}")
        if not tests & {PARAMETER.sub("", fault.test), TYPE.sub("", fault.test)}:
            report.error(where, f"there is no test {fault.test}")
