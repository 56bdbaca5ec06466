// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "demo_backend.h"

#include "belfry/cuda/backend.h"
#include "belfry/sim/backend.h"

#include <fmt/format.h>

#include <utility>

namespace belfry::demo {
namespace {

DemoBackend make_simulator(int count, std::uint64_t seed, TraceFile* trace) {
  return {std::make_unique<sim::Backend>(sim::Options{.devices = count, .seed = seed},
                                         sim::Attachments{.trace = trace}),
          fmt::format("{} simulated device{}", count, count == 1 ? "" : "s"), ""};
}

DemoBackend make_cuda(int count, TraceFile* trace) {
  cuda::Options options = cuda::Options::fit(count);
  options.trace = trace;
  auto backend = std::make_unique<cuda::Backend>(options);
#ifdef BELFRY_HOST_HALF
  return {std::move(backend),
          fmt::format("the CUDA backend's host half, {} device{} of the simulated driver", count,
                      count == 1 ? "" : "s"),
          "host half: the CUDA backend ran on the simulated driver, no GPU was involved"};
#else
  return {std::move(backend), fmt::format("{} CUDA device{}", count, count == 1 ? "" : "s"), ""};
#endif
}

}  // namespace

DemoBackend make_demo_backend(BackendKind kind, int count, std::uint64_t seed, TraceFile* trace) {
  const bool simulated = kind == BackendKind::kSim;
  return simulated ? make_simulator(count, seed, trace) : make_cuda(count, trace);
}

}  // namespace belfry::demo
