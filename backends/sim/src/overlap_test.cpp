// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions and copies beside the work of the compute streams: the waits of their streams.
#include "belfry/belfry.h"
#include "belfry/detail/stream_point.h"
#include "belfry/dlpack.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/trace.h"
#include "testing/operation_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::overlap_test {
namespace {

using Row = Tensor<float>;
using ::testing::Each;

constexpr int kLayers = 4;

// A backward pass: the gradient of layer k has k elements, and is reduced at once.
// The gradient of replica r is 10 * (r + 1), so that the sum of two replicas is 30.
std::vector<std::vector<Row>> backward(Strategy& strategy) {
  const auto sums = strategy.run([](ReplicaContext& replica) {
    std::vector<Row> own;
    for (int layer = kLayers; layer >= 1; --layer) {
      const auto gradient = multiply(Row::full({layer}, 10), 1.0F + replica.replica_id());
      own.push_back(replica.all_reduce(ReduceOp::kSum, gradient));
    }
    return own;
  });
  return {sums.begin(), sums.end()};
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The place of the last step of `kind` that writes `elements` elements.
std::size_t last_of(const std::vector<std::string>& trace, const std::string& kind, int elements) {
  const auto has = [](const std::string& line, const std::string& text) {
    return line.find(text) != std::string::npos;
  };
  std::size_t found = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::size_t writes = trace[i].find("\"writes\"");
    if (!has(trace[i], "\"kind\":\"" + kind + "\"") || writes == std::string::npos) continue;
    const std::string written = trace[i].substr(writes);
    if (has(written, "\"shape\":[" + std::to_string(elements) + "]")) found = i;
  }
  EXPECT_GT(found, 0U) << kind << " of " << elements;
  return found;
}

TEST(Overlap, RunsALayerBeforeTheReductionOfTheLayerAbove) {
  belfry::testing::asserts("SEM-245");
  const std::string path =
      ::testing::TempDir() + "belfry_overlap_" + std::to_string(getpid()) + ".jsonl";
  std::vector<int> overlaps(kLayers + 1, 0);
  std::vector<int> waits(kLayers + 1, 0);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    {
      TraceFile trace{path};
      Backend backend{{.devices = 2, .seed = seed}, Attachments{.trace = &trace}};
      MirroredStrategy strategy{backend};
      for (const auto& of_replica : backward(strategy)) {
        for (const Row& sum : of_replica) EXPECT_THAT(sum.to_host(), Each(30)) << seed;
      }
      trace.close();
    }
    const auto trace = lines_of(path);
    for (int layer = 2; layer <= kLayers; ++layer) {
      const bool is_beside =
          last_of(trace, "execute", layer - 1) < last_of(trace, "collective", layer);
      ++(is_beside ? overlaps : waits)[static_cast<std::size_t>(layer)];
    }
  }
  for (std::size_t layer = 2; layer <= kLayers; ++layer) {
    EXPECT_GT(overlaps[layer], 0) << layer;
    EXPECT_GT(waits[layer], 0) << layer;
  }
}

// The copy is on a device without a part in the reduction. The reduction overwrites the input.
TEST(Overlap, KeepsAnInputForItsReaders) {
  belfry::testing::asserts("SEM-245");
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Backend backend{{.devices = 3, .seed = seed}};
    const auto devices = backend.devices();
    MirroredStrategy strategy{backend, {.devices = {devices[0], devices[1]}}};
    const auto results = strategy.run([&](ReplicaContext& replica) {
      auto own = Row::full({2}, 3);
      Row copy = own.copy_to({&backend, 2});
      return std::pair(copy, replica.all_reduce(ReduceOp::kSum, std::move(own)));
    });
    for (const auto& [copy, sum] : results) {
      EXPECT_THAT(copy.to_host(), Each(3)) << seed;
      EXPECT_THAT(sum.to_host(), Each(6)) << seed;
    }
  }
}

class Waits : public ::testing::Test {
 protected:
  // The number of waits that `work` enqueues.
  template <class F>
  std::int64_t of(const F& work) {
    const auto before = operation_count(backend_, OperationKind::kWait);
    work();
    return operation_count(backend_, OperationKind::kWait) - before;
  }

  Backend backend_{{.devices = 2}};
  MirroredStrategy strategy_{backend_};
};

// The communication streams wait for the compute streams, and each compute stream waits at the
// first use: the wait for the last reduction covers the earlier reductions.
TEST_F(Waits, AreEnqueuedOnceForManyResults) {
  belfry::testing::asserts("SEM-245");
  std::vector<std::vector<Row>> sums;
  EXPECT_EQ(of([&] { sums = backward(strategy_); }), 2 * kLayers);
  for (const auto& of_replica : sums) {
    EXPECT_EQ(of([&] { add(of_replica.back(), of_replica.back()); }), 1);
    for (const Row& sum : of_replica) EXPECT_EQ(of([&] { sum.to_host(); }), 0);
  }
}

// An input is read again without a wait, and overwritten after one.
TEST_F(Waits, OfWritesToAnInputAreForItsReaders) {
  belfry::testing::asserts("SEM-245");
  std::optional<PerReplica<Row>> rows =
      strategy_.run([](ReplicaContext&) { return Row::full({2}, 3); });
  std::optional<Row> own = (*rows)[0];
  const Row copy = own->copy_to(strategy_.placement(1));
  const auto sum = strategy_.cross_replica().reduce(ReduceOp::kSum, *rows);
  EXPECT_EQ(of([&] { add(*own, *own); }), 0);
  rows.reset();
  EXPECT_EQ(of([&] { scale(*own, 2); }), 2);  // The copy, and the reduction.
  EXPECT_EQ(of([&] { scale(*own, 2); }), 0);
  EXPECT_THAT(own->to_host(), Each(12));
  EXPECT_THAT(copy.to_host(), Each(3));
  EXPECT_THAT(sum[0].to_host(), Each(6));
}

// A later stream may have the address of an earlier stream.
TEST_F(Waits, AreForStreamsAndNotForAddresses) {
  Device& device = backend_.device(0);
  Stream& later = device.compute_stream();
  for (int i = 0; i < 3; ++i) {
    const auto stream = device.create_stream();
    detail::StreamPoint point(device);
    point.set(*stream);
    EXPECT_EQ(of([&] { point.precede(*stream); }), 0);
    EXPECT_EQ(of([&] { point.precede(later); }), 1);
    EXPECT_EQ(of([&] { point.precede(later); }), 0);
  }
  Stream& earlier = device.communication_stream();
  detail::StreamPoint first(device);
  detail::StreamPoint second(device);
  first.set(earlier);
  second.set(earlier);
  EXPECT_EQ(of([&] { second.precede(later); }), 1);
  EXPECT_EQ(of([&] { first.precede(later); }), 0);
}

// The work of another library is unseen: the wait is at the export.
TEST_F(Waits, OfExportsAreAtTheExport) {
  belfry::testing::asserts("SEM-184", "SEM-245");
  auto sums = backward(strategy_);
  EXPECT_EQ(of([&] {
              const DlpackPtr lent = to_dlpack(std::move(sums[0].back()));
              EXPECT_EQ(static_cast<const float*>(lent->dl_tensor.data)[0], 30);
            }),
            1);
}

TEST_F(Waits, OfCompletionsAreForReductions) {
  belfry::testing::asserts("SEM-125", "SEM-245");
  constexpr int kCollectives = 2 * kLayers;  // A member of each on each device.
  int open = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Backend backend{{.devices = 2, .seed = seed}};
    MirroredStrategy strategy{backend};
    const auto sums = backward(strategy);
    const Completion done = strategy.cross_replica().group(sums);
    open += operation_count(backend, OperationKind::kCollective) < kCollectives ? 1 : 0;
    done.wait();
    EXPECT_EQ(operation_count(backend, OperationKind::kCollective), kCollectives) << seed;
    EXPECT_TRUE(done.done());
  }
  EXPECT_GT(open, 0);
}

}  // namespace
}  // namespace belfry::sim::overlap_test
