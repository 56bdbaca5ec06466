// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "explore/breach.h"

#include <functional>
#include <string>

namespace belfry::sim::testing {

using PairedBody = std::function<double(Backend&)>;

/// A program that breaks a condition of a certificate in a single way, and a program that nearly
/// does.
struct ConditionPair {
  std::string name;                          ///< Of the breach, for the name of a test.
  PairedBody broken{};                       ///< The program with the breach.
  PairedBody near{};                         ///< The program without.
  Options options{.devices = 2, .seed = 7};  ///< Of both, unless `near_options` say otherwise.
  /// Why `broken` has the same outcome in every schedule; empty: schedules have two outcomes.
  std::string single_outcome{};
  bool in_a_body = false;  ///< Whether `broken` is explored in the body of an exploration.
  /// The options of `near`, if `options` make the breach.
  Options near_options{options};
  /// The test of the breach, if no program of this library has the breach; then all else is empty.
  std::string elsewhere{};
};

/// The programs for `breach`.
ConditionPair pair_of(Breach breach);

/// The parts of `pair_of`.
ConditionPair device_pair_of(Breach breach);
ConditionPair host_pair_of(Breach breach);
ConditionPair body_pair_of(Breach breach);

/// The results of a run of two replicas: ten times that of replica 0, and that of replica 1.
template <class Replica>
double on_two(Backend& backend, const Replica& replica) {
  MirroredStrategy strategy{backend};
  const auto results = strategy.run([&](ReplicaContext& context) {
    return static_cast<double>(replica(context, context.replica_id()));
  });
  return 10 * results[0] + results[1];
}

/// Lets the schedule choose a different agent. Orders nothing: the stream has no work.
inline void pause(Backend& backend, int device) {
  backend.device(device).communication_stream().synchronize();
}

}  // namespace belfry::sim::testing
