// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "lessons.h"

#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/timeline.h"
#include "belfry/strategies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace belfry::demo {
namespace {

constexpr int kReplicas = 2;
constexpr std::uint64_t kSeed = 7;

void print_block(tool::Console& console, const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    console.line("  " + text.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

std::vector<int> reference_example(Backend& backend) {
  MirroredStrategy strategy(backend);
  const PerReplica<int> results = strategy.run(
      [](ReplicaContext& replica, int three) {
        const int v = three + replica.replica_id();
        const int sum = replica.merge_call(
            [](CrossReplicaContext&, const PerReplica<int>& values) {
              return std::accumulate(values.begin(), values.end(), 0);
            },
            v);
        return sum + v;
      },
      3);
  return {results.begin(), results.end()};
}

std::string broken_step(Backend& backend) {
  MirroredStrategy strategy(backend);
  try {
    strategy.run([](ReplicaContext& replica) {
      const int images = replica.replica_id() == 0 ? 1 : 0;
      if (images == 0) return 0;
      return replica.all_reduce(ReduceOp::kSum, images);
    });
  } catch (const MergeMismatchError& error) {
    return describe(error.report());
  }
  return "no error";
}

void show_lessons(BackendKind kind, tool::Console& console) {
  if (console.quiet()) return;
  const DemoBackend demo = make_demo_backend(kind, kReplicas, kSeed);

  console.heading("The reference example: v = 3 + id; each returns merge_call(sum of all v) + v");
  console.line(fmt::format("  {} replicas: {}", kReplicas,
                           fmt::join(reference_example(*demo.backend), " ")));

  console.heading("A mistake: replica 1 has no image left and returns before the all_reduce");
  print_block(console, broken_step(*demo.backend));
  console.line(fmt::format("The same devices afterwards: {}",
                           fmt::join(reference_example(*demo.backend), " ")));

  console.heading("What happened in the reference example, time running down");
  if (kind != BackendKind::kSim) {
    console.line("  a timeline is drawn from the simulator's log: see --backend sim");
    return;
  }
  sim::Backend backend(sim::Options{.devices = kReplicas, .seed = kSeed});
  reference_example(backend);
  print_block(console, sim::timeline(backend.log()));
}

}  // namespace belfry::demo
