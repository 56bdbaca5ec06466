// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Kernels of users on the simulator: what the log and the checks know of them, and what is left of
// a body that throws.
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/observer.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/each_place.h"
#include "testing/seen.h"
#include "testing/under_schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::user_kernels_test {
namespace {

using belfry::testing::code_of;
using ::testing::HasSubstr;
using testing::Seen;
using testing::SeenOnce;
using testing::under_schedules;

// y += scale * x.
struct ScaleAndAdd {
  float scale = 1;
  void on_host(std::span<float> y, std::span<const float> x) const {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += scale * x[i];
  }
};

// z = the sum of x, and fills scratch memory with a pattern of its own.
struct Sum {
  unsigned char pattern = 0;
  void on_host(std::span<const float> x, std::span<std::byte> memory, std::span<float> z) const {
    for (std::byte& byte : memory) byte = std::byte{pattern};
    z[0] = 0;
    for (float value : x) z[0] += value;
  }
};

// Writes an element, then calls a function of the test.
struct WritesAndCalls {
  const std::function<void()>* function;
  void on_host(std::span<float> y) const {
    y[0] = -1;
    (*function)();
  }
};

const std::function<void()> kThrow = [] { throw std::runtime_error("no step"); };

float value_of(const Tensor<float>& x) { return x.to_host()[0]; }

TEST(UserKernels, AreInTheLogWithTheirNameAndTheirAccesses) {
  belfry::testing::asserts("SEM-170");
  Seen seen;
  Backend backend({.devices = 1, .schedule = Schedule::fixed()}, Attachments{.observer = &seen});
  const Placement on{&backend, 0};
  auto y = Tensor<float>::full({3}, 1, on);
  auto z = Tensor<float>::uninitialised({1}, on);
  const auto x = Tensor<float>::full({3}, 2, on);
  const int line = __LINE__ + 1;
  launch(ScaleAndAdd(), updates(y), reads(x));
  launch(Sum(), reads(y), scratch(16), writes(z));
  EXPECT_EQ(value_of(z), 9);
  std::vector<SeenOnce> ours;
  for (const SeenOnce& one : seen.of(Observation::Kind::kTookEffect)) {
    if (one.name == "ScaleAndAdd" || one.name == "Sum") ours.push_back(one);
  }
  ASSERT_EQ(ours.size(), 2U);
  EXPECT_EQ(ours[0].site.line, line);
  const auto text = [](const SeenOnce& one) {
    std::string accesses;
    for (const Footprint& print : one.footprints) {
      accesses += print.mode == AccessMode::kRead ? 'r' : 'w';
      accesses += std::to_string(print.end - print.begin) + ' ';
    }
    return accesses;
  };
  EXPECT_EQ(text(ours[0]), "r12 r12 w12 ");
  EXPECT_EQ(text(ours[1]), "r12 w4 w16 ");
}

TEST(UserKernels, AreCheckedForReadsOfUnwrittenMemory) {
  belfry::testing::asserts("SEM-170");
  Backend backend({.devices = 1});
  const Placement on{&backend, 0};
  auto y = Tensor<float>::full({1}, 1, on);
  const auto unwritten = Tensor<float>::uninitialised({1}, on);
  const auto text_of = [&](Tensor<float>& updated, const Tensor<float>& read) -> std::string {
    launch(ScaleAndAdd(), updates(updated), reads(read));
    try {
      updated.to_host();
    } catch (const DeviceError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(text_of(y, unwritten), HasSubstr("BF-062 ScaleAndAdd on "));
  EXPECT_EQ(value_of(y), 1) << "work that does not run leaves an updated tensor as it was";
  auto new_one = Tensor<float>::uninitialised({1}, on);
  EXPECT_THAT(text_of(new_one, y), HasSubstr("BF-062 ScaleAndAdd on "));
  auto z = Tensor<float>::uninitialised({1}, on);
  launch(Sum(), reads(y), scratch(4), writes(z));
  EXPECT_EQ(value_of(z), 1);
}

TEST(UserKernels, GiveTheSameDigestsWhateverIsInScratchMemory) {
  belfry::testing::asserts("SEM-170");
  const auto hash_of = [](unsigned char pattern, float value) {
    Backend backend({.devices = 1, .digests = Digests::kAll, .seed = 3});
    const Placement on{&backend, 0};
    auto z = Tensor<float>::uninitialised({1}, on);
    launch(Sum{pattern}, reads(Tensor<float>::full({3}, value, on)), scratch(16), writes(z));
    z.to_host();
    return backend.log().hash();
  };
  EXPECT_EQ(hash_of(1, 2), hash_of(7, 2));
  EXPECT_NE(hash_of(1, 2), hash_of(1, 3));
}

TEST(UserKernels, ThatThrowLeaveNoValueInTheirOutputsAlone) {
  belfry::testing::asserts("SEM-173");
  under_schedules([](Backend& backend) {
    const Placement on{&backend, 0};
    auto y = Tensor<float>::full({2}, 5, on);
    const auto copy = y.copy_to(Placement{&backend, 1}).copy_to(on);
    const auto shared = y;
    launch(WritesAndCalls{&kThrow}, updates(y));
    EXPECT_THROW(y.to_host(), std::runtime_error);
    EXPECT_THROW(y.to_host(), std::runtime_error) << "each reader hears the reason";
    EXPECT_EQ(value_of(shared), 5);
    EXPECT_EQ(value_of(copy), 5);
    launch(Sum(), reads(copy), scratch(0), writes(y));
    EXPECT_EQ(value_of(y), 10) << "a tensor that is written anew has a value again";
    const std::function<void()> other = [] { throw std::logic_error("another reason"); };
    launch(WritesAndCalls{&other}, updates(y));
    EXPECT_THROW(y.to_host(), std::logic_error);
    EXPECT_THROW(y.to_host(), std::logic_error) << "not the reason of before";
  });
}

TEST(UserKernels, RunOnceAlsoIfTheirMemoryRunsOut) {
  belfry::testing::asserts("SEM-173");
  Backend backend({.devices = 1});
  int calls = 0;
  const std::function<void()> starve = [&] {
    ++calls;
    throw std::bad_alloc();
  };
  auto y = Tensor<float>::full({1}, 5, Placement{&backend, 0});
  launch(WritesAndCalls{&starve}, updates(y));
  EXPECT_THROW(y.to_host(), std::bad_alloc);
  EXPECT_EQ(calls, 1);
}

TEST(UserKernels, ThatThrowInAReplicaEndTheRunWithTheirException) {
  belfry::testing::asserts("SEM-173");
  under_schedules([](Backend& backend) {
    MirroredStrategy strategy(backend);
    for (const int odd : {0, 1}) {
      const std::string place = "user_kernels_test.cpp:" + std::to_string(__LINE__ + 3);
      const auto step = [&](ReplicaContext& replica) {
        auto y = Tensor<float>::full({1}, 1.0F);
        if (replica.replica_id() == odd) launch(WritesAndCalls{&kThrow}, updates(y));
        return value_of(replica.all_reduce(ReduceOp::kSum, y));
      };
      EXPECT_THROW(strategy.run(step), std::runtime_error);
      EXPECT_EQ(strategy.last_failure()->summary,
                "a replica threw std::runtime_error \"no step\" in kernel WritesAndCalls, launched "
                "at " +
                    place + " by replica " + std::to_string(odd));
      const auto sums = strategy.run([](ReplicaContext& replica) {
        return value_of(replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({1}, 2.0F)));
      });
      EXPECT_EQ(sums[0], 4);
      EXPECT_EQ(sums[1], 4);
    }
  });
}

TEST(UserKernels, NameTheReplicaInErrorsOfBelfry) {
  belfry::testing::asserts("SEM-173");
  Backend backend({.devices = 2});
  MirroredStrategy strategy(backend);
  const std::function<void()> fail = [] {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a negative rate");
  };
  belfry::testing::at_each_place(2, [&](int odd) {
    const int line = __LINE__ + 3;
    const auto step = [&](ReplicaContext& replica) {
      auto y = Tensor<float>::full({1}, 1.0F);
      if (replica.replica_id() == odd) launch(WritesAndCalls{&fail}, updates(y));
      return value_of(y);
    };
    try {
      strategy.run(step);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InvalidArgumentError& error) {
      EXPECT_EQ(error.report().summary, "kernel WritesAndCalls: a negative rate");
      ASSERT_EQ(error.report().replicas.size(), 1U);
      EXPECT_EQ(error.report().replicas[0].replica_id, odd);
      EXPECT_EQ(error.report().site.line, line);
    }
  });
}

// The code around launches may hold a lock, and a body may take the lock.
TEST(UserKernels, DoNotRunInsideCallsThatDoNotWait) {
  belfry::testing::asserts("SEM-172");
  under_schedules([](Backend& backend) {
    bool is_locked = true;
    int ran = 0;
    int ran_locked = 0;
    const std::function<void()> body = [&] {
      ran += 1;
      ran_locked += is_locked ? 1 : 0;
    };
    std::vector<Tensor<float>> tensors;
    for (int step = 0; step < 10; ++step) {
      const Placement on{&backend, step % 2};
      auto y = Tensor<float>::full({1}, 1, on);
      launch(WritesAndCalls{&body}, updates(y));
      const auto other = y.copy_to({&backend, 1 - on.device});
      add_to(y, Tensor<float>::full({1}, 1, on));
      tensors.push_back(std::move(y));
    }
    is_locked = false;
    for (const auto& tensor : tensors) EXPECT_EQ(value_of(tensor), 0);  // -1 + 1
    EXPECT_EQ(ran, 10);
    EXPECT_EQ(ran_locked, 0);
  });
}

TEST(UserKernels, MayNotCallBelfryOnAnyCarrier) {
  belfry::testing::asserts("SEM-172");
  under_schedules([](Backend& backend) {
    MirroredStrategy strategy(backend);
    const Placement on{&backend, 0};
    const auto x = Tensor<float>::full({1}, 1, on);
    const std::vector<std::function<void()>> calls = {
        [&] { x.to_host(); },
        [&] { Tensor<float>::full({1}, 0, on); },
        [&] { strategy.run([](ReplicaContext&) {}); },
        [&] { backend.device(1).compute_stream().synchronize(); },
        [&] { static_cast<void>(backend.device(0)); },
        [&] { static_cast<void>(backend.memory_report()); }};
    for (const auto& call : calls) {
      auto y = Tensor<float>::full({1}, 1, on);
      launch(WritesAndCalls{&call}, updates(y));
      EXPECT_EQ(code_of([&] { y.to_host(); }), ErrorCode::kWrongContext);
      strategy.run([&](ReplicaContext&) {
        auto own = Tensor<float>::full({1}, 1.0F);
        launch(WritesAndCalls{&call}, updates(own));
        EXPECT_EQ(code_of([&] { own.to_host(); }), ErrorCode::kWrongContext);
      });
    }
    strategy.run([](ReplicaContext& replica) {
      const std::function<void()> merge = [&] { replica.all_reduce(ReduceOp::kSum, 1.0); };
      auto own = Tensor<float>::full({1}, 1.0F);
      launch(WritesAndCalls{&merge}, updates(own));
      EXPECT_EQ(code_of([&] { own.to_host(); }), ErrorCode::kMergeNested);
    });
    EXPECT_EQ(value_of(x), 1);
  });
}

}  // namespace
}  // namespace belfry::sim::user_kernels_test
