// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <string>

namespace belfry {

/// The file and line of a user's call of belfry. Appears in messages only, never in a hash or a
/// replay token: compilers disagree about the line of a call that spans several lines.
struct CallSite {
  const char* file = "";  ///< The path, as the compiler names the file; empty: unknown.
  int line = 0;           ///< From 1; 0: unknown.

  /// As a default argument, the call site of the caller. Wrappers should have the same parameter
  /// and pass the site on; messages then show the wrapper's caller.
  static constexpr CallSite here(const char* file = __builtin_FILE(),
                                 int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
  /// Whether the call is unknown.
  constexpr bool empty() const noexcept { return *file == '\0'; }
};

/// Whether both sites have the same file and line.
bool same_place(const CallSite& a, const CallSite& b) noexcept;

/// The file's last path component and the line: `train.cc:88`. Empty sites print as `?`.
std::string to_string(const CallSite& site);

}  // namespace belfry
