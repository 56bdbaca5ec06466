// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Memory and allocations of steps after a warm-up, and the cost of many replicas, through the whole
// library. Nothing is compared with a baseline: the counters are absolute, the comment of each
// benchmark has the limit, and a benchmark that exceeds a limit of require_at_most ends the
// program.

#include "backend/testing/allocation_counter.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belfry {
namespace {

double page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Ends the program with an exception: a skipped benchmark would leave the exit status 0.
void require_at_most(double limit, double measured, const std::string& what) {
  if (measured <= limit) return;
  throw std::runtime_error(what + ": " + std::to_string(measured) + ", and at most " +
                           std::to_string(limit) + " is the goal");
}

// Limit of the log: a full log goes on hashing and stops growing.
constexpr std::size_t kRecords = 4096;

double total(CrossReplicaContext&, const PerReplica<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// GOAL-20: at most one allocation for a merge_call with plain arguments.
void BM_AllocationsOfMergeCall(benchmark::State& state) {
  sim::Backend backend{
      {.devices = 8, .digests = sim::Digests::kNone, .record_limit = kRecords, .seed = 1}};
  MirroredStrategy strategy{backend};
  double allocations = 0;
  constexpr int kRounds = 1000;
  for ([[maybe_unused]] auto _ : state) {
    strategy.run([&](ReplicaContext& replica) {
      double value = 1;
      for (int round = 0; round < 500; ++round) value = replica.merge_call(total, value) / 8;
      const auto before = testing::allocations();
      for (int round = 0; round < kRounds; ++round) value = replica.merge_call(total, value) / 8;
      if (replica.replica_id() == 0) {
        allocations = static_cast<double>(testing::allocations() - before) / kRounds;
      }
      return value;
    });
  }
  state.counters["allocations/merge"] = allocations;
  require_at_most(1, allocations, "allocations of a merge_call");
}
BENCHMARK(BM_AllocationsOfMergeCall)->Iterations(3);

// GOAL-20: no page fault and no growth of the heap for an all_reduce of tensors after the warm-up.
// Each step reads a loss as well, as training does: streams are lazy, and without a wait the memory
// in flight would follow the drawn schedule.
void BM_PagesOfAllReduce(benchmark::State& state) {
  constexpr int kWarming = 200;
  constexpr int kSteps = 100;
  sim::Backend backend{
      {.devices = 8, .digests = sim::Digests::kNone, .record_limit = kRecords, .seed = 1}};
  MirroredStrategy strategy{backend};
  const std::vector<float> values(static_cast<std::size_t>(state.range(0)), 1.0F);
  struct Pages {
    double faults = 0;
    double resident = 0;
  };
  Pages first;
  Pages last;
  for ([[maybe_unused]] auto _ : state) {
    strategy.run([&](ReplicaContext& replica) {
      Tensor<float> tensor = Tensor<float>::from({state.range(0)}, values);
      std::vector<float> loss{1.0F};
      for (int step = 0; step < kWarming + kSteps; ++step) {
        if (replica.replica_id() == 0 && step == kWarming)
          first = {page_faults(), resident_bytes()};
        tensor = replica.all_reduce(ReduceOp::kMean, tensor);
        loss = replica.all_reduce(ReduceOp::kMean, Tensor<float>::from({1}, loss)).to_host();
      }
      if (replica.replica_id() == 0) last = {page_faults(), resident_bytes()};
      return loss.front();
    });
  }
  state.counters["faults/all_reduce"] = (last.faults - first.faults) / kSteps;
  state.counters["bytes/all_reduce"] = (last.resident - first.resident) / kSteps;
  require_at_most(0, last.faults - first.faults, "page faults of warm all_reduces");
  require_at_most(0, last.resident - first.resident, "growth in warm all_reduces");
}
BENCHMARK(BM_PagesOfAllReduce)->Arg(4096)->Arg(1 << 18)->Iterations(5);

// GOAL-25: memory of a mirrored variable of eight replicas, as a multiple of a component: before
// any write, at most 1.1 if copies share their bytes, and after an update of all components.
void BM_MemoryOfAMirroredVariable(benchmark::State& state) {
  constexpr int kReplicas = 8;
  const std::int64_t count = state.range(0);
  const double one = static_cast<double>(count) * sizeof(float);
  double unmodified = 0;
  double updated = 0;
  for ([[maybe_unused]] auto _ : state) {
    sim::Backend backend{
        {.devices = kReplicas, .share_copies = state.range(1) != 0, .record_limit = kRecords}};
    MirroredStrategy strategy{backend};
    const double before = resident_bytes();
    auto table =
        strategy.mirrored_variable(random_uniform<float>({1, count}, 1, 0, strategy.placement(0)));
    const auto read = [&](ReplicaContext& replica) {
      return row_sum(table.on(replica)).to_host().front();
    };
    const PerReplica<float> sums = strategy.run(read);
    if (sums[kReplicas - 1] != sums[0]) throw std::runtime_error("components differ");
    unmodified = resident_bytes() - before;
    strategy.cross_replica().update(table, [](Tensor<float>& own) { own = own + 1.0F; });
    strategy.run(read);
    updated = resident_bytes() - before;
  }
  state.counters["copies/unmodified"] = unmodified / one;
  state.counters["copies/updated"] = updated / one;
  if (state.range(1) != 0) require_at_most(1.1, unmodified / one, "copies before any write");
}
BENCHMARK(BM_MemoryOfAMirroredVariable)
    ->ArgNames({"floats", "share"})
    ->Args({1 << 24, 1})
    ->Args({1 << 24, 0})
    ->Iterations(1);

// GOAL-8 and GOAL-9: a replica's part of a round among very many replicas, without their start, and
// the memory of each replica while all replicas wait for the first time. For 1,000,000 replicas at
// most 400 ns and 8 KB.
void BM_ManyReplicasMeet(benchmark::State& state) {
  constexpr int kRounds = 5;
  const auto replicas = static_cast<int>(state.range(0));
  sim::Backend backend{{.devices = replicas,
                        .schedule = sim::Schedule::fixed(),
                        .digests = sim::Digests::kNone,
                        .record_limit = 0}};
  MirroredStrategy strategy{backend};
  const double before = resident_bytes();
  double resident = 0;
  std::chrono::steady_clock::time_point first;
  std::chrono::steady_clock::time_point last;
  const auto meet = [&](CrossReplicaContext& cross, const PerReplica<double>& values) {
    last = std::chrono::steady_clock::now();
    return total(cross, values);
  };
  const auto begin = [&](CrossReplicaContext& cross, const PerReplica<double>& values) {
    resident = resident_bytes() - before;
    first = std::chrono::steady_clock::now();
    return total(cross, values);
  };
  for ([[maybe_unused]] auto _ : state) {
    strategy.run([&](ReplicaContext& replica) {
      double sum = replica.merge_call(begin, 1.0);
      for (int round = 0; round < kRounds; ++round) sum = replica.merge_call(meet, 1.0);
      if (sum != replicas) throw std::runtime_error("a wrong sum");
    });
    state.SetIterationTime(std::chrono::duration<double>(last - first).count() / kRounds);
  }
  state.counters["B/replica"] = resident / replicas;
  state.counters["ns/replica/round"] =
      std::chrono::duration<double>(last - first).count() * 1e9 / kRounds / replicas;
}
BENCHMARK(BM_ManyReplicasMeet)
    ->Arg(1000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Iterations(1)
    ->UseManualTime();

}  // namespace
}  // namespace belfry
