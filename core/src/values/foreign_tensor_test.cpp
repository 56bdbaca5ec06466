// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Tensors over memory of the program's own, on devices of the host.
#include "belfry/backend/collective.h"
#include "belfry/backend/host_backend.h"
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "collectives/testing/counting_links.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::foreign_tensor_test {
namespace {

using belfry::testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y += scale * x.
struct ScaleAndAdd {
  float scale = 1;
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += scale * x[i];
  }
};

struct Fill {
  float value = 0;
  void on_host(std::span<float> y) const {
    for (float& element : y) element = value;
  }
};

class ForeignTensor : public ::testing::Test {
 protected:
  HostBackend backend_{2};
  Placement on_{&backend_, 0};
};

TEST_F(ForeignTensor, IsTheMemoryOfTheProgram) {
  testing::asserts("SEM-180");
  std::vector<float> mine{1, 2, 3};
  auto y = Tensor<float>::over({3}, std::span(mine), on_);
  EXPECT_THAT(y.to_host(), ElementsAre(1, 2, 3)) << "the bytes count as written";
  const auto seen = Tensor<float>::over({3}, std::span<const float>(mine), {&backend_, 1});
  EXPECT_EQ(seen.placement().device, 1) << "a placement in braces";
  launch(ScaleAndAdd{10}, updates(y), reads(Tensor<float>::full({3}, 1, on_)));
  EXPECT_THAT(mine, ElementsAre(11, 12, 13));
  add_to(y, y);
  EXPECT_THAT(mine, ElementsAre(22, 24, 26));
  launch(Fill{5}, writes(y));
  EXPECT_THAT(mine, ElementsAre(5, 5, 5));
  mine[1] = 7;
  EXPECT_THAT((y + y).to_host(), ElementsAre(10, 14, 10));
  const MemoryUse use = backend_.device(0).memory();
  EXPECT_EQ(use.live_bytes, 0U);
  EXPECT_EQ(use.live_buffers, 0U);
}

TEST_F(ForeignTensor, HasTheCurrentDevice) {
  testing::asserts("SEM-180");
  MirroredStrategy strategy(backend_);
  std::array<std::array<std::int32_t, 2>, 2> mine{{{1, 2}, {3, 4}}};
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    const auto id = static_cast<std::size_t>(replica.replica_id());
    const auto x = Tensor<std::int32_t>::over({2}, std::span(mine[id]));
    EXPECT_EQ(x.placement(), replica.placement());
    return replica.all_reduce(ReduceOp::kSum, x).to_host();
  });
  EXPECT_THAT(sums[1], ElementsAre(4, 6));
  const std::array<std::array<std::int32_t, 2>, 2> unchanged{{{1, 2}, {3, 4}}};
  EXPECT_EQ(mine, unchanged);
  EXPECT_EQ(code_of([&] { Tensor<std::int32_t>::over({2}, std::span(mine[0])); }),
            ErrorCode::kWrongContext);
}

TEST_F(ForeignTensor, IsNotWrittenWhileASecondHandleSharesTheMemory) {
  testing::asserts("SEM-181");
  std::vector<float> mine{1, 2};
  auto y = Tensor<float>::over({2}, std::span(mine), on_);
  const auto one = Tensor<float>::full({2}, 1, on_);
  {
    const auto second = y.reshaped({1, 2});
    for (const std::function<void()>& write : std::initializer_list<std::function<void()>>{
             [&] { launch(ScaleAndAdd(), updates(y), reads(one)); },
             [&] { launch(Fill(), writes(y)); }, [&] { add_to(y, one); }}) {
      const ErrorReport report = report_of(write);
      EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
      EXPECT_THAT(report.summary, HasSubstr("a second tensor shares the memory"));
    }
    EXPECT_THAT(second.to_host(), ElementsAre(1, 2));
  }
  launch(Fill{4}, writes(y));
  EXPECT_THAT(mine, ElementsAre(4, 4));
  auto moved = std::move(y);
  launch(Fill{6}, writes(moved));
  EXPECT_THAT(mine, ElementsAre(6, 6)) << "a moved tensor is one handle";
}

// Variables and copies of broadcasts have storage of their own, on each device.
TEST_F(ForeignTensor, IsNoComponentOfAVariableAndNoCopyOfABroadcast) {
  testing::asserts("SEM-180");
  MirroredStrategy strategy(backend_);
  CrossReplicaContext& cross = strategy.cross_replica();
  std::vector<float> mine{1, 2};
  const auto over = [&](int device) {
    return Tensor<float>::over({2}, std::span(mine), Placement{&backend_, device});
  };
  // The variable changes in place, alone.
  const auto is_apart = [&](const MirroredVariable<Tensor<float>>& variable) {
    mine = {7, 7};
    cross.update(variable, [](Tensor<float>& own) { scale(own, 10); });
    for (const auto& component : strategy.local_values(variable)) {
      EXPECT_THAT(component.to_host(), ElementsAre(10, 20));
    }
    EXPECT_THAT(mine, ElementsAre(7, 7));
    mine = {1, 2};
  };
  for (const int device : {0, 1}) {
    is_apart(strategy.mirrored_variable(over(device)));
    is_apart(strategy.mirrored_variable([&] { return over(device); }));
    const auto changed = strategy.mirrored_variable([] { return Tensor<float>::zeros({2}); });
    cross.update(changed, [&](Tensor<float>& own) { own = over(device); });
    is_apart(changed);
    const auto assigned = strategy.mirrored_variable([] { return Tensor<float>::zeros({2}); },
                                                     {.aggregation = Aggregation::kOnlyFirst});
    strategy.run([&](ReplicaContext& replica) { replica.assign(assigned, over(device)); });
    is_apart(assigned);
    const auto local =
        strategy.replica_local_variable(ReduceOp::kSum, [] { return Tensor<float>::zeros({2}); });
    cross.assign_each(local, over(device));
    const auto copies = cross.broadcast(over(device));
    mine = {7, 7};
    for (const int replica : {0, 1}) EXPECT_THAT(copies[replica].to_host(), ElementsAre(1, 2));
    EXPECT_THAT(strategy.read(local).to_host(), ElementsAre(2, 4));
    mine = {1, 2};
  }
}

TEST_F(ForeignTensor, NeedsMemoryUnlessThereAreNoElements) {
  testing::asserts("SEM-180");
  const std::span<float> none(static_cast<float*>(nullptr), 3);
  const ErrorReport report =
      report_of([&] { Tensor<float>::over({3}, std::span<float>(none), on_); });
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(report.summary, HasSubstr("null"));
  EXPECT_FALSE(report.hint.empty());
  EXPECT_NE(report.site.line, 0);
  EXPECT_TRUE(Tensor<float>::over({0}, std::span<float>(), on_).to_host().empty());
}

TEST_F(ForeignTensor, NeedsMemoryForEachElementAtAnAddressOfTheType) {
  testing::asserts("SEM-180");
  alignas(8) std::array<std::byte, 16> bytes{};
  const std::span<float> off(reinterpret_cast<float*>(bytes.data() + 2), 2);
  EXPECT_EQ(code_of([&] { Tensor<float>::over({2}, off, on_); }), ErrorCode::kInvalidArgument);
  std::vector<float> mine(3);
  EXPECT_EQ(code_of([&] { Tensor<float>::over({2}, std::span(mine), on_); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { Tensor<float>::over({4}, std::span(mine), on_); }), ErrorCode::kShape);
  EXPECT_EQ(code_of([&] { Tensor<float>::over({3}, std::span(mine), Placement{&backend_, 9}); }),
            ErrorCode::kUnknownDevice);
  const auto empty = Tensor<float>::over({0, 3}, std::span<float>(), on_);
  EXPECT_EQ((empty + empty).count(), 0);
}

TEST_F(ForeignTensor, NeedsADeviceWithSuchTensors) {
  testing::asserts("SEM-180");
  testing::CountingLinks other(1);
  std::vector<float> mine(3);
  EXPECT_EQ(code_of([&] { Tensor<float>::over({3}, std::span(mine), Placement{&other, 0}); }),
            ErrorCode::kUnsupported);
}

// Tensors over parts of one array: addresses decide.
TEST_F(ForeignTensor, OverlapsByAddress) {
  testing::asserts("SEM-181");
  std::vector<float> mine{1, 2, 3, 4};
  const auto part = [&](std::size_t first, std::size_t count) {
    return Tensor<float>::over({static_cast<std::int64_t>(count)},
                               std::span(mine).subspan(first, count), on_);
  };
  auto y = part(0, 3);
  EXPECT_EQ(code_of([&] { launch(ScaleAndAdd(), updates(y), reads(part(1, 3))); }),
            ErrorCode::kInvalidArgument);
  auto whole = part(0, 2);
  launch(ScaleAndAdd(), updates(whole), reads(part(2, 2)));
  EXPECT_THAT(mine, ElementsAre(4, 6, 3, 4));
  launch(ScaleAndAdd(), updates(whole), reads(part(0, 2)));
  EXPECT_THAT(mine, ElementsAre(8, 12, 3, 4)) << "the same view may be read and updated";
}

// Few and many operands take different ways.
TEST_F(ForeignTensor, OverlapsByAddressInCollectivesAndReductions) {
  testing::asserts("SEM-181");
  for (const std::size_t members : {2U, 40U}) {
    HostBackend backend(static_cast<int>(members));
    std::vector<float> mine(4 * members + 1);
    // The first, a middle and the last pair of neighbours; the last output has no input behind it.
    for (const std::size_t odd : {members, std::size_t{0}, (members - 1) / 2, members - 2}) {
      const bool overlapping = odd < members;
      std::vector<Tensor<float>> tensors;
      std::vector<CollectivePart> parts;
      Kernel reduction;
      reduction.kind = KernelKind::kReduceReplicas;
      // In falling order of addresses. Each member has two elements of input, then two of output;
      // the output of member `odd` reaches an element into the input of the next member.
      for (std::size_t rank = members; rank-- > 0;) {
        const std::size_t further = rank == odd ? 1 : 0;
        const Placement on{&backend, static_cast<int>(rank)};
        const auto make = [&](std::size_t first) {
          tensors.push_back(Tensor<float>::over({2}, std::span(mine).subspan(first, 2), on));
          return tensors.back().any().view();
        };
        const BufferView input = make(4 * rank);
        const BufferView output = make(4 * rank + 2 + further);
        parts.push_back({input, output, &backend.device(on.device).compute_stream()});
        reduction.inputs.push_back(input);
        reduction.outputs.push_back(output);
      }
      const Collective collective{.kind = CollectiveKind::kAllReduce, .parts = parts};
      const ErrorCode expected = overlapping ? ErrorCode::kInvalidArgument : ErrorCode::kInternal;
      EXPECT_EQ(code_of([&] { validate(collective, static_cast<int>(members)); }), expected);
      EXPECT_EQ(code_of([&] { validate(reduction); }), expected);
    }
  }
}

}  // namespace
}  // namespace belfry::foreign_tensor_test
