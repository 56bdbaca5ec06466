// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

namespace belfry::tool {

/// The lines of source at places `file.cpp:12`, each with two lines before and after, as JSON for a
/// page: `{"file.cpp:12":[[10,"text"],...]}`. The file of a place is the longest end of the path
/// with a file below `folder`; a place without a file is left out, with an empty `folder` every
/// place. At most 256 KiB.
std::string source_lines_json(const std::set<std::string>& places, const std::string& folder);

}  // namespace belfry::tool
