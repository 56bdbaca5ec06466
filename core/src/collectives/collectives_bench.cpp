// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The collectives of a communicator on devices in host memory, compared in the same run. `bytes`
// are those of the inputs of the all-reduce and of the exchange on all devices. A counter is a
// ratio of times: of a reduce-scatter or an all-gather and the all-reduce (the limit is 0.75), of
// an exchange and copies of as many bytes (1.2). `read` is the same of a loop that loads the
// inputs of the all-reduce one after another, and does nothing else. Counters are medians over
// rounds in which all works are timed in turn; `_q1` and `_q3` are the quartiles.

#include "belfry/backend/backend.h"
#include "belfry/backend/host_backend.h"
#include "belfry/backend/kernel.h"
#include "kernels/byte_moves_bench.h"
#include "kernels/paired_bench.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace belfry {
namespace {

// An input and an output on each device, of the same size.
class Devices {
 public:
  Devices(int devices, std::size_t bytes) : backend_(devices) {
    std::vector<int> indices(static_cast<std::size_t>(devices));
    std::iota(indices.begin(), indices.end(), 0);
    communicator_ = backend_.communicator(indices);
    for (const int index : indices) {
      Device& device = backend_.device(index);
      Stream& stream = device.communication_stream();
      CollectivePart part{{}, {}, &stream};
      for (BufferView* const view : {&part.input, &part.output}) {
        *view = view_of(device.allocate(bytes, stream), DType::kFloat32);
        stream.launch({.kind = KernelKind::kFill, .outputs = {*view}, .inputs = {}});
      }
      parts_.push_back(part);
    }
    for (int from = 0; from < devices; ++from) {
      for (int to = 0; to < devices; ++to) {
        transfers_.push_back(
            {from, to, slice(parts_[at(from)].input, to), slice(parts_[at(to)].output, from)});
      }
    }
  }

  void run(CollectiveKind kind) {
    std::vector<CollectivePart> parts = parts_;
    for (int rank = 0; rank < communicator_->size(); ++rank) {
      CollectivePart& part = parts[at(rank)];
      if (kind == CollectiveKind::kAllGather) part.input = slice(part.input, rank);
      if (kind == CollectiveKind::kReduceScatter) part.output = slice(part.output, rank);
    }
    const bool exchanges = kind == CollectiveKind::kExchange;
    communicator_->run({.kind = kind,
                        .parts = parts,
                        .transfers = exchanges ? std::span<const Transfer>(transfers_)
                                               : std::span<const Transfer>()});
    for (const CollectivePart& part : parts) part.stream->synchronize();
  }

  bench::ByteMoves inputs() const {
    bench::ByteMoves moves{{}, {}, parts_[0].input.bytes()};
    for (const CollectivePart& part : parts_) {
      moves.in.push_back(static_cast<std::byte*>(part.input.buffer->address()));
    }
    return moves;
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  BufferView slice(const BufferView& whole, int rank) const {
    return Collective{.ranks = communicator_->size()}.slice(whole, rank);
  }

  HostBackend backend_;
  std::unique_ptr<Communicator> communicator_;
  std::vector<CollectivePart> parts_;
  std::vector<Transfer> transfers_;
};

void BM_AgainstAllReduce(benchmark::State& state) {
  const auto devices = static_cast<int>(state.range(0));
  Devices all(devices, static_cast<std::size_t>(state.range(1) / devices));
  const bench::ByteMoves inputs = all.inputs();
  const bench::Comparison comparison(state, {[&] { all.run(CollectiveKind::kAllReduce); },
                                             [&] { all.run(CollectiveKind::kReduceScatter); },
                                             [&] { all.run(CollectiveKind::kAllGather); },
                                             [&] { benchmark::DoNotOptimize(inputs.read()); }});
  comparison.report("reduce_scatter", {1});
  comparison.report("all_gather", {2});
  comparison.report("read", {3});
}

void BM_AgainstCopies(benchmark::State& state) {
  const auto devices = static_cast<int>(state.range(0));
  const auto bytes = static_cast<std::size_t>(state.range(1));
  Devices all(devices, bytes / static_cast<std::size_t>(devices));
  const bench::Arena arena(2, bytes);
  const auto copy = [&] {
    std::memcpy(arena.at<std::byte>(1), arena.at<std::byte>(0), bytes);
    benchmark::ClobberMemory();
  };
  const bench::Comparison comparison(state, {copy, [&] { all.run(CollectiveKind::kExchange); }});
  comparison.report("all_to_all", {1});
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({4, 1 << 26})->ArgNames({"devices", "bytes"})->UseManualTime()->Iterations(31);
}

BENCHMARK(BM_AgainstAllReduce)->Apply(sizes);
BENCHMARK(BM_AgainstCopies)->Apply(sizes);

}  // namespace
}  // namespace belfry
