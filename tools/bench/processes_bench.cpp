// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Strategies over processes of MPI, against MPI alone:
//
//     mpirun -n 2 build/release/bin/processes_bench
//
// All processes run the same benchmarks with the same numbers of rounds, with a replica each.
// Process 0 reports. BM_Merge compares a merge without data with two MPI_Allgather of 16 bytes,
// BM_AllReduce the all_reduce of a tensor with MPI_Allreduce out of place. Times are wall times:
// `mpi/ours` is the median quotient of a round, with the quartiles; `least` is the quotient of the
// least times, which busy machines disturb least.

#include "belfry/belfry.h"
#include "belfry/mpi/group.h"
#include "belfry/sim/backend.h"

#include <benchmark/benchmark.h>
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace belfry {
namespace {

// The group of all benchmarks; null in a process alone.
mpi::Group* g_group = nullptr;

constexpr int kRounds = 31;

// Seconds of one of `repetitions`. All processes begin together.
template <class Work>
double seconds_of(std::int64_t repetitions, const Work& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
  return all.count() / static_cast<double>(repetitions);
}

double at(std::vector<double> values, std::size_t quarters) {
  std::ranges::sort(values);
  return values[(values.size() - 1) * quarters / 4];
}

template <class Ours, class Theirs>
void compare(benchmark::State& state, const Ours& ours, const Theirs& theirs) {
  std::vector<double> own;
  std::vector<double> others;
  std::vector<double> quotients;
  ours();
  theirs();
  for ([[maybe_unused]] auto _ : state) {
    others.push_back(theirs());
    own.push_back(ours());
    quotients.push_back(others.back() / own.back());
    state.SetIterationTime(own.back());
  }
  state.counters["mpi_ns"] = 1e9 * at(others, 2);
  state.counters["mpi/ours"] = at(quotients, 2);
  state.counters["mpi/ours_q1"] = at(quotients, 1);
  state.counters["mpi/ours_q3"] = at(quotients, 3);
  state.counters["least"] = at(others, 0) / at(own, 0);
}

void BM_Merge(benchmark::State& state) {
  constexpr std::int64_t kMerges = 1000;
  sim::Backend backend({.devices = 1, .record_limit = 1024, .seed = 1});
  MultiWorkerMirroredStrategy strategy(backend, *g_group);
  const auto merge = [&] {
    strategy.run([&](ReplicaContext& replica) {
      for (std::int64_t i = 0; i < kMerges; ++i) replica.merge_call([](CrossReplicaContext&) {});
    });
  };
  std::array<std::byte, 16> own{};
  std::vector<std::byte> all(own.size() * static_cast<std::size_t>(g_group->size()));
  const auto gather_twice = [&] {
    for (std::int64_t i = 0; i < 2 * kMerges; ++i) {
      MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_BYTE, all.data(),
                    static_cast<int>(own.size()), MPI_BYTE, MPI_COMM_WORLD);
    }
  };
  compare(
      state, [&] { return seconds_of(kMerges, merge); },
      [&] { return seconds_of(kMerges, gather_twice); });
}
BENCHMARK(BM_Merge)->UseManualTime()->Iterations(kRounds);

void BM_AllReduce(benchmark::State& state) {
  const std::int64_t floats = state.range(0) / 4;
  const auto order = static_cast<ReductionOrder>(state.range(1));
  const auto repetitions = std::clamp<std::int64_t>((1 << 24) / state.range(0), 2, 500);
  sim::Backend backend({.devices = 1, .record_limit = 1024, .seed = 1});
  MultiWorkerMirroredStrategy strategy(backend, *g_group, {.order = order});
  const auto reduce = [&] {
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      const auto mine = Tensor<float>::full({floats}, 1.0F);
      Tensor<float> sum;
      for (std::int64_t i = 0; i < repetitions; ++i) sum = replica.all_reduce(ReduceOp::kSum, mine);
      return sum;
    });
    strategy.cross_replica().group(sums).wait();
  };
  const std::vector<float> input(static_cast<std::size_t>(floats), 1.0F);
  std::vector<float> output(input.size());
  const auto reduce_by_mpi = [&] {
    for (std::int64_t i = 0; i < repetitions; ++i) {
      MPI_Allreduce(input.data(), output.data(), static_cast<int>(floats), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    }
  };
  compare(
      state, [&] { return seconds_of(repetitions, reduce); },
      [&] { return seconds_of(repetitions, reduce_by_mpi); });
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const auto order : {ReductionOrder::kReplicaOrder, ReductionOrder::kUnspecified}) {
    for (int bytes = 1 << 10; bytes <= 1 << 26; bytes *= 4) {
      benchmark->Args({bytes, static_cast<int>(order)});
    }
  }
  benchmark->ArgNames({"bytes", "order"})->UseManualTime()->Iterations(kRounds);
}
BENCHMARK(BM_AllReduce)->Apply(sizes);

class SilentReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

void run(int argc, char** argv) {
  mpi::Group group(argc, argv);
  if (group.size() == 1) {
    std::puts("a process alone: start this program with mpirun -n 2, or more");
    return;
  }
  g_group = &group;
  benchmark::Initialize(&argc, argv);
  SilentReporter silent;
  benchmark::RunSpecifiedBenchmarks(group.rank() == 0 ? nullptr : &silent);
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  // Freed memory stays in the process: see packing_bench.cpp.
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  belfry::run(argc, argv);
}
