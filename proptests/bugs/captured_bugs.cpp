// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables that all replicas capture, and that a replica writes without a merge before the next
// access of a different replica. The comments at the ends of lines mark the two accesses.
#include "belfry/belfry.h"
#include "bug.h"
#include "meet.h"

#include <cstddef>
#include <vector>

namespace belfry::bugs {
namespace {

std::size_t index_of(const ReplicaContext& replica) {
  return static_cast<std::size_t>(replica.replica_id());
}

// A registry lists replicas in the order of their arrival, and a merge goes through the list.
Outcome order_of_registration(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  Outcome names;
  names.reserve(8);
  if (is_correct) names.resize(2);
  strategy.run([&](ReplicaContext& replica) {
    if (is_correct) {
      names[index_of(replica)] = replica.replica_id();
    } else {
      names.push_back(replica.replica_id());  // bug 6, accesses 1 and 2
    }
    meet(replica);
  });
  return names;
}

// Replica 0 clears a common bucket, in which replica 1 has a gradient.
Outcome gradient_lost_in_rebuilt_bucket(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  Outcome bucket{0, 0};
  strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) {
      for (double& slot : bucket) slot = 0;  // bug 33, access 1
    }
    if (is_correct) meet(replica);
    if (replica.replica_id() == 1) bucket[1] += 5;  // bug 33, access 2
  });
  return bucket;
}

// A sum of floats, in the order of arrival: the 1 is lost if added to the largest value.
Outcome order_of_additions(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  const std::vector<float> parts{1e8F, 1.0F, -1e8F};
  float sum = 0;
  strategy.run([&](ReplicaContext& replica) {
    const float part = parts[index_of(replica)];
    if (is_correct) {
      const float total = replica.all_reduce(ReduceOp::kSum, part);
      if (replica.replica_id() == 0) sum = total;
    } else {
      sum += part;  // bug 40, accesses 1 and 2
    }
  });
  return {static_cast<double>(sum)};
}

// Replica 0 alone initialises statistics that all replicas read.
Outcome statistics_before_initialisation(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  double mean = 0;
  const auto seen = strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) mean = 4;  // bug 43, access 1
    if (is_correct) meet(replica);
    return mean + replica.replica_id();  // bug 43, access 2
  });
  return {seen[0], seen[1]};
}

// Initial values come from a common counter.
Outcome initial_values_from_counter(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  double next = 0;
  const auto initial = strategy.run([&](ReplicaContext& replica) {
    if (is_correct) return 1.0 + replica.replica_id();
    next += 1;    // bug 44, access 1
    return next;  // bug 44, access 2
  });
  return {initial[0], initial[1]};
}

// Noise that must be equal on all replicas is drawn from a common generator.
Outcome noise_from_common_generator(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  double state = 3;
  const double first = 5 * state + 1;
  const auto noise = strategy.run([&](ReplicaContext&) {
    if (is_correct) return first;
    state = 5 * state + 1;  // bug 46, access 1
    return state;           // bug 46, access 2
  });
  return {noise[0], noise[1]};
}

// Replica 0 fills a cache that replica 1 reads.
Outcome cache_without_barrier(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  double vocabulary = 0;
  double size = 0;
  strategy.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) vocabulary = 30;  // bug 53, access 1
    if (is_correct) meet(replica);
    if (replica.replica_id() == 1) size = 2 * vocabulary;  // bug 53, access 2
  });
  return {vocabulary, size};
}

// Replicas take examples from a common position.
Outcome shards_from_common_position(sim::Backend& backend, bool is_correct) {
  MirroredStrategy strategy{backend};
  const Outcome examples{1, 2, 3, 4};
  std::size_t position = 0;
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    if (is_correct) {
      const std::size_t begin = 2 * index_of(replica);
      return examples[begin] + examples[begin + 1];
    }
    const std::size_t begin = position;  // bug 56, access 1
    position = begin + 2;                // bug 56, access 2
    return examples[begin] + examples[begin + 1];
  });
  return {sums[0], sums[1]};
}

}  // namespace

std::vector<Bug> captured_bugs() {
  using enum Effect;
  return {
      {6, "a list in the order of arrival", kDiverges, order_of_registration},
      {33, "a gradient lost in a rebuilt bucket", kDiverges, gradient_lost_in_rebuilt_bucket},
      {.number = 40,
       .name = "additions in the order of arrival",
       .effect = kDiverges,
       .program = order_of_additions,
       // Each two of the replicas race: the report has the two of the judged schedule.
       .agents = {"R0", "R2"},
       .devices = 3},
      {43, "statistics used before their initialisation", kDiverges,
       statistics_before_initialisation},
      {44, "initial values from a common counter", kDiverges, initial_values_from_counter},
      {46, "equal noise drawn from a common generator", kDiverges, noise_from_common_generator},
      {53, "a cache that is read without a barrier", kDiverges, cache_without_barrier},
      {56, "shards taken from a common position", kDiverges, shards_from_common_position},
  };
}

}  // namespace belfry::bugs
