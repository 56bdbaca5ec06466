// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Lab 3, other changes of the starter: docs/labs/last_batch.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <cmath>
#include <iostream>
#include <numeric>
#include <vector>

using namespace belfry;
namespace {

using Share = std::vector<double>;

/// The numbers and the policy that a change of the starter replaces.
struct Change {
  int batch = 4;
  EndOfData end_of_data = EndOfData::kPadWithEmpties;
};

/// Prints the means that a replica function gives, or the error, after a name.
template <class F>
void print(const char* name, const F& function, const Change& change = {}) {
  std::cout << "== " << name << '\n';
  sim::Backend backend{{.devices = 2, .schedule = sim::Schedule::fixed()}};
  MirroredStrategy strategy{backend};
  const auto batches = Dataset<double>::from({1, 2, 3, 4, 5}).batch(change.batch);
  try {
    for (const auto& step :
         strategy.distribute_dataset(batches, {.end_of_data = change.end_of_data})) {
      const PerReplica<double> means = strategy.run(function, step);
      // Processors differ in the sign of 0 / 0.
      std::cout << "mean " << std::abs(means[0]) << '\n';
    }
  } catch (const Error& error) {
    std::cout << error.what() << '\n';
  }
}

double sum_of(const Share& share) { return std::accumulate(share.begin(), share.end(), 0.0); }

double size_of(const Share& share) { return static_cast<double>(share.size()); }

double two_merges(ReplicaContext& replica, const Share& share) {
  // [two_merges]
  if (share.empty()) return replica.all_reduce(ReduceOp::kMean, 0.0);
  double sum = 0;
  for (double example : share) sum += example;
  return replica.all_reduce(ReduceOp::kMean, sum / static_cast<double>(share.size()));
  // [two_merges]
}

double starter(ReplicaContext& replica, const Share& share) {
  if (share.empty()) return 0;
  return replica.all_reduce(ReduceOp::kMean, sum_of(share) / size_of(share));
}

double no_branch(ReplicaContext& replica, const Share& share) {
  return replica.all_reduce(ReduceOp::kMean, sum_of(share) / size_of(share));
}

double divided_by_4(ReplicaContext& replica, const Share& share) {
  return replica.all_reduce(ReduceOp::kSum, sum_of(share)) / 4;
}

double divided_by_share(ReplicaContext& replica, const Share& share) {
  return replica.all_reduce(ReduceOp::kSum, sum_of(share)) / size_of(share);
}

double answer(ReplicaContext& replica, const Share& share) {
  const double total = replica.all_reduce(ReduceOp::kSum, sum_of(share));
  return total / replica.all_reduce(ReduceOp::kSum, size_of(share));
}

}  // namespace

int main() {
  print("two_merges", two_merges);
  print("starter_of_5", starter, {.batch = 5});
  print("answer_of_5", answer, {.batch = 5});
  print("no_branch", no_branch);
  print("dropped", starter, {.end_of_data = EndOfData::kDropPartialStep});
  print("divided_by_4", divided_by_4);
  print("divided_by_share", divided_by_share);
  print("masked", starter, {.end_of_data = EndOfData::kMaskReplicas});
  print("masked_of_3", starter, {.batch = 3, .end_of_data = EndOfData::kMaskReplicas});
}
