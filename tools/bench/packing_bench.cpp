// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions of many tensors: as a batch, in packs, and with a merge for each tensor.
//
// Every counter is a ratio of neighbours in time (core/src/kernels/paired_bench.h): how many times
// as long a different way takes. BM_Batch is the time of a batch on the communicator of the
// simulator, BM_Packs the time of a batch in packs for the algorithm.

#include "belfry/belfry.h"
#include "belfry/cross_device_ops.h"
#include "belfry/sim/backend.h"
#include "kernels/paired_bench.h"

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry {
namespace {

using Row = Tensor<float>;
using Rows = std::vector<Row>;

// Tensors of equal length on each replica, with their strategy.
class Batch {
 public:
  Batch(benchmark::State& state, StrategyOptions options)
      : backend_({.devices = static_cast<int>(state.range(0)), .record_limit = 1024, .seed = 1}),
        strategy_(backend_, std::move(options)),
        rows_(strategy_.run([&](ReplicaContext&) {
          Rows own;
          for (std::int64_t i = 0; i < state.range(1); ++i) {
            own.push_back(Row::full({state.range(2) / 4}, 1.0F));
          }
          return own;
        })) {}

  // A single merge for all tensors.
  void together() {
    finish([](ReplicaContext& replica, const Rows& rows) {
      const auto reduce = [](CrossReplicaContext& cross, const PerReplica<Rows>& all) {
        return std::get<0>(cross.batch_reduce(ReduceOp::kSum, all));
      };
      return replica.merge_call(reduce, rows);
    });
  }
  // A merge for each tensor.
  void apart() {
    finish([](ReplicaContext& replica, const Rows& rows) {
      const auto reduce = [](CrossReplicaContext& cross, const PerReplica<Row>& row) {
        return cross.reduce(ReduceOp::kSum, row);
      };
      Rows sums;
      for (const Row& row : rows) sums.push_back(replica.merge_call(reduce, row));
      return sums;
    });
  }

 private:
  template <class F>
  void finish(const F& reduce) {
    const auto sums = strategy_.run(reduce, rows_);
    strategy_.cross_replica().group(sums).wait();
  }

  sim::Backend backend_;
  MirroredStrategy strategy_;
  PerReplica<Rows> rows_;
};

// The process keeps freed memory, as after the first large block that it frees: glibc would give
// some MiB back at the end of each round, and the next round would begin with page faults.
void keep_freed_memory() {
  mallopt(M_TRIM_THRESHOLD, 1 << 28);
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
}

void BM_Batch(benchmark::State& state) {
  if (state.range(3) != 0) keep_freed_memory();
  Batch batch(state, {});
  Batch packed(state, {.cross_device_ops = in_packs(std::make_shared<NativeAllReduce>())});
  const bench::Comparison comparison(
      state, {[&] { batch.together(); }, [&] { packed.together(); }, [&] { batch.apart(); }});
  comparison.report("packed", {1});
  comparison.report("apart", {2});
}
// 1,000 tensors of 400 bytes, then fewer and larger tensors.
BENCHMARK(BM_Batch)
    ->ArgNames({"replicas", "tensors", "bytes", "kept"})
    ->Args({8, 1000, 400, 0})
    ->Args({8, 1000, 400, 1})
    ->Args({2, 1000, 400, 1})
    ->Args({8, 1000, 4096, 1})
    ->Args({8, 100, 1 << 16, 1})
    ->Args({8, 8, 1 << 20, 1})
    ->UseManualTime()
    ->Iterations(31);

template <class Algorithm>
void BM_Packs(benchmark::State& state) {
  keep_freed_memory();
  const auto algorithm = std::make_shared<Algorithm>();
  Batch packed(state, {.cross_device_ops = in_packs(
                           algorithm, {.bytes_per_tensor = 0, .bytes_per_pack = state.range(3)})});
  Batch plain(state, {.cross_device_ops = algorithm});
  const bench::Comparison comparison(state,
                                     {[&] { packed.together(); }, [&] { plain.together(); }});
  comparison.report("plain", {1});
}
void packs(benchmark::internal::Benchmark* benchmark) {
  for (const int limit : {1 << 16, 1 << 22}) {
    benchmark->Args({8, 300, 400, limit});
    benchmark->Args({8, 100, 4096, limit});
    benchmark->Args({8, 32, 1 << 15, limit});
    benchmark->Args({8, 8, 1 << 20, limit});
  }
  benchmark->ArgNames({"replicas", "tensors", "bytes", "limit"})->UseManualTime()->Iterations(11);
}
BENCHMARK(BM_Packs<ReductionToOneDevice>)->Apply(packs);
BENCHMARK(BM_Packs<RingAllReduce>)->Apply(packs);
BENCHMARK(BM_Packs<TreeAllReduce>)->Apply(packs);
BENCHMARK(BM_Packs<HalvingDoublingAllReduce>)->Apply(packs);
BENCHMARK(BM_Packs<ShuffleAllReduce>)->Apply(packs);
BENCHMARK(BM_Packs<HierarchicalAllReduce>)->Apply(packs);

}  // namespace
}  // namespace belfry
