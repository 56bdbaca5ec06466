#!/usr/bin/env python3
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

import tree

# The folders of core/src and their layers.
LAYERS = {"words": 0, "backend": 1, "kernels": 1, "host": 1, "cluster": 1, "values": 2,
          "collectives": 3, "run": 4, "input": 5, "strategies": 5}
BACKENDS_SEE = 1  # The highest layer that backends may include.
EXTRAS = ("files", "mpi", "to" + "wer")  # Libraries beside core, for users alone.
LIBRARIES = ("core", "sim", "cuda", *EXTRAS)

# Third parties, and the files that may include them.
THIRD_PARTIES = [
    (r"boost/context/", r"core/src/backend/"),
    (r"boost/container/", r"core/src/kernels/"),
    (r"fmt/", r"(core/src|backends/[^/]+/(src|driver)|proptests|tools|docs)/"),
    (r"nlohmann/", r"core/src/(values/|cluster/tf_config\.cpp)|"
                   r"backends/sim/src/(trace_json|cluster/cluster_log_test|explore/verdict_json)"),
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

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMPILER = "core/include/belfry/detail/compiler.h"
USERS = re.compile(r"proptests/programs/|tools/consumers/|docs/")  # They write <belfry/...>.


def listed_headers(files):
    """Returns the layer of each public header of core, from the lists in core/src/*."""
    layer_of = {}
    for name in files.files:
        if not re.match(r"core/src/.*/CMakeLists\.txt$", name):
            continue
        layer = LAYERS.get(name.split("/")[2])
        text = re.sub(r"#.*", "", files.text(name))
        for call in re.findall(r"belfry_sources\(\s*core\b([^)]*)\)", text):
            for header in re.findall(r"[\w/]+\.h\b", call.partition("HEADERS")[2]):
                layer_of[header] = layer
    return layer_of


def component_of(name):
    """Returns the component that a public include such as sim/backend.h belongs to."""
    first = name.split("/")[0].removesuffix(".h")
    return first if first in ("sim", "cuda", "testing", *EXTRAS) else "core"


def owner_of(name):
    """Returns (component, layer) of a file of the project; the layer is None where it has none."""
    parts = name.split("/")
    if name.startswith("core/src/"):
        return "core", LAYERS.get(parts[2])
    if name.startswith("core/extras/"):
        return parts[2], None
    if name.startswith("backends/"):
        return parts[1], None
    return parts[0], None


class LayerCheck:
    def __init__(self, files, report):
        self.files = files
        self.report = report
        self.layer_of = listed_headers(files)
        self.lists = {}
        for name in files.files:
            if name.endswith("CMakeLists.txt"):
                text = re.sub(r"#.*", "", files.text(name))
                self.lists.setdefault(name.split("/")[0], []).append(text)

    def run(self):
        for name in self.files.code():
            if name.startswith("core/include/belfry/"):
                header = name.removeprefix("core/include/belfry/")
                if header not in self.layer_of and header != "belfry.h":
                    self.report.error(name, "no CMakeLists.txt under core/src lists this header")
            elif "/include/belfry/" in name:
                self.check_listed(name)
            if "/include/belfry/" in name and not name.startswith("proptests/"):
                self.check_compiler(name)
            for number, line in enumerate(self.files.text(name).splitlines(), 1):
                found = INCLUDE.match(line)
                if found:
                    if found[1] == "<" and found[2].startswith("belfry/") and not USERS.match(name):
                        self.report.error(f"{name}:{number}", "belfry/ is included with quotes")
                    self.check_include(name, f"{name}:{number}", found[2])

    def check_compiler(self, name):
        included = re.search(r'^#include "belfry/', self.files.text(name), re.MULTILINE)
        if COMPILER in self.files.files and name != COMPILER and not included:
            self.report.error(name, "a header without includes of belfry includes "
                                    "belfry/detail/compiler.h")

    def check_listed(self, name):
        top, header = name.split("/")[0], name.partition("/include/belfry/")[2]
        listed = re.compile(rf"(?<![\w/])(include/belfry/)?{re.escape(header)}(?![\w.])")
        if not any(listed.search(text) for text in self.lists.get(top, [])):
            self.report.error(name, f"no CMakeLists.txt under {top} lists this header")

    def check_include(self, name, where, included):
        if included.startswith("belfry/"):
            self.check_public(name, where, included.removeprefix("belfry/"))
        elif included.split("/")[0] in LAYERS and name.startswith("core/src/"):
            self.check_core_layer(name, where, included, LAYERS[included.split("/")[0]])
        else:
            for party, allowed in THIRD_PARTIES:
                if re.match(party, included) and not re.match(allowed, name):
                    self.report.error(where, f"<{included}> does not belong here")

    def check_public(self, name, where, header):
        component = component_of(header)
        owner, _ = owner_of(name)
        layer = self.layer_of.get(header)
        if owner in LIBRARIES and component == "testing" and not tree.is_test(name):
            self.report.error(where, f"a library includes belfry/{header}, which is for tests")
        elif owner in LIBRARIES and header == "belfry.h" and not tree.is_test(name):
            self.report.error(where, "belfry/belfry.h is for users; include what is used")
        elif (owner in LIBRARIES and component in EXTRAS and component != owner
              and not tree.is_test(name)):
            self.report.error(where, f"{owner} includes belfry/{header}, a library for users")
        elif owner in EXTRAS and component in ("sim", "cuda") and not tree.is_test(name):
            self.report.error(where, f"{owner} includes a backend, belfry/{header}")
        elif owner == "core" and component in ("sim", "cuda"):
            self.report.error(where, f"core includes a backend, belfry/{header}")
        elif owner == "core" and layer is not None:
            self.check_core_layer(name, where, f"belfry/{header}", layer)
        elif owner in ("sim", "cuda"):
            self.check_backend(name, where, header, owner, component, layer)
        elif name.startswith("proptests/suites/") and component in ("sim", "cuda"):
            self.report.error(where, f"a suite includes a backend, belfry/{header}")

    def check_core_layer(self, name, where, included, layer):
        own = owner_of(name)[1]
        if name.startswith("core/include/belfry/"):
            own = self.layer_of.get(name.removeprefix("core/include/belfry/"))
        if own is not None and layer > own and not tree.is_test(name):
            self.report.error(where, f"layer {own} includes {included} of layer {layer}")

    def check_backend(self, name, where, header, owner, component, layer):
        if component in ("sim", "cuda") and component != owner and not tree.is_test(name):
            self.report.error(where, f"backend {owner} includes backend {component}")
        if layer is not None and layer > BACKENDS_SEE and not tree.is_test(name):
            self.report.error(where, f"a backend includes belfry/{header} of layer {layer}")


if __name__ == "__main__":
    tree.main(lambda files, report: LayerCheck(files, report).run(), "layers")
