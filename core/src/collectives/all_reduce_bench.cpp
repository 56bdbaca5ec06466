// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Algorithms of reductions on devices in host memory, compared in the same run with the copies that
// their plans state: as many copies of as many bytes, without additions and without streams.
//
// Every counter is a ratio: how many times as long the baseline takes. `of_copies` is the share of
// the speed of the stated copies that the algorithm reaches; `of_one_device` is the quotient of the
// time of ReductionToOneDevice and the time of the algorithm. Counters are medians over rounds in
// which all works are timed in turn; `_q1` and `_q3` are the quartiles.

#include "belfry/backend/host_backend.h"
#include "belfry/planned_all_reduce.h"
#include "kernels/paired_bench.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace belfry {
namespace {

// A tensor on each of N devices, reduced in place.
class OneTensorEach {
 public:
  OneTensorEach(int devices, std::size_t bytes) : backend_(devices) {
    std::vector<int> indices(static_cast<std::size_t>(devices));
    std::iota(indices.begin(), indices.end(), 0);
    devices_ = std::make_unique<ReplicaDevices>(backend_, indices);
    for (const int index : indices) {
      Device& device = backend_.device(index);
      Stream& stream = device.communication_stream();
      const BufferView view = view_of(device.allocate(bytes, stream), DType::kFloat32);
      stream.launch({.kind = KernelKind::kFill, .outputs = {view}, .inputs = {}});
      parts_.push_back({view, view, &stream});
    }
  }

  void reduce(CrossDeviceOps& algorithm) {
    algorithm.all_reduce({.op = ReduceOp::kSum,
                          .parts = parts_,
                          .members = parts_.size(),
                          .devices = devices_.get()});
    for (const CollectivePart& part : parts_) part.stream->synchronize();
  }

 private:
  HostBackend backend_;
  std::unique_ptr<ReplicaDevices> devices_;
  std::vector<CollectivePart> parts_;
};

// The copies that a plan states, between an input and an output buffer of each device.
class StatedCopies {
 public:
  StatedCopies(const ReductionPlan& plan, std::size_t bytes)
      : devices_(static_cast<std::size_t>(plan.members)), arena_(2 * devices_, bytes) {
    const auto traffic = plan.traffic(bytes / sizeof(float), DType::kFloat32);
    for (const auto& [link, use] : traffic) {
      for (std::size_t i = 0; i < use.copies; ++i) {
        copies_.push_back({static_cast<std::size_t>(link.first),
                           static_cast<std::size_t>(link.second), use.bytes / use.copies});
      }
    }
  }

  void run() const {
    for (const Copy& copy : copies_) {
      std::memcpy(arena_.at<std::byte>(devices_ + copy.to), arena_.at<std::byte>(copy.from),
                  copy.bytes);
      benchmark::ClobberMemory();
    }
  }

 private:
  struct Copy {
    std::size_t from;
    std::size_t to;
    std::size_t bytes;
  };

  std::size_t devices_;
  bench::Arena arena_;
  std::vector<Copy> copies_;
};

template <class Algorithm>
void BM_AllReduce(benchmark::State& state) {
  const auto devices = static_cast<int>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1));
  Algorithm algorithm;
  ReductionToOneDevice to_one;
  OneTensorEach tensors(devices, bytes);
  const StatedCopies copies(algorithm.plan(devices).value(), bytes);
  const bench::Comparison comparison(
      state,
      {[&] { tensors.reduce(algorithm); }, [&] { copies.run(); }, [&] { tensors.reduce(to_one); }});
  comparison.report("of_copies", {1});
  comparison.report("of_one_device", {2});
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int devices : {2, 8}) {
    for (const int bytes : {1 << 10, 1 << 16, 1 << 22}) benchmark->Args({devices, bytes});
  }
  benchmark->ArgNames({"devices", "bytes"})->UseManualTime()->Iterations(101);
}

BENCHMARK(BM_AllReduce<ReductionToOneDevice>)->Apply(sizes);
BENCHMARK(BM_AllReduce<RingAllReduce>)->Apply(sizes);
BENCHMARK(BM_AllReduce<TreeAllReduce>)->Apply(sizes);
BENCHMARK(BM_AllReduce<HalvingDoublingAllReduce>)->Apply(sizes);
BENCHMARK(BM_AllReduce<ShuffleAllReduce>)->Apply(sizes);
BENCHMARK(BM_AllReduce<HierarchicalAllReduce>)->Apply(sizes);

}  // namespace
}  // namespace belfry
