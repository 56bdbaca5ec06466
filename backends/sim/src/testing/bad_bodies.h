// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/backend.h"
#include "belfry/sim/verdict.h"

#include <functional>
#include <string>
#include <vector>

namespace belfry::sim::testing {

/// A body that uses an exploration badly, and the verdicts.
struct BadBody {
  const char* name;
  std::function<double(Backend&)> body;
  VerdictLevel watched;    ///< The level in watched code.
  VerdictLevel unwatched;  ///< The level in code without a watch.
  const char* sentence;    ///< A part of the explanation in watched code,
  /// and, if not null, in code without a watch, where the missing watch is told in any case.
  const char* unwatched_sentence = nullptr;
};

/// Bodies that read clocks, keep state, draw, or lock.
std::vector<BadBody> bodies_without_repeats();
/// Bodies with backends, drivers, explorations or threads of their own.
std::vector<BadBody> bodies_with_machines();
/// Bodies that misuse replicas, tensors and memory.
std::vector<BadBody> bodies_with_mistakes();

}  // namespace belfry::sim::testing
