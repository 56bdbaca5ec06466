// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/schedule.h"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace belfry::sim {

/// What replicas run on. With kConcurrent alone may threads of the user's share a backend.
enum class Carrier : std::uint8_t {
  kFiber,       ///< Stack switches on the calling thread.
  kBaton,       ///< Threads, one at a time, in the same order as the fibers: for debuggers.
  kConcurrent,  ///< Threads, all at once: no schedule, no determinism; for looking for data races.
};

/// `fiber`, `baton`, `concurrent`.
std::string to_string(Carrier carrier);

/// How much of the data that operations write enters the log (SEM-77).
enum class Digests : std::uint8_t {
  kNone,
  kSampled,  ///< Some bytes of large results: sees most differences at little cost.
  kAll,      ///< All of it, what replicas and variables keep on the host, and the merges' lines.
};

/// `none`, `sampled`, `all`.
std::string to_string(Digests digests);

/// Everything a simulated run depends on besides the program. A value: equal options give equal
/// runs.
struct Options {
  int devices = 1;
  /// Random by default, drawn from `seed`: what works in one order only should not work by habit.
  Schedule schedule{};
  Carrier carrier = Carrier::kFiber;
  std::size_t memory_limit_bytes = 0;  ///< Of each device; 0: none.
  /// Buffers that are copies of one another take up the memory of one until one of them is written.
  /// Nothing a program can see depends on it; off for tests whose subject is whether copies are
  /// equal.
  bool share_copies = true;
  bool record = true;  ///< Keep log, hash and choices.
  Digests digests = Digests::kSampled;
  std::size_t record_limit = std::size_t{1} << 16;   ///< Most operations, and choices, to keep.
  std::size_t stack_bytes = std::size_t{512} << 10;  ///< Of a replica, mapped as it is used.
  std::uint64_t seed = 0;
  /// The replica whose functions merges take (SEM-135). Only a program whose merge functions depend
  /// on their replica sees the difference.
  int functions_of = 0;

  bool operator==(const Options&) const = default;
};

/// As it would be written in code, without what is left at its default.
std::string to_string(const Options& options);
std::ostream& operator<<(std::ostream& stream, const Options& options);

}  // namespace belfry::sim
