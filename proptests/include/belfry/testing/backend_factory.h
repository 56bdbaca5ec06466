// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace belfry::testing {

/// How replicas are carried, as far as a backend has the choice.
enum class CarrierKind : std::uint8_t { kFiber, kBaton, kConcurrent };

/// What the environment variable BELFRY_TESTING_CARRIER asks for: fiber, baton or concurrent, for
/// every request that does not name a carrier. Nothing when it is not set.
/// Throws: std::invalid_argument for another word.
std::optional<CarrierKind> carrier_of_environment();

/// Whether the environment variable BELFRY_TESTING_SHARE_COPIES is set to 1: then simulated buffers
/// that are copies of one another share their bytes. Otherwise they do not: a suite that looks
/// whether copies are equal should compare different bytes.
bool share_copies_of_environment();

/// Whether the environment variable BELFRY_TESTING_FUNCTIONS_OF is `last`. If so, merges on
/// simulated devices take the functions of the last replica and not replica 0's (SEM-135).
/// Throws: std::invalid_argument for words other than `first` and `last`.
bool functions_of_last_by_environment();

/// Who decides whose turn it is.
enum class ScheduleKind : std::uint8_t {
  kFixed,   ///< The lowest replica first.
  kRandom,  ///< Drawn from the seed.
  kReplay,  ///< As a token says.
};

/// What a suite asks of a backend. A backend that cannot have something (threads have no replay)
/// takes what comes closest: no property may depend on it.
struct BackendRequest {
  int devices = 1;
  ScheduleKind schedule = ScheduleKind::kFixed;
  CarrierKind carrier = carrier_of_environment().value_or(CarrierKind::kFiber);
  std::uint64_t seed = 0;
  std::string replay{};                ///< A token of `BackendFactory::replay_token`.
  std::size_t memory_limit_bytes = 0;  ///< Of each device; 0: none.
  bool share_copies = share_copies_of_environment();
  bool functions_of_last = functions_of_last_by_environment();
};

/// `4 devices, random schedule 17, fibers`.
std::string to_string(const BackendRequest& request);

/// What devices have executed.
struct DeviceWork {
  std::uint64_t commands = 0;     ///< Kernels, copies and the like.
  std::uint64_t collectives = 0;  ///< By communicators.

  DeviceWork& operator+=(const DeviceWork& more) {
    commands += more.commands;
    collectives += more.collectives;
    return *this;
  }
};

/// Makes the backends that suites run on, so that their text is the same for all.
class BackendFactory {
 public:
  virtual ~BackendFactory() = default;
  /// `sim`, `cuda on the simulated driver`, ...
  virtual std::string_view name() const = 0;
  /// A backend as asked for, as far as this one can. Throws: what its constructor throws;
  /// InvalidArgumentError (kReplay) for a token that is none, where there is replay.
  virtual std::unique_ptr<Backend> make(const BackendRequest& request) const = 0;
  /// What the devices of a backend of this factory have executed so far.
  virtual DeviceWork work(Backend& backend) const = 0;
  /// A hash of what replicas, merges and streams have done, the same for every order in which they
  /// took turns; nothing where no log is kept. While nobody runs.
  virtual std::optional<std::uint64_t> order_free_hash(Backend&) const { return std::nullopt; }
  /// Names the choices made so far, for ScheduleKind::kReplay; empty where there is no replay.
  virtual std::string replay_token(Backend& backend) const = 0;
};

/// The factory of this test binary. Each binary defines it beside its `main`.
const BackendFactory& backend_factory();

}  // namespace belfry::testing
