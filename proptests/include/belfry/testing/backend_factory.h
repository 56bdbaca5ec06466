// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/detail/prints.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace belfry::testing {

/// How replicas run, for backends with a choice.
enum class CarrierKind : std::uint8_t { kFiber, kBaton, kConcurrent };

/// `fibers`, `baton`, `concurrent threads`.
std::string to_string(CarrierKind carrier);

/// The carrier in the environment variable BELFRY_TESTING_CARRIER (fiber, baton or concurrent), for
/// every request that does not name a carrier. Nothing if the variable is not set.
/// Throws: std::invalid_argument for any other word.
std::optional<CarrierKind> carrier_of_environment();

/// Whether the environment variable BELFRY_TESTING_SHARE_COPIES is 1: simulated buffers with copies
/// of the same bytes then share memory. Default: no sharing, since a suite that checks whether
/// copies are equal should compare different memory.
bool share_copies_of_environment();

/// Whether the environment variable BELFRY_TESTING_FUNCTIONS_OF is `last`. If set, merges on
/// simulated devices take the functions of the last replica and not replica 0's (SEM-135).
/// Throws: std::invalid_argument for words other than `first` and `last`.
bool functions_of_last_by_environment();

/// The rule for the next turn.
enum class ScheduleKind : std::uint8_t {
  kFixed,   ///< The lowest replica first.
  kRandom,  ///< Drawn from the seed.
  kReplay,  ///< The choices of a token.
};

/// `fixed`, `random`, `replay`.
std::string to_string(ScheduleKind schedule);

/// A suite's request for a backend. A backend without a requested feature (threads have no replay)
/// takes the nearest feature: no property may depend on the difference.
struct BackendRequest {
  int devices = 1;                               ///< The number of devices.
  ScheduleKind schedule = ScheduleKind::kFixed;  ///< The rule for the next turn.
  /// How replicas run.
  CarrierKind carrier = carrier_of_environment().value_or(CarrierKind::kFiber);
  std::uint64_t seed = 0;              ///< The seed of a random schedule.
  std::string replay{};                ///< A token of `BackendFactory::replay_token`.
  std::size_t memory_limit_bytes = 0;  ///< Of each device; 0: none.
  bool share_copies = share_copies_of_environment();  ///< As share_copies_of_environment.
  /// As functions_of_last_by_environment.
  bool functions_of_last = functions_of_last_by_environment();
};

/// `4 devices, random schedule 17, fibers`.
std::string to_string(const BackendRequest& request);

/// Counters of the work on devices.
struct DeviceWork {
  std::uint64_t commands = 0;     ///< Kernels, copies and similar work.
  std::uint64_t collectives = 0;  ///< By communicators.

  /// Adds the counters.
  DeviceWork& operator+=(const DeviceWork& more) {
    commands += more.commands;
    collectives += more.collectives;
    return *this;
  }
};

/// `commands 5, collectives 2`.
std::string to_string(const DeviceWork& work);

/// Makes the backends of suites; the text of a suite is the same for all backends.
class BackendFactory {
 public:
  virtual ~BackendFactory() = default;
  /// `sim`, `cuda on the simulated driver`, ...
  virtual std::string_view name() const = 0;
  /// A backend for the request, as far as the backend has the features. Throws: errors of the
  /// constructor; InvalidArgumentError (kReplay) for a malformed token, if the backend has replay.
  virtual std::unique_ptr<Backend> make(const BackendRequest& request) const = 0;
  /// The work of the devices of a backend of this factory so far.
  virtual DeviceWork work(Backend& backend) const = 0;
  /// A hash of the operations of replicas, merges and streams, the same for every order of turns;
  /// nothing without a log. Context: between runs.
  virtual std::optional<std::uint64_t> order_free_hash(Backend&) const { return std::nullopt; }
  /// The choices so far, for ScheduleKind::kReplay; empty without replay.
  virtual std::string replay_token(Backend& backend) const = 0;
};

/// The factory of this test binary, defined beside `main`.
const BackendFactory& backend_factory();

using belfry::operator<<;

}  // namespace belfry::testing
