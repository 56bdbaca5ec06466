// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cuda/backend.h"
#include "belfry/error.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <numeric>
#include <vector>

// The reduction of replicas that share a GPU, and the copy it is measured against: both move each
// byte they count once. Needs a GPU.
namespace belfry::cuda {
namespace {

constexpr int kCallsAtOnce = 20;  // Enqueued before the host waits, so that launches overlap.

std::vector<CollectivePart> make_parts(Backend& backend, std::size_t bytes) {
  std::vector<CollectivePart> parts;
  for (int rank = 0; rank < backend.device_count(); ++rank) {
    belfry::Device& device = backend.device(rank);
    belfry::Stream& stream = device.compute_stream();
    const BufferView view = view_of(device.allocate(bytes, stream), DType::kFloat32);
    Kernel fill;
    fill.parameters.scalar = 1;
    fill.outputs = {view};
    stream.launch(fill);
    parts.push_back({view, view, &stream});
  }
  for (const CollectivePart& part : parts) part.stream->synchronize();
  return parts;
}

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0)) << 20;
  Backend backend{{.devices = {0, 0}}};
  const auto parts = make_parts(backend, bytes);
  for (auto _ : state) {
    for (int call = 0; call < kCallsAtOnce; ++call) {
      parts[0].stream->copy(parts[1].input, parts[0].input);
    }
    parts[0].stream->synchronize();
  }
  state.SetBytesProcessed(state.iterations() * kCallsAtOnce * 2 * static_cast<std::int64_t>(bytes));
}

void all_reduce(benchmark::State& state) {
  const auto replicas = static_cast<int>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1)) << 20;
  Options options;
  options.devices.assign(static_cast<std::size_t>(replicas), 0);
  Backend backend(options);
  const auto parts = make_parts(backend, bytes);
  std::vector<int> ranks(static_cast<std::size_t>(replicas));
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto clique = backend.communicator(ranks);
  for (auto _ : state) {
    // The mean of ones is one again, however often.
    for (int call = 0; call < kCallsAtOnce; ++call) clique->all_reduce(ReduceOp::kMean, parts);
    for (const CollectivePart& part : parts) part.stream->synchronize();
  }
  state.SetBytesProcessed(state.iterations() * kCallsAtOnce * 2 * replicas *
                          static_cast<std::int64_t>(bytes));
}

BENCHMARK(copy)->ArgName("MiB")->Arg(16)->Arg(64)->Arg(256)->UseRealTime();
BENCHMARK(all_reduce)
    ->ArgNames({"replicas", "MiB"})
    ->ArgsProduct({{2, 4, 8}, {1, 16, 64, 256}})
    ->UseRealTime();

}  // namespace
}  // namespace belfry::cuda
