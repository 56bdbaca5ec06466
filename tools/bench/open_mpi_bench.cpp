// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// All-reduces of belfry and of Open MPI in turn, on the same host:
//
//     mpirun -np 2 build/release/bin/open_mpi_bench
//
// Rank 0 runs the benchmarks. All ranks take part in MPI_Allreduce. The replicas of belfry, as many
// as ranks, are fibers on rank 0, while all ranks but rank 0 sleep. The time is belfry's; `mpi_ns`
// is the median time of Open MPI, `mpi/ours` the median quotient of a round, with the quartiles;
// `least` is the quotient of the least times, which busy machines disturb least. Times are wall
// times of an all-reduce out of place.

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"

#include <benchmark/benchmark.h>
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace belfry {
namespace {

// The next work of all ranks: `repetitions` all-reduces of `floats` numbers; 0 of them end a rank.
struct Task {
  std::int64_t floats = 0;
  std::int64_t repetitions = 0;
};

int ranks() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// Sends the task of rank 0 to all ranks, which sleep until then: spinning would take time from
// rank 0.
Task shared(Task task) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&task, 2, MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  while (done == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  return task;
}

template <class Work>
double seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Seconds of an all-reduce, on this rank.
double take_part(const Task& task) {
  const std::vector<float> input(static_cast<std::size_t>(task.floats), 1.0F);
  std::vector<float> output(input.size());
  const int count = static_cast<int>(task.floats);
  const auto reduce = [&] {
    MPI_Allreduce(input.data(), output.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  reduce();
  MPI_Barrier(MPI_COMM_WORLD);
  const double all = seconds([&] {
    for (std::int64_t i = 0; i < task.repetitions; ++i) reduce();
  });
  return all / static_cast<double>(task.repetitions);
}

// Seconds of an all-reduce of tensors, until the last sum is computed.
double of_tensors(MirroredStrategy& strategy, const Task& task) {
  const double all = seconds([&] {
    const auto sums = strategy.run([&](ReplicaContext& replica) {
      const auto mine = Tensor<float>::full({task.floats}, 1.0F);
      Tensor<float> sum;
      for (std::int64_t i = 0; i < task.repetitions; ++i) {
        sum = replica.all_reduce(ReduceOp::kSum, mine);
      }
      return sum;
    });
    strategy.cross_replica().group(sums).wait();
  });
  return all / static_cast<double>(task.repetitions);
}

// Seconds of an all-reduce of lists in host memory.
double of_lists(MirroredStrategy& strategy, const Task& task) {
  const double all = seconds([&] {
    strategy.run([&](ReplicaContext& replica) {
      const std::vector<float> mine(static_cast<std::size_t>(task.floats), 1.0F);
      std::vector<float> sum;
      for (std::int64_t i = 0; i < task.repetitions; ++i) {
        sum = replica.all_reduce(ReduceOp::kSum, mine);
      }
      return sum.back();
    });
  });
  return all / static_cast<double>(task.repetitions);
}

double at(std::vector<double> sorted, std::size_t quarters) {
  std::ranges::sort(sorted);
  return sorted[(sorted.size() - 1) * quarters / 4];
}

template <double (*Ours)(MirroredStrategy&, const Task&)>
void BM_AgainstOpenMpi(benchmark::State& state) {
  sim::Backend backend({.devices = ranks(), .record_limit = 1024, .seed = 1});
  MirroredStrategy strategy(backend);
  Task task{.floats = state.range(0) / 4};
  task.repetitions = std::clamp<std::int64_t>((1 << 24) / state.range(0), 4, 2000);
  std::vector<double> own;
  std::vector<double> others;
  std::vector<double> quotients;
  Ours(strategy, task);
  for ([[maybe_unused]] auto _ : state) {
    others.push_back(take_part(shared(task)));
    own.push_back(Ours(strategy, task));
    quotients.push_back(others.back() / own.back());
    state.SetIterationTime(own.back());
  }
  state.counters["mpi_ns"] = 1e9 * at(others, 2);
  state.counters["mpi/ours"] = at(quotients, 2);
  state.counters["mpi/ours_q1"] = at(quotients, 1);
  state.counters["mpi/ours_q3"] = at(quotients, 3);
  state.counters["least"] = at(others, 0) / at(own, 0);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int bytes : {8, 1 << 10, 1 << 14, 1 << 18, 1 << 22}) benchmark->Args({bytes});
  benchmark->ArgNames({"bytes"})->UseManualTime()->Iterations(31);
}
BENCHMARK(BM_AgainstOpenMpi<of_tensors>)->Name("BM_Tensors")->Apply(sizes);
BENCHMARK(BM_AgainstOpenMpi<of_lists>)->Name("BM_Lists")->Apply(sizes);

void run(int argc, char** argv) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (ranks() == 1) {
    std::puts("one rank alone: start this program with mpirun -np 2, or more");
  } else if (rank == 0) {
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    shared({});
  } else {
    for (Task task = shared({}); task.repetitions > 0; task = shared({})) take_part(task);
  }
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  // Freed memory stays in the process: see packing_bench.cpp.
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  MPI_Init(&argc, &argv);
  belfry::run(argc, argv);
  MPI_Finalize();
}
