// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of docs/debugging.md and of gdb_test.sh for the commands of gdb.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <atomic>
#include <cstdlib>
#include <string>

using namespace belfry;

namespace {

bool crashes = false;

// The test stops the program here; the page interrupts the program with Ctrl-C.
[[gnu::noinline]] void look_again() {
  if (crashes) std::abort();
}

// [program]
std::atomic<bool> has_loss = false;

[[gnu::noinline]] void share(ReplicaContext& replica, double loss) {
  const double mean = replica.all_reduce(ReduceOp::kMean, loss, MergeTag{"loss"});
  if (mean > 0) has_loss = true;
}

void train(Strategy& strategy) {
  strategy.run([](ReplicaContext& replica) {
    const int id = replica.replica_id();
    if (id == 0) return;
    if (id == 2) {
      while (!has_loss) look_again();  // The mistake: replica 1 waits for replica 2.
    }
    share(replica, 0.5 + id);
  });
}
// [program]

// A run in a merge of a run.
void train_in_merge(Strategy& strategy) {
  strategy.run([&](ReplicaContext& replica) {
    replica.merge_call([](CrossReplicaContext& cross) { train(cross.strategy()); });
  });
}

// Replicas wait for their devices.
void fetch(Strategy& strategy) {
  strategy.run([](ReplicaContext&) {
    const auto ones = Tensor<float>::full({2}, 1.0F);
    if (ones.to_host()[0] == 1) look_again();
  });
}

}  // namespace

// Takes the argument `fiber`, `baton`, `concurrent`, `within`, `fetch` or `crash`.
int main(int, char** argv) {
  const std::string mode = argv[1];
  crashes = mode == "crash";
  sim::Options options{.devices = 4, .schedule = sim::Schedule::fixed()};
  if (mode == "baton") options.carrier = sim::Carrier::kBaton;
  if (mode == "concurrent") options.carrier = sim::Carrier::kConcurrent;
  sim::Backend backend{options};
  MirroredStrategy strategy{backend};
  (mode == "within" ? train_in_merge : mode == "fetch" ? fetch : train)(strategy);
}
