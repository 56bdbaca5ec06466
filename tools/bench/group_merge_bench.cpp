// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A merge of a group on the simulator, with all features on, beside a merge of all replicas of a
// strategy with as many replicas. Both are timed in turn in one run, in processor time.
// `ours/base` says how many times as long the merge of the group takes; the limit is 1.1.

#include "backend/testing/paired.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace belfry {
namespace {

constexpr int kMembers = 4;

enum class Who {
  kAll,       // The replicas of a strategy.
  kGroup,     // A group of as many of twice as many replicas; the rest return at once.
  kTwoGroups  // Two such groups at the same time.
};

struct NumberMerge {
  using Value = double;
  int rounds() const { return 50'000; }
  double start() const { return 1; }
  void operator()(const ReplicaContext& replica, double& value) const {
    value = replica.merge_call(total, value) * 0x1p-10;
  }
  static double total(CrossReplicaContext&, const PerReplica<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }
};

// Each round waits for the tensor: streams are lazy.
struct TensorMerge {
  using Value = Tensor<float>;
  std::int64_t elements;
  int rounds() const {
    return static_cast<int>(std::clamp<std::int64_t>((1 << 25) / elements, 8, 2'000));
  }
  Tensor<float> start() const { return Tensor<float>::full({elements}, 1); }
  void operator()(const ReplicaContext& replica, Tensor<float>& value) const {
    value = replica.all_reduce(ReduceOp::kMean, std::move(value));
    benchmark::DoNotOptimize(slice(value, Axis(0), 0, 1).to_host());
  }
};

template <class Merge>
class Merges {
 public:
  // With `anew`, each merge makes the context of the group.
  Merges(Merge merge, Who who, bool anew)
      : merge_(merge),
        who_(who),
        anew_(anew),
        backend_({.devices = who == Who::kAll ? kMembers : 2 * kMembers,
                  .digests = sim::Digests::kNone,
                  .record_limit = 4096,
                  .seed = 1}),
        strategy_(backend_) {}

  // Processor time of a merge, in a run of many merges.
  double seconds() {
    const double run = testing::cpu_seconds([this] {
      if (who_ == Who::kAll) {
        strategy_.run([this](ReplicaContext& replica) { go_round(replica); });
      } else {
        run_groups();
      }
    });
    return run / merge_.rounds() / (who_ == Who::kTwoGroups ? 2 : 1);
  }

 private:
  void run_groups() {
    const ReplicaGroups groups = strategy_.groups({{0, 1, 2, 3}, {4, 5, 6, 7}});
    strategy_.run([&](ReplicaContext& replica) {
      if (who_ == Who::kGroup && groups.group_of(replica.replica_id()) != 0) return;
      if (!anew_) return go_round(replica.in(groups));
      typename Merge::Value value = merge_.start();
      for (int round = 0; round < merge_.rounds(); ++round) merge_(replica.in(groups), value);
    });
  }

  void go_round(const ReplicaContext& replica) {
    typename Merge::Value value = merge_.start();
    for (int round = 0; round < merge_.rounds(); ++round) merge_(replica, value);
  }

  Merge merge_;
  Who who_;
  bool anew_;
  sim::Backend backend_;
  MirroredStrategy strategy_;
};

template <class Merge>
void compare(benchmark::State& state, const Merge& merge) {
  Merges<Merge> group(merge, static_cast<Who>(state.range(0)), state.range(1) != 0);
  Merges<Merge> all(merge, Who::kAll, false);
  testing::report_ratio(state, [&] { return group.seconds(); }, [&] { return all.seconds(); });
}

void BM_NumberOfGroup(benchmark::State& state) { compare(state, NumberMerge{}); }
void BM_TensorOfGroup(benchmark::State& state) {
  compare(state, TensorMerge{.elements = state.range(2)});
}

constexpr auto kOneGroup = static_cast<std::int64_t>(Who::kGroup);
constexpr auto kBoth = static_cast<std::int64_t>(Who::kTwoGroups);

BENCHMARK(BM_NumberOfGroup)
    ->ArgNames({"groups", "anew"})
    ->Args({kOneGroup, 0})
    ->Args({kBoth, 0})
    ->Args({kOneGroup, 1})
    ->UseManualTime()
    ->Iterations(15);
BENCHMARK(BM_TensorOfGroup)
    ->ArgNames({"groups", "anew", "elements"})
    ->Args({kOneGroup, 0, 256})
    ->Args({kBoth, 0, 256})
    ->Args({kOneGroup, 0, 1 << 16})
    ->Args({kOneGroup, 0, 1 << 22})
    ->UseManualTime()
    ->Iterations(15);

}  // namespace
}  // namespace belfry
