// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// What follows a mistake that the checks of users' kernels find, and what they leave alone. Random
// kernels with each mistake: checked_body_props_test.cpp.
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>

namespace belfry::sim::checked_body_test {
namespace {

using ::testing::ElementsAre;

// y[i] = x[i] up to the element before `end`.
struct Copy {
  std::ptrdiff_t end = 0;
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::ptrdiff_t i = 0; i < end; ++i) {
      y.data()[i] = x[static_cast<std::size_t>(i) % x.size()];
    }
  }
};

// y += x.
struct Add {
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += x[i];
  }
};

struct Calls {
  const std::function<void()>* function;
  void on_host(std::span<float> y) const {
    y[0] = -1;
    (*function)();
  }
};

// A backend with the checks, and tensors on its first device.
class CheckedKernels : public ::testing::Test {
 protected:
  static Options options() { return {.devices = 2, .seed = 3, .check_kernels = true}; }
  Tensor<float> row(std::initializer_list<float> values) const {
    return Tensor<float>::from({static_cast<std::int64_t>(values.size())}, values, on_);
  }
  Tensor<float> uninitialised(std::int64_t count) const {
    return Tensor<float>::uninitialised({count}, on_);
  }

  Backend backend_{options()};
  const Placement on_{&backend_, 0};
};

// The report of reading `x`; nothing if `x` has a value.
template <class T>
std::optional<ErrorReport> report_of(const Tensor<T>& x) {
  try {
    x.to_host();
  } catch (const DeviceError& error) {
    EXPECT_NE(error.report().hint, "");
    EXPECT_FALSE(error.report().site.empty());
    return error.report();
  }
  return std::nullopt;
}

TEST_F(CheckedKernels, LoseTheirResultsAloneAndLeaveTheBackendInUse) {
  belfry::testing::asserts("SEM-174");
  const auto x = row({1, 2, 3});
  auto y = row({4, 5, 6});
  const auto same = y;
  launch(Copy{.end = 4}, updates(y), reads(x));
  EXPECT_TRUE(report_of(y).has_value());
  EXPECT_TRUE(report_of(y).has_value()) << "each reader gets the report";
  EXPECT_THAT(same.to_host(), ElementsAre(4, 5, 6));
  EXPECT_THAT(x.to_host(), ElementsAre(1, 2, 3));
  launch(Copy{.end = 3}, writes(y), reads(x));
  EXPECT_THAT(y.to_host(), ElementsAre(1, 2, 3));
  launch(Copy{.end = 1}, updates(y), reads(row({7, 7, 7})));
  EXPECT_THAT(y.to_host(), ElementsAre(7, 2, 3)) << "an updated tensor may keep elements";
}

TEST_F(CheckedKernels, NameTheReplicaAndTheLaunch) {
  belfry::testing::asserts("SEM-174");
  for (const Carrier carrier : {Carrier::kFiber, Carrier::kBaton, Carrier::kConcurrent}) {
    Options drawn = options();
    drawn.carrier = carrier;
    Backend backend(drawn);
    MirroredStrategy strategy(backend);
    const int line = __LINE__ + 4;
    const auto step = [](ReplicaContext& replica) {
      auto y = Tensor<float>::full({3}, 1.0F);
      const auto x = Tensor<float>::full({3}, 2.0F);
      launch(Copy{.end = 3 + replica.replica_id()}, updates(y), reads(x));
      return y.to_host()[0];
    };
    try {
      strategy.run(step);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfBounds);
      EXPECT_EQ(error.report().site.line, line);
      ASSERT_EQ(error.report().replicas.size(), 1U);
      EXPECT_EQ(error.report().replicas[0].replica_id, 1);
    }
  }
}

TEST_F(CheckedKernels, ThrowTheExceptionsOfTheirBodies) {
  belfry::testing::asserts("SEM-173");
  const std::function<void()> fail = [] { throw std::domain_error("no root"); };
  auto y = row({1});
  launch(Calls{&fail}, updates(y));
  EXPECT_THROW(y.to_host(), std::domain_error);
}

TEST_F(CheckedKernels, ReadAnUpdatedTensorInTheSameMemory) {
  belfry::testing::asserts("SEM-171");
  struct Prefix {
    void on_host(std::span<float> y, std::span<const float> x) const {
      for (std::size_t i = 1; i < y.size(); ++i) y[i] += x[i - 1];
    }
  };
  auto y = row({1, 2, 3});
  launch(Prefix{}, updates(y), reads(y));
  EXPECT_THAT(y.to_host(), ElementsAre(1, 3, 6));
}

TEST_F(CheckedKernels, GetAlignedScratchMemoryAndOperandsWithoutElements) {
  belfry::testing::asserts("SEM-170");
  struct Remainder {
    void on_host(std::span<float> y, std::span<std::byte> memory, std::span<const float> x) const {
      y[0] = static_cast<float>(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 + x.size());
    }
  };
  auto y = uninitialised(1);
  launch(Remainder{}, writes(y), scratch(5), reads(uninitialised(0)));
  EXPECT_THAT(y.to_host(), ElementsAre(0));
}

TEST(UncheckedKernels, RunOnceAndTrustTheDeclaration) {
  belfry::testing::asserts("SEM-174");
  const auto calls_with = [](bool check_kernels) {
    Backend backend({.devices = 1, .check_kernels = check_kernels});
    int calls = 0;
    const std::function<void()> count = [&] { ++calls; };
    auto y = Tensor<float>::uninitialised({1}, Placement{&backend, 0});
    launch(Calls{&count}, writes(y));
    EXPECT_THAT(y.to_host(), ElementsAre(-1));
    return calls;
  };
  EXPECT_FALSE(Options().check_kernels);
  EXPECT_EQ(calls_with(false), 1);
  EXPECT_GT(calls_with(true), 2);
  Backend backend({.devices = 1});
  auto z = Tensor<float>::full({1}, 7, Placement{&backend, 0});
  const auto x = Tensor<float>::full({1}, 2, Placement{&backend, 0});
  launch(Add{}, writes(z), reads(x));
  EXPECT_THAT(z.to_host(), ElementsAre(9));
}

}  // namespace
}  // namespace belfry::sim::checked_body_test
