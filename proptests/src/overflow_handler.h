// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/stall_watch.h"

#include <memory>

namespace belfry::testing {

/// A stack for the handlers of signals of the constructing thread, and the handler of SIGSEGV for
/// reports of stack overflows. Without effect if a sanitizer reports faults itself. A
/// thread with a stack for signals keeps its stack.
class OverflowHandler {
 public:
  OverflowHandler();
  ~OverflowHandler();
  OverflowHandler(const OverflowHandler&) = delete;
  OverflowHandler& operator=(const OverflowHandler&) = delete;

  /// The innermost run of the calling thread, or null.
  static void set_run(const RunProgress* run);

 private:
  std::unique_ptr<char[]> stack_;
};

}  // namespace belfry::testing
