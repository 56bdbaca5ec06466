// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Launches of a user's kernel on the simulator and on the host backend, compared with a kernel of
// belfry of equal work: x += y. The ratio is measured in rounds, for few elements, where the launch
// is most of the time. A ratio above the limit ends the program. The kernel of belfry is also
// launched by a replica, with a merge after each wait, and compared with launches outside of runs.
#include "belfry/backend/host_backend.h"
#include "belfry/launch.h"
#include "belfry/sim/backend.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "kernels/paired_bench.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace belfry {
namespace {

constexpr double kMostTimesAsLong = 1.3;
constexpr int kLaunches = 64;  // Between two waits.

struct Add {
  void on_host(std::span<float> x, std::span<const float> y) const {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }
};

void compare(benchmark::State& state, Backend& backend) {
  const Placement on{&backend, 0};
  const Shape shape{state.range(0)};
  auto x = Tensor<float>::full(shape, 0, on);
  const auto y = Tensor<float>::full(shape, 1, on);
  Stream& stream = backend.device(0).compute_stream();
  const auto ours = [&] {
    for (int i = 0; i < kLaunches; ++i) add_to(x, y);
    stream.synchronize();
  };
  const auto users = [&] {
    for (int i = 0; i < kLaunches; ++i) launch(Add(), updates(x), reads(y));
    stream.synchronize();
  };
  const bench::Comparison comparison(state, {ours, users});
  comparison.report("times_as_long", {1});
  const double ratio = state.counters["times_as_long"];
  if (ratio > kMostTimesAsLong) {
    throw std::runtime_error("a launch of a user's kernel takes " + std::to_string(ratio) +
                             " times as long as one of belfry's");
  }
}

void BM_LaunchOnTheSimulator(benchmark::State& state) {
  sim::Backend backend({.devices = 1, .digests = sim::Digests::kNone, .record_limit = 4096});
  compare(state, backend);
}
BENCHMARK(BM_LaunchOnTheSimulator)->Arg(1)->Arg(1024)->UseManualTime()->Iterations(200);

void BM_LaunchOnTheHost(benchmark::State& state) {
  HostBackend backend;
  compare(state, backend);
}
BENCHMARK(BM_LaunchOnTheHost)->Arg(1)->Arg(1024)->UseManualTime()->Iterations(200);

// A replica asks whether a second replica has used the storage of each tensor to which the replica
// writes.
void compare_replica(benchmark::State& state, Backend& backend) {
  const Placement on{&backend, 0};
  const Shape shape{state.range(0)};
  auto x = Tensor<float>::full(shape, 0, on);
  const auto y = Tensor<float>::full(shape, 1, on);
  constexpr int kMerges = 8;  // Of a run.
  const auto launch_and_wait = [&] {
    for (int i = 0; i < kLaunches; ++i) add_to(x, y);
    backend.device(0).compute_stream().synchronize();
  };
  OneDeviceStrategy strategy{backend, backend.device_spec(0)};
  const auto outside = [&] {
    for (int merge = 0; merge < kMerges; ++merge) launch_and_wait();
  };
  const auto in_replica = [&] {
    strategy.run([&](ReplicaContext& replica) {
      for (int merge = 0; merge < kMerges; ++merge) {
        launch_and_wait();
        replica.merge_call([](CrossReplicaContext&) {});
      }
    });
  };
  const bench::Comparison comparison(state, {outside, in_replica});
  comparison.report("times_as_long", {1});
}

void BM_ReplicaOnTheSimulator(benchmark::State& state) {
  sim::Backend backend({.devices = 1, .digests = sim::Digests::kNone, .record_limit = 4096});
  compare_replica(state, backend);
}
BENCHMARK(BM_ReplicaOnTheSimulator)->Arg(1)->Arg(1024)->UseManualTime()->Iterations(200);

void BM_ReplicaOnTheHost(benchmark::State& state) {
  HostBackend backend;
  compare_replica(state, backend);
}
BENCHMARK(BM_ReplicaOnTheHost)->Arg(1)->Arg(1024)->UseManualTime()->Iterations(200);

}  // namespace
}  // namespace belfry
