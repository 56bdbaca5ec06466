// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_backend.h"
#include "belfry/belfry.h"
#include "belfry/current.h"
#include "belfry/launch.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::user_launch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// y += scale * x.
struct ScaleAndAdd {
  float scale = 1;
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += scale * x[i];
  }
};

// z = x in reverse order, by way of scratch memory.
struct Reverse {
  void on_host(std::span<std::byte> memory, std::span<const std::int32_t> x,
               std::span<std::int32_t> z) const {
    auto* const copy = reinterpret_cast<std::int32_t*>(memory.data());
    std::ranges::copy(x, copy);
    std::reverse_copy(copy, copy + x.size(), z.begin());
  }
};

// Calls a function of the test: a kernel is copied bytewise, and holds a pointer.
struct Calls {
  const std::function<void()>* function;
  void on_host(std::span<float> x) const {
    x[0] = 1;
    (*function)();
  }
};

struct ForGpus {
  void on_cuda(void* stream, std::span<float> y, std::span<const std::uint8_t> x,
               std::span<std::byte> memory) const {
    static_cast<void>(stream), static_cast<void>(y), static_cast<void>(x);
    static_cast<void>(memory);
  }
};

struct EqualShapes {
  bool check(const Shape& y, const Shape& x) const { return y == x; }
  void on_host(std::span<float>, std::span<const float>) const {}
};

struct Matrices {
  void check(const Shape& x) const {
    if (x.rank() != 2) throw InvalidArgumentError(ErrorCode::kShape, "x is no matrix");
  }
  void on_host(std::span<float>) const {}
};

template <class T>
struct Templated {
  void on_host(std::span<T>) const {}
};

struct Named {
  static constexpr std::string_view kName = "momentum";
  void on_host(std::span<float>) const {}
};

class UserLaunch : public ::testing::Test {
 protected:
  template <class T = float>
  Tensor<T> make(std::vector<T> values, int device = 0) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return Tensor<T>::from(shape, values, Placement{&backend_, device});
  }
  HostBackend backend_{2};
};

TEST_F(UserLaunch, GivesTheBodySpansInTheOrderOfTheLaunch) {
  testing::asserts("SEM-170");
  auto y = make({1, 2, 3});
  launch(ScaleAndAdd{10}, updates(y), reads(make({1, 2, 3})));
  EXPECT_THAT(y.to_host(), ElementsAre(11, 22, 33));
  const auto x = make<std::int32_t>({4, 5, 6});
  auto z = Tensor<std::int32_t>::uninitialised({3}, x.placement());
  launch(Reverse(), scratch(3 * sizeof(std::int32_t)), reads(x), writes(z));
  EXPECT_THAT(z.to_host(), ElementsAre(6, 5, 4));
}

TEST_F(UserLaunch, CopiesTheKernel) {
  auto y = make({0});
  ScaleAndAdd kernel{2};
  launch(kernel, updates(y), reads(make({3})));
  kernel.scale = 100;
  EXPECT_THAT(y.to_host(), ElementsAre(6));
}

TEST_F(UserLaunch, ChangesNoOtherHandle) {
  testing::asserts("SEM-171");
  auto y = make({1, 2});
  const auto kept = y;
  launch(ScaleAndAdd{1}, updates(y), reads(kept));
  EXPECT_THAT(y.to_host(), ElementsAre(2, 4));
  EXPECT_THAT(kept.to_host(), ElementsAre(1, 2));
  auto z = make<std::int32_t>({7, 8});
  const auto old = z;
  launch(Reverse(), scratch(8), reads(old), writes(z));
  EXPECT_THAT(z.to_host(), ElementsAre(8, 7));
  EXPECT_THAT(old.to_host(), ElementsAre(7, 8));
}

TEST_F(UserLaunch, RefusesATensorThatIsWrittenTwice) {
  testing::asserts("SEM-171");
  auto y = make({1});
  const auto twice = report_of([&] { launch(ScaleAndAdd(), updates(y), reads(y)); });
  EXPECT_EQ(twice.code, ErrorCode::kInternal) << "reads and updates of one tensor are allowed";
  struct Both {
    void on_host(std::span<float>, std::span<float>) const {}
  };
  struct From {
    void on_host(std::span<float>, std::span<const float>) const {}
  };
  const int line = __LINE__ + 1;
  const auto report = report_of([&] { launch(Both(), updates(y), updates(y)); });
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(report.summary,
            "Both: operands 0 and 1 are the same tensor, and the kernel changes the tensor");
  EXPECT_EQ(report.site.line, line);
  EXPECT_EQ(report_of([&] { launch(Both(), writes(y), updates(y)); }).code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(report_of([&] { launch(From(), writes(y), reads(y)); }).code,
            ErrorCode::kInvalidArgument);
  EXPECT_THAT(y.to_host(), ElementsAre(2));
}

TEST_F(UserLaunch, NeedsTensorsOfOneDevice) {
  testing::asserts("SEM-170");
  auto y = make({1});
  Tensor<float> none;
  EXPECT_EQ(report_of([&] { launch(ScaleAndAdd(), updates(y), reads(none)); }).code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(report_of([&] { launch(ScaleAndAdd(), updates(y), reads(make({1}, 1))); }).code,
            ErrorCode::kForeignObject);
  struct Alone {
    void on_host(std::span<std::byte>) const {}
  };
  EXPECT_EQ(report_of([&] { launch(Alone(), scratch(4)); }).code, ErrorCode::kInvalidArgument);
}

TEST_F(UserLaunch, LetsTheKernelRefuseShapes) {
  testing::asserts("SEM-170");
  auto y = make({1, 2});
  EXPECT_NO_THROW(launch(EqualShapes(), updates(y), reads(make({1, 2}))));
  const auto refused = report_of([&] { launch(EqualShapes(), updates(y), reads(make({1}))); });
  EXPECT_EQ(refused.code, ErrorCode::kShape);
  EXPECT_EQ(refused.summary, "EqualShapes: its check refuses the shapes [2], [1]");
  const int line = __LINE__ + 1;
  const auto thrown = report_of([&] { launch(Matrices(), updates(y)); });
  EXPECT_EQ(thrown.summary, "x is no matrix");
  EXPECT_EQ(thrown.site.line, line);
}

TEST_F(UserLaunch, SaysWhichBodyToWrite) {
  testing::asserts("SEM-170");
  auto y = make({1});
  const auto x = make<std::uint8_t>({1});
  const auto report = report_of([&] { launch(ForGpus(), updates(y), reads(x), scratch(8)); });
  EXPECT_EQ(report.code, ErrorCode::kUnsupported);
  EXPECT_EQ(report.summary, "kernel ForGpus has no body for devices of the host and of simulators");
  EXPECT_EQ(report.hint,
            "write void on_host(std::span<float>, std::span<const std::uint8_t>, "
            "std::span<std::byte>) const");
  EXPECT_THAT(y.to_host(), ElementsAre(1));
}

TEST_F(UserLaunch, FailsWorkOfOtherDevicesThatWaitsForTheKernel) {
  testing::asserts("SEM-173");
  const std::function<void()> fail = [] { throw std::runtime_error("no step"); };
  auto y = make({0});
  launch(Calls{&fail}, updates(y));
  const auto copy = y.copy_to(Placement{&backend_, 1});
  EXPECT_THROW(copy.to_host(), std::runtime_error);
  EXPECT_THAT(make({2}).to_host(), ElementsAre(2));
  MirroredStrategy strategy(backend_);
  EXPECT_THROW(strategy.run([&](ReplicaContext& replica) {
    auto own = Tensor<float>::zeros({1});
    if (replica.replica_id() == 1) launch(Calls{&fail}, updates(own));
    return replica.all_reduce(ReduceOp::kSum, own).item();
  }),
               std::runtime_error);
  EXPECT_THAT(strategy.last_failure()->summary,
              ::testing::MatchesRegex("a replica threw std::runtime_error \"no step\" in kernel "
                                      "Calls, launched at user_launch_test.cpp:[0-9]+ by replica "
                                      "1"));
  const auto sums = strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({1}, 1)).item();
  });
  EXPECT_EQ(sums[0], 2);
}

TEST_F(UserLaunch, NamesTheKernelAndThePlaceInErrorsOfBelfry) {
  testing::asserts("SEM-173");
  const std::function<void()> fail = [] {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a negative rate");
  };
  auto y = make({0});
  const int line = __LINE__ + 1;
  launch(Calls{&fail}, updates(y));
  const auto report = report_of([&] { y.to_host(); });
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(report.summary, "kernel Calls: a negative rate");
  EXPECT_EQ(report.site.line, line);
}

TEST_F(UserLaunch, RefusesCallsOfBelfryInABody) {
  testing::asserts("SEM-172");
  MirroredStrategy strategy(backend_);
  DefaultStrategy alone;
  auto x = make({1});
  auto variable = strategy.mirrored_variable(1.0);
  const std::vector<std::function<void()>> calls = {
      [&] { x.to_host(); },
      [&] { static_cast<void>(x + x); },
      [&] { Tensor<float>::zeros({1}); },
      [&] { Tensor<float>::full({1}, 0, Placement{&backend_, 1}); },
      [&] { strategy.run([](ReplicaContext&) {}); },
      [&] { alone.run([](ReplicaContext&) {}); },
      [&] { strategy.read(variable); },
      [&] { strategy.cross_replica().broadcast(1.0); },
      [&] { static_cast<void>(current_strategy()); },
      [&] { static_cast<void>(current_replica()); },
      [&] { backend_.device(0).compute_stream().synchronize(); }};
  for (const auto& call : calls) {
    auto y = make({0});
    launch(Calls{&call}, updates(y));
    const auto report = report_of([&] { y.to_host(); });
    EXPECT_EQ(report.code, ErrorCode::kWrongContext);
    EXPECT_THAT(report.summary, HasSubstr("a call of belfry in the body of kernel Calls"));
  }
  EXPECT_THAT(x.to_host(), ElementsAre(1)) << "outside of bodies every call is allowed again";
}

TEST(NamesOfKernels, AreTheNamesOfTheTypes) {
  struct Local {};
  EXPECT_EQ(detail::kernel_name<ScaleAndAdd>(), "ScaleAndAdd");
  EXPECT_EQ(detail::kernel_name<Templated<std::vector<float>>>(), "Templated");
  EXPECT_EQ(detail::kernel_name<Local>(), "Local");
  EXPECT_EQ(detail::kernel_name<Named>(), "momentum");
  EXPECT_EQ(detail::unqualified_name("f() [K = (anonymous namespace)::a::B<c::D>]"), "B");
  EXPECT_EQ(detail::unqualified_name("f() [with K = {anonymous}::g(int)::B<c::D>]"), "B");
}

}  // namespace
}  // namespace belfry::user_launch_test
