// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <string>

namespace belfry::bugs {

/// The lines of the two accesses of a bug, as `file.cpp:5`; empty without a mark. A single mark
/// `accesses 1 and 2` stands for both.
using Marks = std::array<std::string, 2>;

/// The marks of each bug of a source file: comments such as `bug 6, access 1` at the ends of lines.
/// Throws: std::runtime_error if the file cannot be read.
std::map<int, Marks> marks_in(const std::string& folder, const std::string& file);

}  // namespace belfry::bugs
