// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hangs/dump.h"

#include <string>
#include <string_view>
#include <vector>

namespace belfry::tool::hangs {

/// Whether the files are dumps of recorders: the begin of each tells. Unreadable files are none.
/// Throws: UsageError for dumps beside files of a different kind.
bool are_dumps(const std::vector<std::string>& paths);
/// Reads the JSON, or the pickle, of a dump of belfry or of PyTorch, version 2.
/// The rank is the dump's own, or the number at the end of the name of the file.
/// Throws: InvalidArgumentError (kFileFormat) with the file, the entry and the expectation.
Dump parse_dump(std::string_view text, const std::string& file);
/// The same for files, in the order of the ranks. Throws: UnreadableFile; UsageError for two dumps
/// of a rank.
std::vector<Dump> read_dumps(const std::vector<std::string>& files);

}  // namespace belfry::tool::hangs
