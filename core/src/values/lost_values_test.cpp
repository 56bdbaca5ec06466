// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Tensors of host devices whose elements failed work was to write.
#include "belfry/backend/host_backend.h"
#include "belfry/belfry.h"
#include "belfry/dlpack.h"
#include "belfry/launch.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace belfry::lost_values_test {
namespace {

using ::testing::ElementsAre;

// Writes an element and throws.
struct Fails {
  void on_host(std::span<float> y) const {
    y[0] = -1;
    throw std::runtime_error("no step");
  }
};

struct Doubles {
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = 2 * x[i];
  }
};

class LostValues : public ::testing::Test {
 protected:
  Tensor<float> make(const std::vector<float>& values) {
    return Tensor<float>::from({static_cast<std::int64_t>(values.size())}, values, on_);
  }
  // A tensor that a kernel has failed to update. The stream is usable.
  Tensor<float> make_lost() {
    auto lost = make({0, 7});
    launch(Fails(), updates(lost));
    EXPECT_THROW(backend_.device(0).compute_stream().synchronize(), std::runtime_error);
    return lost;
  }

  HostBackend backend_{2};
  Placement on_{&backend_, 0};
};

TEST_F(LostValues, AreThoseOfTheOutputsUntilWrittenAnew) {
  testing::asserts("SEM-173", "SEM-74");
  auto y = make({0, 7});
  const auto same_bytes = y;
  launch(Fails(), updates(y));
  EXPECT_THROW(y.to_host(), std::runtime_error);
  EXPECT_THROW(y.to_host(), std::runtime_error) << "each reader receives the reason";
  EXPECT_THAT(same_bytes.to_host(), ElementsAre(0, 7)) << "no other tensor loses its value";
  launch(Doubles(), writes(y), reads(make({1, 2})));
  EXPECT_THAT(y.to_host(), ElementsAre(2, 4));
}

TEST_F(LostValues, FailTheWorkThatReadsThem) {
  testing::asserts("SEM-173", "SEM-74");
  auto lost = make_lost();
  EXPECT_THROW((lost + lost).to_host(), std::runtime_error);
  EXPECT_THROW(lost.copy_to(Placement{&backend_, 1}).to_host(), std::runtime_error);
  EXPECT_THROW(to_dlpack(lost), std::runtime_error);
  EXPECT_THROW((launch(Fails(), updates(lost)), lost.to_host()), std::runtime_error);
  EXPECT_THAT(make({1}).to_host(), ElementsAre(1)) << "the stream is usable";
}

TEST_F(LostValues, AreThoseOfOutputsThatAreSkipped) {
  testing::asserts("SEM-173", "SEM-74");
  auto updated = make({3});
  auto bad = make({0});
  launch(Fails(), updates(bad));
  const auto sum = updated + updated;
  const auto uploaded = make({1});
  auto written = Tensor<float>::uninitialised({1}, on_);
  launch(Doubles(), writes(written), reads(updated));
  launch(Doubles(), updates(updated), reads(updated));
  EXPECT_THROW(backend_.device(0).compute_stream().synchronize(), std::runtime_error);
  for (const Tensor<float>& skipped : {sum, uploaded, written}) {
    EXPECT_THROW(skipped.to_host(), std::runtime_error);
  }
  EXPECT_THAT(updated.to_host(), ElementsAre(3)) << "updates leave the tensor as it was";
}

TEST_F(LostValues, FailEveryMemberOfACollective) {
  testing::asserts("SEM-173");
  const auto lost = make_lost();
  MirroredStrategy strategy(backend_);
  testing::at_each_place(2, [&](int odd) {
    int heard = 0;
    EXPECT_THROW(strategy.run([&](ReplicaContext& replica) {
      const auto own = replica.replica_id() == odd ? lost : Tensor<float>::full({2}, 1);
      const auto sum = replica.all_reduce(ReduceOp::kSum, own);
      try {
        sum.to_host();
      } catch (const std::runtime_error&) {
        ++heard;
        throw;
      }
    }),
                 std::runtime_error);
    EXPECT_EQ(heard, 2);
  });
}

// The second failure finds streams with the first.
TEST(LostValuesOfRuns, FailNoLaterRun) {
  testing::asserts("SEM-74");
  for (int devices = 1; devices <= 2; ++devices) {
    HostBackend backend(devices);
    MirroredStrategy strategy(backend);
    const auto sum = [&](bool fails) {
      return strategy.run([fails](ReplicaContext& replica) {
        auto own = Tensor<float>::full({1}, 2);
        if (fails && replica.replica_id() == 0) launch(Fails(), updates(own));
        return replica.all_reduce(ReduceOp::kSum, own).item();
      })[0];
    };
    EXPECT_THROW(sum(true), std::runtime_error);
    EXPECT_THROW(sum(true), std::runtime_error);
    EXPECT_EQ(sum(false), 2.0F * static_cast<float>(devices));
  }
}

TEST_F(LostValues, AreThoseOfMemoryOfTheProgram) {
  testing::asserts("SEM-173");
  std::vector<float> mine{1, 2};
  auto y = Tensor<float>::over({2}, std::span(mine), on_);
  launch(Fails(), updates(y));
  EXPECT_THROW(y.to_host(), std::runtime_error);
  EXPECT_THROW(y.to_host(), std::runtime_error);
  launch(Doubles(), writes(y), reads(make({1, 2})));
  EXPECT_THAT(y.to_host(), ElementsAre(2, 4));
}

}  // namespace
}  // namespace belfry::lost_values_test
