// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Values that replicas send one another: docs/exchanges.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>
#include <optional>
#include <utility>
#include <vector>

using namespace belfry;

namespace {

using Tokens = std::vector<int>;

// [experts]
// Replica r is expert r, and takes the tokens whose remainder by the number of replicas is r.
Tokens at_experts(ReplicaContext& replica, const Tokens& tokens) {
  std::vector<Tokens> to_expert(3);
  for (const int token : tokens) to_expert[static_cast<std::size_t>(token % 3)].push_back(token);
  std::vector<Tokens> mine = replica.all_to_all(to_expert);
  for (Tokens& from_replica : mine) {
    for (int& token : from_replica) token += 100 * replica.replica_id();  // The work of the expert.
  }
  // Element j goes back to replica j.
  Tokens done;
  for (const Tokens& part : replica.all_to_all(std::move(mine))) {
    done.insert(done.end(), part.begin(), part.end());
  }
  return done;
}
// [experts]

// [pipeline]
// Replica r is stage r: each step passes values on to the next stage.
std::vector<int> through_stages(ReplicaContext& replica) {
  std::vector<int> results;
  std::optional<int> value;
  for (int step = 0; step < 4; ++step) {
    if (replica.replica_id() == 0) value = step;  // The first stage reads the input.
    if (value) value = 10 * *value + replica.replica_id();
    if (value && replica.replica_id() == 2) results.push_back(*value);
    value = replica.permute(value, {{0, 1}, {1, 2}}).value_or(std::nullopt);
  }
  return results;
}
// [pipeline]

// [sharded]
// The owner of some weights alone has the sum of their gradients, and changes them.
std::vector<float> step_of(ReplicaContext& replica, const std::vector<float>& gradients) {
  std::vector<float> own = replica.reduce_scatter(ReduceOp::kSum, gradients, Axis(0));
  for (float& weight : own) weight = 1 - weight / 4;
  return replica.all_gather(own);
}
// [sharded]

// [root]
// One replica reads the file, cuts it, and collects what the others made of it.
std::optional<Tokens> by_one(ReplicaContext& replica) {
  Tokens read;
  if (replica.replica_id() == 0) read = {1, 2, 3, 4, 5};
  Tokens part = replica.scatter_from(read, Axis(0), 0);
  for (int& token : part) token *= token;
  return replica.gather_to(part, 0);
}
// [root]

}  // namespace

int main() {
  sim::Backend backend{{.devices = 3, .seed = 1}};
  MirroredStrategy strategy{backend};
  const PerReplica<Tokens> tokens{{0, 1, 2, 5}, {4}, {}};
  std::cout << "experts  " << strategy.run(at_experts, tokens) << '\n';
  std::cout << "pipeline " << strategy.run(through_stages) << '\n';
  const auto weights = strategy.run([](ReplicaContext& replica) {
    return step_of(replica, {1, 1, static_cast<float>(replica.replica_id()), 0});
  });
  std::cout << "sharded  " << weights << '\n';
  std::cout << "root     " << strategy.run(by_one) << '\n';
}
