// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A tensor over memory of the program, compared with a tensor that copies the memory. Each round
// makes a tensor and waits for its work, on the simulator and on the host backend. A wrap whose
// time grows with the memory ends the program: a copy would.
#include "belfry/backend/host_backend.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor.h"
#include "kernels/paired_bench.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry {
namespace {

constexpr int kTensors = 16;  // In a round.
constexpr std::int64_t kMany = 1 << 20;
// Of a copy of kMany elements. A wrap takes about a thousandth.
constexpr double kMostShareOfACopy = 0.1;

void compare(benchmark::State& state, Backend& backend) {
  const Placement on{&backend, 0};
  std::vector<float> memory(static_cast<std::size_t>(state.range(0)), 1.0F);
  const Shape shape{state.range(0)};
  Stream& stream = backend.device(0).compute_stream();
  const auto copies = [&] {
    for (int i = 0; i < kTensors; ++i) {
      const auto tensor = Tensor<float>::from(shape, memory, on);
      stream.synchronize();
    }
  };
  const auto wraps = [&] {
    for (int i = 0; i < kTensors; ++i) {
      const auto tensor = Tensor<float>::over(shape, std::span(memory), on);
      stream.synchronize();
    }
  };
  const bench::Comparison comparison(state, {copies, wraps});
  comparison.report("share_of_a_copy", {1});
  const double share = state.counters["share_of_a_copy"];
  if (state.range(0) == kMany && share > kMostShareOfACopy) {
    throw std::runtime_error("a tensor over memory takes " + std::to_string(share) +
                             " of the time of a copy");
  }
}

void BM_OverOnTheSimulator(benchmark::State& state) {
  sim::Backend backend({.devices = 1, .digests = sim::Digests::kNone, .record_limit = 4096});
  compare(state, backend);
}
BENCHMARK(BM_OverOnTheSimulator)->Arg(1)->Arg(1024)->Arg(kMany)->UseManualTime()->Iterations(50);

void BM_OverOnTheHost(benchmark::State& state) {
  HostBackend backend;
  compare(state, backend);
}
BENCHMARK(BM_OverOnTheHost)->Arg(1)->Arg(1024)->Arg(kMany)->UseManualTime()->Iterations(50);

}  // namespace
}  // namespace belfry
