# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a file includes its own layer or lower, and third parties only where they belong.

A public header of core belongs to the layer of the folder of core/src whose CMakeLists.txt, or that
of a folder in it, lists the header. Headers of the other libraries are listed too: only headers
that CMake knows are compiled alone and installed.

A public header without includes of belfry includes the check of the compiler. So each header
reaches the check before the first declaration of belfry, and an old compiler reports the check
first.
"""

import re

import cpp
import tree

# The folders of core/src and their layers.
LAYERS = {"words": 0, "backend": 1, "kernels": 1, "host": 1, "cluster": 1, "trace": 1,
          "values": 2, "collectives": 3, "run": 4, "input": 5, "strategies": 5}
# The folders of core/src/run, in the same way.
RUN = {"contexts": 0, "rounds": 1, "processes": 2, "variables": 3, "verbs": 3}
BACKENDS_SEE = 1  # The highest layer that backends may include.
BACKENDS = ("sim", "cuda")
EXTRAS = ("files", "mpi", "to" + "wer")  # Libraries beside core, for users alone.
LIBRARIES = ("core", *BACKENDS, *EXTRAS)
COMPILER = "belfry/detail/compiler.h"

# Third parties, and the files that may include them.
THIRD_PARTIES = [
    (r"boost/context/", r"core/src/backend/"),
    (r"boost/container/", r"core/src/kernels/"),
    (r"fmt/", r"(core/src|backends/[^/]+/(src|driver)|proptests|tools|docs)/"),
    (r"nlohmann/",
     r"core/src/words/json\.cpp|"
     r"backends/sim/src/(explore/verdict_(json|trace)|groups)_test|"
     r"backends/sim/src/trace/(trace|flight_recorder)_test|"
     r"backends/cuda/src/flight_recorder_test|proptests/include/belfry/testing/flight_files\.h|"
     r"tools/belfry/hangs/cluster_hangs_test"),
    (r"(unsupported/)?Eigen/",
     r".*_(test|bench)\.(cpp|h)|(proptests|tools)/|docs/examples/(eigen\.cpp|own_training/)"),
    (r"mpi\.h", r"core/extras/mpi/|proptests/mpi/|tools/bench/"),
    (r"(elfutils/|dwarf\.h)", r"backends/sim/watch/src/"),
    (r"benchmark/", r".*_bench\.(cpp|h)|.*/testing/"),
    (r"CLI/", r"tools/"),
    (r"(cuda|nccl|cublas|curand|nvtx3|driver_types|vector_types|library_types)",
     r"backends/(cuda|sim/driver)/|.*\.cu$|core/include/belfry/backend/host_device\.h|proptests/|"
     r"docs/examples/"),
    (r"(gtest|gmock|rapidcheck)",
     r".*_test\.(cpp|h)|.*/testing/|(proptests|tools|docs/examples)/"),
]


def listed_headers(files):
    """Returns {public header of core: layer}, from the lists in core/src/*."""
    layer_of = {}
    for name, text in files.cmake().items():
        if name.startswith("core/src/"):
            for call in re.findall(r"belfry_sources\(\s*core\b([^)]*)\)", text):
                for header in re.findall(r"[\w/]+\.h\b", call.partition("HEADERS")[2]):
                    layer_of[header] = LAYERS.get(name.split("/")[2])
    return layer_of


def component_of(header):
    """Returns the component of a public header, by its name in an include without belfry/."""
    first = header.split("/")[0].removesuffix(".h")
    return first if first in (*BACKENDS, "testing", *EXTRAS) else "core"


def owner_of(name):
    """Returns the component of a file of the project."""
    parts = name.split("/")
    return parts[2 if name.startswith("core/extras/") else
                 1 if name.startswith("backends/") else 0]


def is_listed(name, lists):
    """Says whether a CMakeLists.txt of the same top folder lists a public header."""
    header = re.escape(name.partition("/include/belfry/")[2])
    listed = re.compile(rf"(?<![\w/])(include/belfry/)?{header}(?![\w.])")
    return any(listed.search(text) for path, text in lists.items()
               if path.split("/")[0] == name.split("/")[0])


class Include:
    """An include of `header` of belfry in the file `name`."""

    def __init__(self, name, header, layer_of):
        self.owner, self.component = owner_of(name), component_of(header)
        self.name, self.header, self.layer_of = name, header, layer_of

    def own_layer(self):
        if self.name.startswith("core/include/belfry/"):
            return self.layer_of.get(self.name.removeprefix("core/include/belfry/"))
        return LAYERS.get(self.name.split("/")[2]) if self.name.startswith("core/src/") else None

    def fault(self):
        """Returns what is wrong with an include that is forbidden in tests too, or nothing."""
        if self.owner == "core" and self.component in BACKENDS:
            return f"core includes a backend, belfry/{self.header}"
        if self.name.startswith("proptests/suites/") and self.component in BACKENDS:
            return f"a suite includes a backend, belfry/{self.header}"
        return "" if tree.is_test(self.name) else self.fault_of_library()

    def fault_of_library(self):
        owner, component, header = self.owner, self.component, f"belfry/{self.header}"
        if owner in LIBRARIES and component == "testing":
            return f"a library includes {header}, which is for tests"
        if owner in LIBRARIES and self.header == "belfry.h":
            return f"{header} is for users; include what is used"
        if owner in LIBRARIES and component in EXTRAS and component != owner:
            return f"{owner} includes {header}, a library for users"
        if owner in EXTRAS and component in BACKENDS:
            return f"{owner} includes a backend, {header}"
        if owner in BACKENDS and component in BACKENDS and component != owner:
            return f"backend {owner} includes backend {component}"
        return self.fault_of_layer(self.layer_of.get(self.header), header)

    def fault_of_layer(self, layer, included):
        own = self.own_layer()
        if self.owner in BACKENDS and (layer or 0) > BACKENDS_SEE:
            return f"a backend includes {included} of layer {layer}"
        if self.owner == "core" and None not in (own, layer) and layer > own:
            return f"layer {own} includes {included} of layer {layer}"
        return ""


def fault_in_run(name, included):
    """Returns what is wrong with an include between folders of core/src/run, or nothing."""
    own = RUN.get(name.removeprefix("core/src/run/").split("/")[0], max(RUN.values()))
    folder = included.removeprefix("run/").split("/")[0]
    if name.startswith("core/src/run/") and RUN.get(folder, 0) > own:
        return f"a lower folder of core/src/run includes {included}"
    return ""


def fault_of(name, included, layer_of):
    """Returns what is wrong with an include, or nothing."""
    folder = included.split("/")[0]
    if folder == "belfry":
        return Include(name, included.removeprefix("belfry/"), layer_of).fault()
    if folder in LAYERS and name.startswith("core/src/"):
        of_layer = Include(name, included, layer_of).fault_of_layer(LAYERS[folder], included)
        return "" if tree.is_test(name) else of_layer or fault_in_run(name, included)
    wrong = any(re.match(party, included) and not re.match(allowed, name)
                for party, allowed in THIRD_PARTIES)
    return f"<{included}> does not belong here" if wrong else ""


def check(files, report):
    layer_of, lists = listed_headers(files), files.cmake()
    for name in files.code():
        includes = list(cpp.includes(files.text(name)))
        header = name.partition("/include/belfry/")[2]
        if name.startswith("core/include/") and header not in (*layer_of, "belfry.h"):
            report.error(name, "no CMakeLists.txt under core/src lists this header")
        elif header and not name.startswith("core/include/") and not is_listed(name, lists):
            report.error(name, f"no CMakeLists.txt under {name.split('/')[0]} lists this header")
        if (header and not name.startswith("proptests/") and not name.endswith(COMPILER)
                and not any(included.startswith("belfry/") for _, included in includes)):
            report.error(name, f"a header without includes of belfry includes {COMPILER}")
        for number, included in includes:
            if fault := fault_of(name, included, layer_of):
                report.error(f"{name}:{number}", fault)
