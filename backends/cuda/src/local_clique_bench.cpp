// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The reduction of replicas that share a GPU. Needs a GPU. The baseline is a copy of 256 MiB in the
// same run, too large for any cache of a GPU. Both count each byte that they read or write once.
// Counters of a reduction:
//
//     of_copy  bytes a second, as a share of the copy's: 1 is the speed of the memory
//     calls    reductions a second

#include "belfry/cuda/backend.h"
#include "belfry/error.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

namespace belfry::cuda {
namespace {

constexpr int kCallsAtOnce = 20;  // Enqueued before the host waits, so that launches overlap.

std::vector<CollectivePart> make_parts(Backend& backend, std::size_t bytes,
                                       DType dtype = DType::kFloat32) {
  std::vector<CollectivePart> parts;
  for (int rank = 0; rank < backend.device_count(); ++rank) {
    belfry::Device& device = backend.device(rank);
    belfry::Stream& stream = device.compute_stream();
    const BufferView view = view_of(device.allocate(bytes, stream), dtype);
    Kernel fill;
    fill.parameters.scalar = 1;
    fill.outputs = {view};
    stream.launch(fill);
    parts.push_back({view, view, &stream});
  }
  for (const CollectivePart& part : parts) part.stream->synchronize();
  return parts;
}

void copy_often(const std::vector<CollectivePart>& parts) {
  for (int call = 0; call < kCallsAtOnce; ++call) {
    parts[0].stream->copy(parts[1].input, parts[0].input);
  }
  parts[0].stream->synchronize();
}

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0)) << 20;
  Backend backend{{.devices = {0, 0}}};
  const auto parts = make_parts(backend, bytes);
  for (auto _ : state) copy_often(parts);
  state.SetBytesProcessed(state.iterations() * kCallsAtOnce * 2 * static_cast<std::int64_t>(bytes));
}

/// Bytes read and written by a copy of 256 MiB in one second: the median of eleven times.
double measure_copy() {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  Backend backend{{.devices = {0, 0}}};
  const auto parts = make_parts(backend, kBytes);
  copy_often(parts);
  std::vector<double> rates;
  for (int time = 0; time < 11; ++time) {
    const auto start = std::chrono::steady_clock::now();
    copy_often(parts);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    rates.push_back(2.0 * kCallsAtOnce * kBytes / seconds.count());
  }
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

void all_reduce(benchmark::State& state, DType dtype) {
  const auto replicas = static_cast<int>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1)) << 10;
  static const double copy_rate = measure_copy();
  Options options;
  options.devices.assign(static_cast<std::size_t>(replicas), 0);
  Backend backend(options);
  const auto parts = make_parts(backend, bytes, dtype);
  std::vector<int> ranks(static_cast<std::size_t>(replicas));
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto clique = backend.communicator(ranks);
  for (auto _ : state) {
    // Each call reduces the results of the call before: the mean of ones is one.
    for (int call = 0; call < kCallsAtOnce; ++call)
      clique->run({.kind = CollectiveKind::kAllReduce, .parts = parts, .op = ReduceOp::kMean});
    for (const CollectivePart& part : parts) part.stream->synchronize();
  }
  const double calls = static_cast<double>(state.iterations()) * kCallsAtOnce;
  const double moved = calls * 2 * replicas * static_cast<double>(bytes);
  state.SetBytesProcessed(static_cast<std::int64_t>(moved));
  state.counters["of_copy"] = benchmark::Counter(moved / copy_rate, benchmark::Counter::kIsRate);
  state.counters["calls"] = benchmark::Counter(calls, benchmark::Counter::kIsRate);
}

BENCHMARK(copy)->ArgName("MiB")->Arg(16)->Arg(64)->Arg(256)->UseRealTime();
BENCHMARK_CAPTURE(all_reduce, float32, DType::kFloat32)
    ->ArgNames({"replicas", "KiB"})
    ->ArgsProduct({{2, 4, 8}, {4, 1 << 10, 16 << 10, 64 << 10, 256 << 10}})
    ->UseRealTime();
BENCHMARK_CAPTURE(all_reduce, float16, DType::kFloat16)
    ->ArgNames({"replicas", "KiB"})
    ->ArgsProduct({{2, 4, 8}, {16 << 10, 64 << 10, 256 << 10}})
    ->UseRealTime();
BENCHMARK_CAPTURE(all_reduce, bfloat16, DType::kBFloat16)
    ->ArgNames({"replicas", "KiB"})
    ->ArgsProduct({{2, 4, 8}, {16 << 10, 64 << 10, 256 << 10}})
    ->UseRealTime();

}  // namespace
}  // namespace belfry::cuda
