// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The reduction of n buffers in host memory, compared in the same run with loops over the same
// bytes, with the reduction as a user of a matrix library writes the sum, and with other orders and
// types.
//
// Every counter is a ratio: how many times as long the baseline takes. `of_NAME` is
// the share that the reduction reaches of the speed of NAME; `pairwise` and `eigen` are the factors
// by which the reduction is faster. Counters are medians over rounds in which all loops are timed
// in turn; `_q1` and `_q3` are the quartiles. The comment of each benchmark names the goal.

#include "belfry/backend/host_kernels.h"
#include "kernels/byte_moves_bench.h"
#include "kernels/paired_bench.h"

#include <Eigen/Core>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace belfry {
namespace {

using bench::Arena;
using bench::ByteMoves;
using bench::Comparison;

/// N inputs and N outputs of small integers, and the reduction of the inputs.
template <class T>
class Replicas {
 public:
  Replicas(std::size_t n, std::size_t bytes)
      : n_(n), count_(bytes / sizeof(T)), arena_(2 * n, bytes) {
    if (!arena_.is_allocated()) return;
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < count_; ++i) in(k)[i] = T(static_cast<float>((i + k) % 64));
    }
  }

  bool is_allocated() const { return arena_.is_allocated(); }
  std::size_t count() const { return count_; }
  T* in(std::size_t k) const { return arena_.template at<T>(k); }
  T* out(std::size_t k) const { return arena_.template at<T>(n_ + k); }

  KernelCall all_reduce(ReductionOrder order = ReductionOrder::kReplicaOrder) const {
    KernelCall call;
    call.kind = KernelKind::kReduceReplicas;
    call.parameters.order = order;
    for (std::size_t k = 0; k < n_; ++k) {
      call.inputs.push_back({in(k), count_, dtype_of<T>()});
      call.outputs.push_back({out(k), count_, dtype_of<T>()});
    }
    return call;
  }

  ByteMoves byte_moves() const {
    ByteMoves moves{{}, {}, count_ * sizeof(T)};
    for (std::size_t k = 0; k < n_; ++k) {
      moves.in.push_back(reinterpret_cast<std::byte*>(in(k)));
      moves.out.push_back(reinterpret_cast<std::byte*>(out(k)));
    }
    return moves;
  }

 private:
  std::size_t n_;
  std::size_t count_;
  Arena arena_;
};

// Skips the benchmark if memory was not allocated, with a message.
bool skips(benchmark::State& state, bool allocated) {
  if (!allocated) state.SkipWithError("not enough memory");
  return !allocated;
}

// GOAL-10: the reduction reaches most of the speed of a copy of every input to its output. The copy
// is also the limit of `pairwise` (GOAL-13: 8 replicas of 256 KiB) and of `half` (GOAL-15).
template <class T>
void all_reduce(benchmark::State& state) {
  const Replicas<T> replicas(state.range(0), state.range(1));
  if (skips(state, replicas.is_allocated())) return;
  const KernelCall call = replicas.all_reduce();
  const ByteMoves moves = replicas.byte_moves();
  const Comparison comparison(state, {[&] { run_on_host(call); }, [&] { moves.copy(); },
                                      [&] { moves.stream(); }, [&] { moves.memcpy_all(); }});
  comparison.report("of_copy", {1, 2});
  comparison.report("of_memcpy", {3});
}

// GOAL-10 at sizes that just fill the second-level cache, with a read of the outputs afterwards.
// Stores that bypass the caches end sooner, but the reader then waits for the memory.
void all_reduce_and_read(benchmark::State& state) {
  const Replicas<float> replicas(state.range(0), state.range(1));
  if (skips(state, replicas.is_allocated())) return;
  const KernelCall call = replicas.all_reduce();
  const ByteMoves moves = replicas.byte_moves();
  const ByteMoves outputs{moves.out, {}, moves.bytes};
  const auto read = [&] { benchmark::DoNotOptimize(outputs.read()); };
  const auto then_read = [&](auto&& write) {
    return [write, read] {
      write();
      read();
    };
  };
  const Comparison comparison(
      state, {then_read([&] { run_on_host(call); }), then_read([&] { moves.copy(); }),
              then_read([&] { moves.stream(); })});
  comparison.report("of_copy_and_read", {1, 2});
  comparison.report("of_stream_and_read", {2});
}

// GOAL-12: a reduction in place. The baseline multiplies every buffer in place.
void in_place(benchmark::State& state) {
  const Replicas<float> replicas(state.range(0), state.range(1));
  if (skips(state, replicas.is_allocated())) return;
  KernelCall call = replicas.all_reduce();
  call.outputs = call.inputs;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    std::fill_n(replicas.in(k), replicas.count(), 0.0F);  // Sums would grow from run to run.
  }
  const ByteMoves moves = replicas.byte_moves();
  const Comparison comparison(state, {[&] { run_on_host(call); }, [&] { moves.scale(); }});
  comparison.report("of_scale", {1});
}

// GOAL-13: the baseline is written with a matrix library, with a pass over memory for each
// replica.
void pairwise(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Replicas<float> replicas(n, state.range(1));
  const Arena scratch(1, state.range(1));
  if (skips(state, replicas.is_allocated() && scratch.is_allocated())) return;
  const KernelCall call = replicas.all_reduce();
  const auto map = [&](float* data) {
    return Eigen::Map<Eigen::ArrayXf>(data, static_cast<Eigen::Index>(replicas.count()));
  };
  const auto naive = [&] {
    auto sum = map(scratch.at<float>(0));
    sum = map(replicas.in(0));
    for (std::size_t k = 1; k < n; ++k) sum += map(replicas.in(k));
    for (std::size_t k = 0; k < n; ++k) map(replicas.out(k)) = sum;
  };
  const Comparison comparison(state, {[&] { run_on_host(call); }, naive});
  comparison.report("pairwise", {1});
}

// GOAL-14: tree and ring order. The baseline is replica order.
void orders(benchmark::State& state, ReductionOrder order) {
  const Replicas<float> replicas(state.range(0), state.range(1));
  if (skips(state, replicas.is_allocated())) return;
  const KernelCall call = replicas.all_reduce(order);
  const KernelCall canonical = replicas.all_reduce();
  const Comparison comparison(state, {[&] { run_on_host(call); }, [&] { run_on_host(canonical); }});
  comparison.report("of_replica_order", {1});
}

// GOAL-15: 16-bit types. The baselines are the reduction of as many floats, Eigen's arithmetic on
// the same type, and a read of the inputs. With a single output; and with as many outputs as
// inputs, where copies of the result take most of the time.
template <class T, class Theirs>
void half(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto count = static_cast<std::size_t>(state.range(1));
  const Replicas<T> replicas(n, count * sizeof(T));
  const Replicas<float> floats(n, count * sizeof(float));
  if (skips(state, replicas.is_allocated() && floats.is_allocated() && n == 8)) return;
  const auto outputs = static_cast<std::size_t>(state.range(2));
  KernelCall call = replicas.all_reduce();
  KernelCall wide = floats.all_reduce();
  call.outputs.resize(outputs);
  wide.outputs.resize(outputs);
  const auto in = [&](std::size_t k) {
    return Eigen::Map<Eigen::Array<Theirs, Eigen::Dynamic, 1>>(
        reinterpret_cast<Theirs*>(replicas.in(k)), static_cast<Eigen::Index>(count));
  };
  const auto expression = [&] {
    Eigen::Map<Eigen::Array<Theirs, Eigen::Dynamic, 1>> out(
        reinterpret_cast<Theirs*>(replicas.out(0)), static_cast<Eigen::Index>(count));
    out = in(0) + in(1) + in(2) + in(3) + in(4) + in(5) + in(6) + in(7);
    for (std::size_t k = 1; k < outputs; ++k) {
      std::memcpy(replicas.out(k), replicas.out(0), count * sizeof(T));
    }
  };
  const ByteMoves moves = replicas.byte_moves();
  const auto read = [&] { benchmark::DoNotOptimize(moves.read()); };
  const Comparison comparison(
      state, {[&] { run_on_host(call); }, [&] { run_on_host(wide); }, expression, read});
  comparison.report("of_float32", {1});
  comparison.report("eigen", {2});
  comparison.report("of_read", {3});
}

// Many replicas, reduced tile by tile. The baseline is a copy.
void many(benchmark::State& state) { all_reduce<float>(state); }

void settings(benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(31);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  settings(benchmark);
  for (const std::int64_t n : {2, 4, 8, 16}) {
    for (const std::int64_t kib : {16, 64, 256, 1024, 4096, 16384, 65536, 262144}) {
      benchmark->Args({n, kib << 10});
    }
  }
}

void second_level_sizes(benchmark::internal::Benchmark* benchmark) {
  settings(benchmark);
  for (const std::int64_t n : {2, 4, 8, 16}) benchmark->Args({n, (2 << 20) / n});
}

void few_sizes(benchmark::internal::Benchmark* benchmark) {
  settings(benchmark);
  for (const std::int64_t n : {2, 4, 8}) {
    for (const std::int64_t kib : {16, 256, 4096, 65536}) benchmark->Args({n, kib << 10});
  }
}

void half_sizes(benchmark::internal::Benchmark* benchmark) {
  settings(benchmark);
  for (const std::int64_t outputs : {1, 8}) {
    for (const std::int64_t count : {1 << 16, 1 << 24}) benchmark->Args({8, count, outputs});
  }
}

void many_sizes(benchmark::internal::Benchmark* benchmark) {
  settings(benchmark);
  benchmark->Args({64, 1 << 20})->Args({256, 65536})->Args({1024, 65536})->Args({1024, 1 << 20});
}

BENCHMARK_TEMPLATE(all_reduce, float)->Apply(sizes);
BENCHMARK_TEMPLATE(all_reduce, Float16)->Apply(settings)->Args({8, 2 << 24});
BENCHMARK(all_reduce_and_read)->Apply(second_level_sizes);
BENCHMARK(in_place)->Apply(sizes);
BENCHMARK(pairwise)
    ->Apply(settings)
    ->Args({8, 16 << 10})
    ->Args({8, 256 << 10})
    ->Args({8, 64 << 20});
BENCHMARK_CAPTURE(orders, tree, ReductionOrder::kTree)->Apply(few_sizes);
BENCHMARK_CAPTURE(orders, ring, ReductionOrder::kRing)->Apply(few_sizes);
BENCHMARK_TEMPLATE(half, Float16, Eigen::half)->Apply(half_sizes);
BENCHMARK_TEMPLATE(half, BFloat16, Eigen::bfloat16)->Apply(half_sizes);
BENCHMARK(many)->Apply(many_sizes);

}  // namespace
}  // namespace belfry
