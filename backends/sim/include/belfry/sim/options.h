// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/sim/schedule.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim {

/// How replicas run. Several user threads may share a backend with kConcurrent only.
enum class Carrier : std::uint8_t {
  kFiber,       ///< Fibers on the calling thread.
  kBaton,       ///< Threads, one at a time, in the same order as the fibers: for debuggers.
  kConcurrent,  ///< Threads, all at once: no schedule, no determinism; for looking for data races.
};

/// `fiber`, `baton`, `concurrent`.
std::string to_string(Carrier carrier);

/// The amount of written data that enters the log (SEM-77).
enum class Digests : std::uint8_t {
  kNone,
  kSampled,  ///< Some bytes of large results: finds most differences at little cost.
  kAll,      ///< All data, host values of replicas and variables, and merges' lines.
};

/// `none`, `sampled`, `all`.
std::string to_string(Digests digests);

/// All inputs of a simulated run besides the program. A value: equal options give equal runs.
struct Options {
  int devices = 1;  ///< The number of devices.
  /// Random by default, drawn from `seed`: programs should not depend on a single order by habit.
  Schedule schedule{};
  Carrier carrier = Carrier::kFiber;   ///< How replicas run.
  std::size_t memory_limit_bytes = 0;  ///< Of each device; 0: none.
  /// Whether buffers with copies of the same bytes share memory until a buffer is written. No
  /// program can see the difference; off for tests that check whether copies are equal.
  bool share_copies = true;
  bool record = true;                                ///< Keep log, hash and choices.
  Digests digests = Digests::kSampled;               ///< The data in the log.
  std::size_t record_limit = std::size_t{1} << 16;   ///< Limit of kept operations and choices.
  std::size_t stack_bytes = std::size_t{512} << 10;  ///< The stack of a replica, mapped at use:
                                                     ///< from 32 KiB to 1 GiB.
  std::uint64_t seed = 0;                            ///< The seed of a random schedule.
  /// The replica whose functions run in merges (SEM-135). Only programs with merge functions that
  /// depend on their replica see a difference.
  int functions_of = 0;
  /// `links[i]` lists the devices with a direct, fast link to device i (SEM-146).
  /// Empty: unknown.
  std::vector<std::vector<int>> links{};
  /// Whether the body of each user's kernel runs several times, on copies of its operands, and its
  /// accesses are compared with the launch (SEM-174). For tests: results and log stay as without
  /// the checks, and effects of bodies on other memory happen several times.
  bool check_kernels = false;
  /// Whether an exploration compares memory before and after each slice of a replica, and names
  /// changes that the watch of host memory has not seen. A verdict takes many times as long.
  bool audit_watch = false;

  bool operator==(const Options&) const = default;
};

/// The options as an initializer that compiles, `belfry::sim::Options options` before it:
/// `{.devices = 2, .carrier = belfry::sim::Carrier::kBaton}`. Members with their default value are
/// left out, except `devices`.
std::string to_string(const Options& options);

}  // namespace belfry::sim

namespace belfry {
namespace detail {
template <>
inline constexpr bool kPrints<sim::Carrier> = true;
template <>
inline constexpr bool kPrints<sim::Digests> = true;
template <>
inline constexpr bool kPrints<sim::Options> = true;
}  // namespace detail
namespace sim {
using belfry::operator<<;
}  // namespace sim
}  // namespace belfry
