// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Replicas that decide alone and tell the others by a captured variable. The comments at the ends
// of lines mark the two accesses.
#include "belfry/belfry.h"
#include "bug.h"

#include <vector>

namespace belfry::bugs {
namespace {

// Each replica with a bad number sets a common flag: the same value from each replica.
Outcome flag_of_bad_numbers(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  double found = 0;
  strategy.run([&](ReplicaContext& replica) {
    if (is_correct) {
      const double bad = replica.all_reduce(ReduceOp::kSum, 1.0);
      if (replica.replica_id() == 0) found = bad > 0 ? 1 : 0;
    } else {
      found = 1;  // bug 42, accesses 1 and 2
    }
  });
  return {found};
}

// Each replica saves its own statistics in the same place.
Outcome last_replica_is_saved(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  double saved = 0;
  strategy.run([&](ReplicaContext& replica) {
    const double own = 0.5 + replica.replica_id();
    const double mean = replica.all_reduce(ReduceOp::kMean, own);
    if (is_correct) {
      if (replica.replica_id() == 0) saved = mean;
    } else {
      saved = own;  // bug 49, accesses 1 and 2
    }
  });
  return {saved};
}

// Both replicas fail, and the first failure stays.
Outcome first_failure_stays(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  double failure = -1;
  strategy.run([&](ReplicaContext& replica) {
    const double own = 7.0 + replica.replica_id();
    if (is_correct) {
      const double sum = replica.all_reduce(ReduceOp::kSum, own);
      if (replica.replica_id() == 0) failure = sum;
    } else if (failure < 0) {  // bug 57, access 1
      failure = own;           // bug 57, access 2
    }
  });
  return {failure};
}

// Replica 1 alone finds an overflow, and all skip the update.
Outcome update_skipped_by_some(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  double skip = 0;
  const auto weights = strategy.run([&](ReplicaContext& replica) {
    const bool overflow = replica.replica_id() == 1;
    if (is_correct) {
      const double skips = replica.all_reduce(ReduceOp::kSum, overflow ? 1.0 : 0.0);
      return skips > 0 ? 10.0 : 9.0;
    }
    if (overflow) skip = 1;        // bug 50, access 1
    return skip > 0 ? 10.0 : 9.0;  // bug 50, access 2
  });
  return {weights[0], weights[1]};
}

// Replica 1 halves the scale of losses.
Outcome scale_changed_by_one_replica(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  double scale = 8;
  const auto losses = strategy.run([&](ReplicaContext& replica) {
    if (is_correct) {
      replica.merge_call([&](CrossReplicaContext&) { scale /= 2; });
    } else if (replica.replica_id() == 1) {
      scale /= 2;  // bug 51, access 1
    }
    return scale * 3;  // bug 51, access 2
  });
  return {losses[0], losses[1]};
}

}  // namespace

std::vector<Bug> decision_bugs() {
  using enum Effect;
  return {
      {42, "a flag of bad numbers set by every replica", kRace, flag_of_bad_numbers},
      {49, "statistics of the last replica are saved", kDiverges, last_replica_is_saved},
      {50, "an update skipped by some replicas", kDiverges, update_skipped_by_some},
      {51, "a scale changed by one replica", kDiverges, scale_changed_by_one_replica},
      {57, "the first failure stays", kDiverges, first_failure_stays},
  };
}

}  // namespace belfry::bugs
