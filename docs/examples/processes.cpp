// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the page on processes: two processes of two replicas, on threads.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/testing/thread_group.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace belfry;

namespace {

// [train]
std::string train(Backend& backend, ProcessGroup& group) {
  MultiWorkerMirroredStrategy strategy{backend, group};
  const PerReplica<double> sums = strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, 1.0 + replica.replica_id());
  });
  std::ostringstream text;
  text << "process " << group.rank();
  for (const double sum : sums) text << ", sum " << sum;  // Of the replicas of this process.
  return text.str();
}
// [train]

}  // namespace

int main() {
  // [processes]
  std::vector<std::string> texts(2);
  testing::run_processes(2, [&](ProcessGroup& group) {
    sim::Backend backend{{.devices = 2}};
    texts[group.rank()] = train(backend, group);
  });
  for (const std::string& text : texts) std::cout << text << '\n';
  // [processes]
}
