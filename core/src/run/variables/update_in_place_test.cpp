// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Updates in place: without copies, and with a variable without a value after an exception.
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <vector>

namespace belfry::update_in_place_test {
namespace {

using belfry::testing::code_of;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr int kDevices = 3;

class UpdateInPlace : public ::testing::Test {
 protected:
  // An update whose call for component `odd` throws, after the components before have changed.
  void fail(const MirroredVariable<int>& variable, int odd) {
    int component = 0;
    const auto fn = [&](int& own) {
      own += 100;
      if (component++ == odd) throw std::domain_error("no step");
    };
    EXPECT_THROW(cross_.update({.in_place = true}, variable, fn), std::domain_error);
  }

  HostBackend backend_{kDevices};
  MirroredStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(UpdateInPlace, ChangesTheMemoryOfTheComponents) {
  testing::asserts("SEM-42");
  const auto variable = strategy_.mirrored_variable([] { return Tensor<float>::full({2}, 3.0F); });
  const auto places = [&] {
    std::vector<const void*> all;
    for (const auto& component : strategy_.local_values(variable)) {
      all.push_back(component.any().view().buffer->address());
    }
    return all;
  };
  const std::vector<const void*> before = places();
  std::vector<std::size_t> peaks;
  for (int device = 0; device < kDevices; ++device) {
    peaks.push_back(backend_.device(device).memory().peak_bytes);
  }
  cross_.update({.in_place = true}, variable, [](Tensor<float>& own) { scale(own, 2); });
  const auto each = cross_.update_each({.in_place = true}, variable, [](Tensor<float>& own) {
    scale(own, 5);
    return own.placement().device;
  });
  EXPECT_THAT(each, ElementsAre(0, 1, 2));
  EXPECT_EQ(places(), before);
  for (int device = 0; device < kDevices; ++device) {
    EXPECT_EQ(backend_.device(device).memory().peak_bytes, peaks[static_cast<std::size_t>(device)]);
  }
  EXPECT_THAT(strategy_.read(variable).to_host(), ElementsAre(30, 30));
  // A handle of the program keeps its value.
  const Tensor<float> kept = strategy_.local_values(variable)[1];
  cross_.update({.in_place = true}, variable, [](Tensor<float>& own) { scale(own, 2); });
  EXPECT_THAT(kept.to_host(), ElementsAre(30, 30));
  for (const auto& component : strategy_.local_values(variable)) {
    EXPECT_THAT(component.to_host(), ElementsAre(60, 60));
  }
}

// Replicas on further devices see new copies.
TEST_F(UpdateInPlace, RenewsTheCopiesOfOtherDevices) {
  testing::asserts("SEM-42");
  for (int device = 0; device < kDevices; ++device) {
    const auto scope = strategy_.one_device_variable_scope(backend_.device_spec(device));
    const auto variable =
        strategy_.mirrored_variable([] { return Tensor<float>::full({1}, 3.0F); });
    const void* const before = strategy_.local_values(variable)[0].any().view().buffer->address();
    cross_.update({.in_place = true}, variable, [](Tensor<float>& own) { scale(own, 2); });
    EXPECT_EQ(strategy_.local_values(variable)[0].any().view().buffer->address(), before);
    const auto seen =
        strategy_.run([&](ReplicaContext& replica) { return variable.on(replica).item(); });
    EXPECT_THAT(std::vector<float>(seen.begin(), seen.end()), Each(6));
  }
}

TEST_F(UpdateInPlace, LeavesAVariableWithoutAValueAfterAnException) {
  testing::asserts("SEM-42");
  for (int odd = 0; odd < kDevices; ++odd) {
    const auto variable = strategy_.mirrored_variable(1, {.aggregation = Aggregation::kOnlyFirst});
    const auto other = strategy_.mirrored_variable(1);
    fail(variable, odd);
    const auto update = [](int& own) { own += 1; };
    const auto add = [](int& own, int by) { own += by; };
    const std::vector<std::function<void()>> uses = {
        [&] { strategy_.read(variable); },
        [&] { strategy_.local_values(variable); },
        [&] { cross_.fetch(variable, backend_.device_spec(1)); },
        [&] { cross_.update(variable, update); },
        [&] { cross_.update({.in_place = true}, variable, update); },
        [&] { cross_.update(other, add, variable); },
        [&] { strategy_.run([&](ReplicaContext& replica) { return variable.on(replica); }); },
        [&] { strategy_.run([&](ReplicaContext& replica) { replica.assign_add(variable, 1); }); }};
    for (std::size_t use = 0; use < uses.size(); ++use) {
      EXPECT_THROW(uses[use](), std::domain_error) << use;
    }
    EXPECT_EQ(strategy_.read(other), 1);
    cross_.update({.anew = true}, variable, [](int& own) { own = 5; });
    EXPECT_THAT(strategy_.local_values(variable), Each(5));
    fail(variable, odd);
    strategy_.run([&](ReplicaContext& replica) { replica.assign(variable, 7); });
    EXPECT_THAT(strategy_.local_values(variable), Each(7));
  }
}

TEST_F(UpdateInPlace, IsUndoneByATransaction) {
  testing::asserts("SEM-59");
  const auto variable = strategy_.mirrored_variable(1);
  EXPECT_THROW(strategy_.transaction([&] {
    fail(variable, 1);
    throw std::domain_error("the end");
  }),
               std::domain_error);
  EXPECT_THAT(strategy_.local_values(variable), Each(1));
}

TEST_F(UpdateInPlace, HasNoReaderMeanwhile) {
  testing::asserts("SEM-42");
  const auto variable = strategy_.mirrored_variable(1);
  EXPECT_EQ(code_of([&] {
              cross_.update(
                  {.in_place = true}, variable, [](int& own, int by) { own += by; }, variable);
            }),
            ErrorCode::kInvalidArgument);
  EXPECT_THAT(strategy_.local_values(variable), Each(1)) << "nothing has changed";
  EXPECT_EQ(code_of([&] {
              cross_.update({.in_place = true}, variable,
                            [&](int& own) { own += strategy_.read(variable); });
            }),
            ErrorCode::kWrongContext);
  EXPECT_EQ(code_of([&] { strategy_.read(variable); }), ErrorCode::kWrongContext);
  EXPECT_EQ(to_string(UpdateOptions{.in_place = true}), "{.in_place = true}");
}

}  // namespace
}  // namespace belfry::update_in_place_test
