// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace belfry::mpi {

/// Milliseconds of a clock that no correction of the time of day changes.
std::int64_t now_ms();

/// The pauses between two looks for messages: none at first, then the rest of the processor's time
/// slice, then sleeps of up to a millisecond. Processes may outnumber the processors.
class Polling {
 public:
  /// A message has come: the next one may come at once.
  void moved() { looks_ = 0; }
  void pause();

 private:
  int looks_ = 0;
};

}  // namespace belfry::mpi
