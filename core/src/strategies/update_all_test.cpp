// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// update_all with strategies of users: components that are copied, and hooks that throw.
#include "belfry/backend/host_backend.h"
#include "belfry/fused_update.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace belfry::update_all_test {
namespace {

using ::testing::Each;

// Computes component 0, and copies it; throws in between on demand.
class Copying final : public Strategy {
 public:
  explicit Copying(Backend& backend) : Strategy(backend, {}, CallSite::here()) {}
  bool throws = false;

 private:
  void do_update(ComponentWork& work) override {
    work.compute(0);
    if (throws) throw std::domain_error("no step");
    work.copy_from(0);
  }
};

class UpdateAll : public ::testing::Test {
 protected:
  MirroredVariable<Tensor<float>> make(float value) {
    return strategy_.mirrored_variable([&] { return Tensor<float>::full({2}, value); });
  }
  void update() {
    const auto gradient = cross_.broadcast(Tensor<float>::full({2}, 4.0F, strategy_.placement(0)));
    cross_.update_all(weight_, FusedUpdate::momentum(0.5, 1), velocity_, gradient);
  }
  void expect(float weight, float velocity) {
    for (const auto& one : strategy_.local_values(weight_)) {
      EXPECT_THAT(one.to_host(), Each(weight));
    }
    for (const auto& one : strategy_.local_values(velocity_)) {
      EXPECT_THAT(one.to_host(), Each(velocity));
    }
  }

  HostBackend backend_{3};
  Copying strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
  MirroredVariable<Tensor<float>> weight_ = make(1);
  MirroredVariable<Tensor<float>> velocity_ = make(0);
};

TEST_F(UpdateAll, CopiesComponentsAsTheStrategyDecides) {
  testing::asserts("SEM-250");
  update();
  expect(-1, 4);  // 1 - 0.5 * 4
  update();
  expect(-5, 8);  // -1 - 0.5 * (4 + 4)
}

TEST_F(UpdateAll, LeavesNoValueAfterAnExceptionOfAHook) {
  testing::asserts("SEM-250");
  strategy_.throws = true;
  EXPECT_THROW(update(), std::domain_error);
  EXPECT_THROW(strategy_.read(weight_), std::domain_error);
  EXPECT_THROW(update(), std::domain_error) << "the variable has no value";
  const auto set = [](Tensor<float>& own) { own = Tensor<float>::zeros({2}); };
  strategy_.throws = false;
  cross_.update({.anew = true}, weight_, set);
  cross_.update({.anew = true}, velocity_, set);
  update();
  expect(-2, 4);
  strategy_.throws = true;
  EXPECT_THROW(strategy_.transaction([&] { update(); }), std::domain_error);
  expect(-2, 4);
}

TEST_F(UpdateAll, TakesNestsOfTensors) {
  testing::asserts("SEM-250");
  using Pair = std::vector<Tensor<float>>;
  const auto made = [&](float value) {
    return strategy_.mirrored_variable([&] {
      return Pair{Tensor<float>::full({1}, value), Tensor<float>::full({2, 2}, 10 * value)};
    });
  };
  const auto weights = made(1);
  const auto sums = strategy_.run([](ReplicaContext&) {
    return Pair{Tensor<float>::full({1}, 2.0F), Tensor<float>::full({2, 2}, 3.0F)};
  });
  cross_.update_all(weights, FusedUpdate::plain(1), {}, cross_.reduce(ReduceOp::kSum, sums));
  for (const Pair& one : strategy_.local_values(weights)) {
    EXPECT_THAT(one[0].to_host(), Each(1 - 6.0F));
    EXPECT_THAT(one[1].to_host(), Each(10 - 9.0F));
  }
}

}  // namespace
}  // namespace belfry::update_all_test
