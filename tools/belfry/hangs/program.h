// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hangs/hang.h"

#include <ostream>
#include <string>
#include <vector>

namespace belfry::tool {
class Console;
}

namespace belfry::tool::hangs {

/// Writes a C++ program for the simulator. The replicas are the ranks of the groups with open
/// calls, and make the calls of the groups up to the open calls. A merge of a replica has the
/// number, the kind, the sizes and the type of the call as a name. The program stops where the
/// ranks do, with an error about the open call of each. Throws: UnsupportedError (kUnsupported) if
/// the groups have different ranks, for sends and receives, and without an open call.
void write_program(const Job& job, std::ostream& out);
/// The same for files. Throws: as read_dumps; InvalidArgumentError (kFile).
void export_program(const std::vector<std::string>& files, const std::string& out,
                    Console& console);

}  // namespace belfry::tool::hangs
