// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Users' kernels in watched code: bodies that use their operands alone are certified, and the
// accesses of bodies to memory of the program are named.
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/explore.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/certified.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::watched_kernels_test {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

constexpr float kFactors[] = {2, 3, 5, 7};

/// y = factor * x + y, with scratch memory on the heap.
struct Axpy {
  float factor;
  void on_host(std::span<float> y, std::span<const float> x) const {
    std::vector<float> product(x.begin(), x.end());
    for (float& value : product) value *= factor;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += product[i];
  }
};

/// y = table[y], by a table of the kernel's own or by a constant.
struct LookUp {
  float table[2];
  bool constant;
  void on_host(std::span<float> y) const {
    for (float& value : y) {
      const auto index = static_cast<std::size_t>(value);
      value = constant ? kFactors[index] : table[index];
    }
  }
};

struct Fails {
  void on_host(std::span<float>) const { throw std::runtime_error("a failure"); }
};

/// Writes memory of the program: cell = 10 * cell + y[0].
struct Note {
  static constexpr int kLine = __LINE__ + 2;
  double* cell;
  void on_host(std::span<float> y) const { *cell = 10 * *cell + static_cast<double>(y[0]); }
};

const std::string kPlace = "watched_kernels_test.cpp:" + std::to_string(Note::kLine);

Options options(int devices = 2) { return {.devices = devices}; }

// The evidence against the condition about host bytes; empty if the condition holds.
std::string evidence_of(const Verdict& verdict) {
  const auto& conditions = verdict.report().conditions;
  const auto found = std::ranges::find(
      conditions, "replicas share no host bytes that one of them writes", &Condition::name);
  if (found == conditions.end()) return "no such condition";
  return found->holds ? "" : found->evidence;
}

// Each replica launches `kernel(id)` on a tensor with the number id % 2; the values of all.
template <class Kernel>
std::vector<float> values_of(Backend& backend, const Kernel& kernel) {
  MirroredStrategy strategy{backend};
  const auto values = strategy.run([&](ReplicaContext& replica) {
    const int id = replica.replica_id();
    auto y = Tensor<float>::full(Shape{}, static_cast<float>(id % 2));
    launch(kernel(id), updates(y));
    return y.item();
  });
  return {values.begin(), values.end()};
}

TEST(WatchedKernels, WithOperandsAloneAreCertified) {
  const auto body = [](Backend& backend) {
    MirroredStrategy strategy{backend};
    return strategy.run([](ReplicaContext& replica) {
      const auto x = Tensor<float>::full({2}, static_cast<float>(replica.replica_id() + 1));
      auto y = Tensor<float>::full({2}, 1.0F);
      launch(Axpy{3}, updates(y), reads(x));
      return replica.all_reduce(ReduceOp::kSum, y).to_host()[1];
    })[0];
  };
  const Verdict verdict = explore(options(), body);
  EXPECT_CERTIFIED(verdict);
  EXPECT_EQ(verdict.report().outcomes.at(0).outcome, "11");  // 3 * 1 + 1, and 3 * 2 + 1.
}

TEST(WatchedKernels, ReadTheirOwnMembersAndConstants) {
  for (const bool constant : {false, true}) {
    const auto kernel = [constant](int) { return LookUp{{4, 6}, constant}; };
    const Verdict verdict =
        explore(options(3), [&](Backend& backend) { return values_of(backend, kernel); });
    EXPECT_CERTIFIED(verdict);
    EXPECT_EQ(verdict.report().outcomes.at(0).outcome, constant ? "[2, 3, 2]" : "[4, 6, 4]");
  }
}

TEST(WatchedKernels, OfTwoReplicasThatWriteACapturedVariableRace) {
  const Verdict verdict = explore(options(), [](Backend& backend) {
    const auto cell = std::make_unique<double>(0);
    (void)values_of(backend, [&](int) { return Note{cell.get()}; });
    return *cell;
  });
  EXPECT_THAT(verdict.level(), AnyOf(Eq(VerdictLevel::kRacy), Eq(VerdictLevel::kRefuted)))
      << explain(verdict);
  ASSERT_FALSE(verdict.report().races.empty());
  const Race& race = verdict.report().races[0];
  EXPECT_EQ(race.first.operation, "a kernel");
  EXPECT_EQ(race.second.operation, "a kernel");
  EXPECT_NE(race.first.agent, race.second.agent);
  EXPECT_THAT(race.first.place, HasSubstr(kPlace));
  EXPECT_THAT(race.second.place, HasSubstr(kPlace));
}

// A statement of a replica beside the body of a kernel of a second one; the third does nothing.
TEST(WatchedKernels, AndReplicasThatUseACapturedVariableRace) {
  for (int odd = 0; odd < 3; ++odd) {
    const Verdict verdict = explore(options(3), [odd](Backend& backend) {
      const auto cell = std::make_unique<double>(0);
      MirroredStrategy strategy{backend};
      strategy.run([&](ReplicaContext& replica) {
        const int id = replica.replica_id();
        if (id == odd) *cell = 3;
        if (id != (odd + 1) % 3) return;
        auto y = Tensor<float>::full(Shape{}, 2.0F);
        launch(Note{cell.get()}, updates(y));
        (void)y.item();
      });
      return *cell;
    });
    EXPECT_THAT(verdict.level(), AnyOf(Eq(VerdictLevel::kRacy), Eq(VerdictLevel::kRefuted)))
        << explain(verdict);
    ASSERT_FALSE(verdict.report().races.empty());
    const std::string race = to_string(verdict.report().races[0]);
    EXPECT_THAT(race, HasSubstr("R" + std::to_string((odd + 1) % 3) + " of run 1: a kernel "));
    EXPECT_THAT(race, HasSubstr("R" + std::to_string(odd) + " of run 1: the code "));
  }
}

// After a failure, a wait of a replica ends the kernels of all replicas, and frees their bodies.
TEST(WatchedKernels, EndInWaitsOfOtherReplicasWithoutARace) {
  for (int odd = 0; odd < 3; ++odd) {
    const Verdict verdict = explore(options(3), [odd](Backend& backend) {
      MirroredStrategy strategy{backend};
      std::string said;
      try {
        strategy.run([odd](ReplicaContext& replica) {
          auto y = Tensor<float>::full({2}, 1.0F);
          if (replica.replica_id() == odd) launch(Fails{}, updates(y));
          for (int i = 0; i < 3; ++i) launch(LookUp{{0, 1}, false}, updates(y));
          (void)y.to_host();
        });
      } catch (const std::runtime_error& error) {
        said = error.what();
      }
      return said;
    });
    EXPECT_EQ(verdict.level(), VerdictLevel::kSampled) << explain(verdict);
    EXPECT_TRUE(verdict.report().races.empty()) << explain(verdict);
  }
}

// Each replica has a cell, and waits before the read: no schedule differs, and nobody has proved
// so.
TEST(WatchedKernels, WithMemoryOfTheProgramAreNamed) {
  const Verdict verdict = explore(options(), [](Backend& backend) {
    std::vector<double> cells(2);
    (void)values_of(backend, [&](int id) { return Note{&cells[static_cast<std::size_t>(id)]}; });
    return cells;
  });
  EXPECT_EQ(verdict.level(), VerdictLevel::kSampled) << explain(verdict);
  EXPECT_TRUE(verdict.report().races.empty());
  EXPECT_THAT(evidence_of(verdict), HasSubstr("the kernel Note, launched at"));
  EXPECT_THAT(evidence_of(verdict), HasSubstr("memory of the program at " + kPlace));
}

}  // namespace
}  // namespace belfry::sim::watched_kernels_test
