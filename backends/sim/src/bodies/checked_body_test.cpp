// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Checks of users' kernels: bodies with an access outside of the declaration, each beside a body
// without the mistake.
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::checked_body_test {
namespace {

using ::testing::ElementsAre;

// The median of x: sorts in scratch memory, or with the mistake in place.
struct Median {
  bool in_place = false;
  void on_host(std::span<const float> x, std::span<std::byte> memory, std::span<float> z) const {
    const std::span copy(reinterpret_cast<float*>(memory.data()), x.size());
    std::ranges::copy(x, copy.begin());
    const std::span sorted = in_place ? std::span(const_cast<float*>(x.data()), x.size()) : copy;
    std::ranges::sort(sorted);
    z[0] = sorted[x.size() / 2];
  }
};

// y[i] = x[i] from the element `begin` to the element before `end`.
struct Copy {
  std::ptrdiff_t begin = 0;
  std::ptrdiff_t end = 0;
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::ptrdiff_t i = begin; i < end; ++i) {
      y.data()[i] = x[static_cast<std::size_t>(i < 0 ? 0 : i) % x.size()];
    }
  }
};

// z[i] = x[i + 1] - x[i], for all i, or with the mistake also behind the last pair.
struct Differences {
  std::size_t pairs = 0;
  void on_host(std::span<float> z, std::span<const float> x) const {
    std::ranges::fill(z, 0.0F);
    for (std::size_t i = 0; i < pairs; ++i) z[i] = x.data()[i + 1] - x[i];
  }
};

// z[0] = the sum of x.
struct Sum {
  bool starts_at_zero = true;
  void on_host(std::span<const float> x, std::span<float> z) const {
    if (starts_at_zero) z[0] = 0;
    for (float value : x) z[0] += value;
  }
};

// counts[x[i]] counts in scratch memory; z[0] = the largest count.
struct LargestCount {
  bool clears = true;
  void on_host(std::span<const std::int32_t> x, std::span<std::byte> memory,
               std::span<std::int32_t> z) const {
    if (clears) std::memset(memory.data(), 0, memory.size());
    const std::span counts(reinterpret_cast<std::int32_t*>(memory.data()),
                           memory.size() / sizeof(std::int32_t));
    z[0] = 0;
    for (std::int32_t value : x) {
      z[0] = std::max(z[0], ++counts[static_cast<std::size_t>(value)]);
    }
  }
};

// y += the number of the call, or with a null pointer 1.
struct AddCalls {
  int* calls = nullptr;
  void on_host(std::span<float> y) const {
    const float step = calls == nullptr ? 1.0F : static_cast<float>(++*calls);
    for (float& value : y) value += step;
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

template <class T>
void expect_report(const Tensor<T>& x, ErrorCode code, const std::string& summary) {
  const std::optional<ErrorReport> found = report_of(x);
  ASSERT_TRUE(found.has_value()) << "nothing was found, and this was expected: " << summary;
  EXPECT_EQ(found->code, code);
  EXPECT_EQ(found->summary, summary);
}

TEST_F(CheckedKernels, MayNotChangeWhatTheyRead) {
  belfry::testing::asserts("SEM-174");
  const auto x = row({9, 1, 5});
  auto z = uninitialised(1);
  launch(Median{}, reads(x), scratch(12), writes(z));
  EXPECT_THAT(z.to_host(), ElementsAre(5));
  launch(Median{.in_place = true}, reads(x), scratch(12), writes(z));
  expect_report(z, ErrorCode::kOutOfBounds,
                "kernel Median: the body changes element 0 of operand 0 (reads, 3 x float32), and "
                "the launch declares no change");
  EXPECT_THAT(x.to_host(), ElementsAre(9, 1, 5)) << "the body worked on a copy";
}

TEST_F(CheckedKernels, MayNotWriteOutsideOfOperands) {
  belfry::testing::asserts("SEM-174");
  const auto x = row({1, 2, 3});
  auto y = uninitialised(3);
  launch(Copy{.end = 3}, writes(y), reads(x));
  EXPECT_THAT(y.to_host(), ElementsAre(1, 2, 3));
  launch(Copy{.end = 4}, writes(y), reads(x));
  expect_report(y, ErrorCode::kOutOfBounds,
                "kernel Copy: the body writes element 3 of operand 0 (writes, 3 x float32), "
                "outside of the operand");
  launch(Copy{.begin = -2, .end = 3}, writes(y), reads(x));
  expect_report(y, ErrorCode::kOutOfBounds,
                "kernel Copy: the body writes element -1 of operand 0 (writes, 3 x float32), "
                "outside of the operand");
}

TEST_F(CheckedKernels, MayNotReadOutsideOfOperands) {
  belfry::testing::asserts("SEM-174");
  const auto x = row({1, 4, 9});
  auto z = uninitialised(3);
  launch(Differences{.pairs = 2}, writes(z), reads(x));
  EXPECT_THAT(z.to_host(), ElementsAre(3, 5, 0));
  launch(Differences{.pairs = 3}, writes(z), reads(x));
  expect_report(z, ErrorCode::kOutOfBounds,
                "kernel Differences: element 2 of operand 0 (writes, 3 x float32) depends on "
                "memory outside of operand 1 (reads, 3 x float32)");
}

TEST_F(CheckedKernels, WriteEveryElementOfWrites) {
  belfry::testing::asserts("SEM-174");
  const auto x = row({1, 2, 3});
  auto z = row({7, 7, 7});
  launch(Copy{.end = 2}, updates(z), reads(x));
  EXPECT_THAT(z.to_host(), ElementsAre(1, 2, 7)) << "an updated tensor may keep elements";
  launch(Copy{.end = 2}, writes(z), reads(x));
  expect_report(z, ErrorCode::kUninitialised,
                "kernel Copy: the body leaves element 2 of operand 0 (writes, 3 x float32) "
                "unwritten");
}

TEST_F(CheckedKernels, MayNotReadWrittenTensorsBefore) {
  belfry::testing::asserts("SEM-174");
  const auto x = row({1, 2, 3});
  auto z = row({0});
  launch(Sum{}, reads(x), writes(z));
  EXPECT_THAT(z.to_host(), ElementsAre(6));
  launch(Sum{.starts_at_zero = false}, reads(x), updates(z));
  EXPECT_THAT(z.to_host(), ElementsAre(12)) << "an updated tensor has contents";
  launch(Sum{.starts_at_zero = false}, reads(x), writes(z));
  expect_report(z, ErrorCode::kUninitialised,
                "kernel Sum: element 0 of operand 1 (writes, 1 x float32) depends on the contents "
                "of the operand before the body");
}

TEST_F(CheckedKernels, MayNotReadScratchMemoryBefore) {
  belfry::testing::asserts("SEM-174");
  const auto x = Tensor<std::int32_t>::from({4}, {1, 0, 1, 1}, on_);
  auto z = Tensor<std::int32_t>::uninitialised({1}, on_);
  launch(LargestCount{}, reads(x), scratch(8), writes(z));
  EXPECT_THAT(z.to_host(), ElementsAre(3));
  launch(LargestCount{.clears = false}, reads(x), scratch(8), writes(z));
  expect_report(z, ErrorCode::kUninitialised,
                "kernel LargestCount: element 0 of operand 2 (writes, 1 x int32) depends on the "
                "contents of operand 1 (scratch, 8 x uint8) before the body");
}

TEST_F(CheckedKernels, GiveTheSameBitsAgain) {
  belfry::testing::asserts("SEM-174");
  int calls = 0;
  auto y = row({1, 2});
  launch(AddCalls{}, updates(y));
  EXPECT_THAT(y.to_host(), ElementsAre(2, 3));
  launch(AddCalls{&calls}, updates(y));
  expect_report(y, ErrorCode::kNotDeterministic,
                "kernel AddCalls: element 0 of operand 0 (updates, 2 x float32) has other bits if "
                "the body runs again with equal operands");
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
  launch(Sum{.starts_at_zero = false}, reads(x), writes(z));
  EXPECT_THAT(z.to_host(), ElementsAre(9));
}

}  // namespace
}  // namespace belfry::sim::checked_body_test
