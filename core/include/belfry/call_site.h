// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace belfry {

/// Where a user called into belfry. Appears in messages only, never in a hash or a replay token:
/// compilers disagree about the line of a call that spans several.
struct CallSite {
  const char* file = "";
  int line = 0;

  /// The place of the caller, when used as a default argument. A wrapper takes one too and hands
  /// it on, so that messages name the wrapper's caller.
  static constexpr CallSite here(const char* file = __builtin_FILE(),
                                 int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

/// Whether both name the same file and line.
bool same_place(const CallSite& a, const CallSite& b) noexcept;

/// The file's last path component and the line: `train.cc:88`. Empty sites print as `?`.
std::string to_string(const CallSite& site);

}  // namespace belfry
