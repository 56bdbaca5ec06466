// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/strategy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace belfry::testing {

/// The settings of a comparison with a single replica.
struct OneReplicaOptions {
  int replicas = 2;        ///< The number N of replicas, on a simulated device each; at least 2.
  std::uint64_t seed = 0;  ///< Decides the schedules of the simulator.
  /// The most terms that an element of a reduction has over all replicas, for example the number of
  /// examples in the global batch: replicas round their sums of these terms. More terms allow
  /// larger differences, and may hide a small mistake. 0: replicas round nothing before a
  /// reduction.
  int terms = 256;
  /// A difference of floating-point elements that is allowed in addition to their bound, as a share
  /// of the largest element of the leaf, for example for the rounding of many steps. At least 0;
  /// 1e-6 hides no frequent mistake.
  double tolerance = 0;
  /// Whether the N replicas go on with the values of the single replica after each reduction and
  /// each update without a difference: every step starts from equal variables, and rounding does
  /// not add up over steps. False: each run keeps its own values, and a tolerance has room for the
  /// rounding of all steps.
  bool realign = true;
  /// Makes the strategy of a run, over all devices of the backend: a strategy of belfry with any
  /// options, or a strategy of the user. Called for a backend with a single device, for a single
  /// replica, and for a backend with N devices. A strategy that leaves devices out may have fewer
  /// than N replicas. Without a function: a MirroredStrategy in replica order.
  ///
  ///     [](Backend& backend) { return std::make_unique<CentralStorageStrategy>(backend); }
  std::function<std::unique_ptr<Strategy>(Backend&)> strategy{};
};

/// `OneReplicaOptions{.replicas = 4}`: the members that differ from their default. A strategy is
/// the word `"a function"`.
std::string to_string(const OneReplicaOptions& options);

/// The result of a comparison with a single replica.
struct OneReplicaReport {
  /// The first reduction or update that differs, in words; empty without one.
  std::string difference{};
  int reductions = 0;  ///< The number of equal reductions before the difference.
  int unjudged = 0;    ///< The number of their leaves of types with ElementTraits.

  bool operator==(const OneReplicaReport&) const = default;
};

/// `3 reductions are the same`, or the difference.
std::string to_string(const OneReplicaReport& report);

/// Finds the first reduction or update in which N replicas compute something else than one: runs
/// `body` with a strategy of a single replica and with a strategy of `options.replicas` replicas,
/// on simulated devices, and compares
/// - the result of each reduction: of `all_reduce`, of reductions in merge functions and between
///   runs, of assignments with an aggregation, and of hooks of the strategy outside of reductions.
///   The k-th reduction with a tag, or without a tag at a line of the program, is compared with the
///   k-th on a single replica;
/// - the values of each mirrored variable after updates and assignments. Changes without a
///   reduction between them are a single update. The k-th update of a name is compared with the
///   k-th on one replica, if both runs have equally many.
/// The body runs the strategy on the calling thread.
///
/// An element of a reduction may differ by the derived bound for equal inputs (the exact sum or
/// mean is the input of the single replica): g(a) * (|x0| + |x1| + ...) for the inputs x of the N
/// replicas, for a mean divided by N, with g(a) = a * u / (1 - a * u), the unit of rounding u of
/// the sum, and the number a of its additions and divisions. Sums of 16-bit floats have the last
/// rounding in the bound. With `options.terms` the bound has 2 g(terms - 1) in addition, for the
/// sums in replicas of both runs, times the largest element of the leaf in this and all earlier
/// reductions of the place: the terms may cancel out. An element of a variable may differ by 2
/// g(max(N, terms)) times the largest element: the program may add up values in its own order.
/// Integers may not differ.
///
/// The N replicas go on with the values of the single replica (`options.realign`). The first
/// difference ends the comparison. The bounds hold for every order of additions, and not for
/// strategies that lose digits on purpose.
///
/// Throws:
/// - InvalidArgumentError (kInvalidArgument): fewer than two replicas, a negative tolerance, a
///   function without a strategy, or with several replicas on a single device;
/// - exceptions of the function;
/// - exceptions of `body` on a single replica, and on N replicas if nothing before differs.
OneReplicaReport compare_with_one_replica(const OneReplicaOptions& options,
                                          const std::function<void(Strategy&)>& body,
                                          CallSite site = CallSite::here());

/// Fails the test at the caller's line, with the first difference, unless N replicas compute what
/// one computes:
///
///     expect_same_as_one_replica({}, batch, [](Strategy& strategy, const Batch& all) {
///       strategy.run([&](ReplicaContext& replica) { step(replica, share_of(replica, all)); });
///     });
///
/// `batch` is the global batch, of any type; the body shares it out over the replicas.
/// Throws: as compare_with_one_replica.
template <class Batch, class Body>
void expect_same_as_one_replica(const OneReplicaOptions& options, const Batch& batch,
                                const Body& body, CallSite site = CallSite::here()) {
  const OneReplicaReport report =
      compare_with_one_replica(options, [&](Strategy& strategy) { body(strategy, batch); }, site);
  if (!report.difference.empty()) ADD_FAILURE_AT(site.file, site.line) << report.difference;
}

using belfry::operator<<;

}  // namespace belfry::testing
