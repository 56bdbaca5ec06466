// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Variables made by replicas: equal requests of all replicas make a single variable (SEM-48).
#include "belfry/backend/host_backend.h"
#include "belfry/detail/merge_point.h"
#include "belfry/strategies.h"
#include "belfry/tensor.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace belfry::replica_variables_test {
namespace {

using ::testing::ElementsAre;

struct Last {
  int combine(int /*folded*/, int next) const { return next; }
  int finalize(int folded, int /*replicas*/) const { return folded; }
};

class VariablesOfReplicas : public ::testing::Test {
 protected:
  /// The requests of two replicas in the message, if replica 0 calls `first`, and replica 1,
  /// replica 2 or both call `second`: equal for all three. Empty without an error.
  template <class First, class Second>
  std::vector<std::string> asked_for(const First& first, const Second& second) {
    std::vector<std::vector<std::string>> asked(3);
    testing::at_each_place(3, [&](int odd) {
      try {
        strategy_.run([&](ReplicaContext& replica) {
          const int own = replica.replica_id();
          own == 0 || (own != odd && odd != 0) ? first() : second();
        });
      } catch (const VariableMismatchError& error) {
        EXPECT_EQ(error.code(), ErrorCode::kVariableMismatch);
        const std::vector<ReplicaReport>& replicas = error.report().replicas;
        // The message may have all replicas. If the replicas 1 and 2 differ, replica 1 is enough.
        const int other = std::max(odd, 1);
        for (const ReplicaReport& each : replicas) {
          if (each.replica_id != 0 && each.replica_id != other) continue;
          asked[static_cast<std::size_t>(odd)].push_back(each.what);
        }
      }
    });
    EXPECT_THAT(asked, ::testing::Each(asked[0]));
    return asked[0];
  }
  template <class T>
  auto making(T value, VariableOptions options = {}) {
    options.name = "v";
    return [this, value, options] { strategy_.variable(value, options); };
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

TEST_F(VariablesOfReplicas, AreOneIfAllAskForTheSame) {
  EXPECT_THAT(asked_for(making(1.0), making(1.0)), ElementsAre());
  EXPECT_THAT(asked_for(making(1.0, {.trainable = false}), making(1.0, {.trainable = false})),
              ElementsAre());
}

TEST_F(VariablesOfReplicas, HaveOneType) {
  testing::asserts("SEM-48");
  EXPECT_THAT(asked_for(making(1.0), making(1.0F)),
              ElementsAre("asked for \"v\", on write, aggregation none, float64",
                          "asked for \"v\", on write, aggregation none, float32"));
  // The value of an initialiser is unknown before replica 0 calls the initialiser, but its type is
  // known.
  EXPECT_THAT(asked_for(making([] { return 1.0; }), making([] { return 1.0F; })),
              ::testing::SizeIs(2));
  EXPECT_THAT(asked_for(making([] { return 1.0; }), making([] { return 2.0; })), ElementsAre());
}

TEST_F(VariablesOfReplicas, AreOfOneKind) {
  const auto local = [&] { strategy_.replica_local_variable(ReduceOp::kSum, 1.0, {.name = "v"}); };
  EXPECT_THAT(asked_for(making(1.0, {.aggregation = Aggregation::kSum, .trainable = false}), local),
              ElementsAre("asked for \"v\", on write, aggregation sum, not trainable, float64",
                          "asked for \"v\", on read, aggregation sum, not trainable, float64"));
}

TEST_F(VariablesOfReplicas, AreTrainableForAllOrNone) {
  EXPECT_THAT(asked_for(making(1.0), making(1.0, {.trainable = false})),
              ElementsAre("asked for \"v\", on write, aggregation none, float64",
                          "asked for \"v\", on write, aggregation none, not trainable, float64"));
}

TEST_F(VariablesOfReplicas, HaveOneAggregation) {
  EXPECT_THAT(asked_for(making(1.0, {.aggregation = Aggregation::kSum}),
                        making(1.0, {.aggregation = Aggregation::kMean})),
              ElementsAre("asked for \"v\", on write, aggregation sum, float64",
                          "asked for \"v\", on write, aggregation mean, float64"));
}

TEST_F(VariablesOfReplicas, ShareNamesThatDifferInOneDigit) {
  testing::asserts("SEM-48");
  const auto named = [&](const std::string& name) {
    return [this, name] { strategy_.variable(1.0, {.name = name}); };
  };
  const auto same = [&](const std::string& first, const std::string& second) {
    return asked_for(named(first), named(second)).empty();
  };
  EXPECT_TRUE(same("foo", "foo_1"));
  EXPECT_TRUE(same("foo_1", "foo_2"));
  EXPECT_TRUE(same("foo_1/bar_2", "foo/bar_3"));
  // Only a `_` with a single digit is cut off.
  for (const std::string other : {"foo_12", "foo1", "foo_a", "foo_1:0", "foo_", "foo_1_1"}) {
    EXPECT_FALSE(same("foo", other)) << other;
    EXPECT_TRUE(same(other, other)) << other;
  }
  EXPECT_FALSE(same("foo_10", "foo_11"));
  EXPECT_FALSE(same("foo_12/bar", "foo/bar"));
}

// A list may have no leaf: its structure is compared like any structure.
TEST_F(VariablesOfReplicas, HaveOneStructureAlsoWithoutLeaves) {
  using Lists = std::vector<std::vector<double>>;
  using Deep = std::vector<Lists>;
  const std::string asked = "asked for \"v\", on write, aggregation none, ";
  EXPECT_THAT(asked_for(making(Lists{{1.0}}), making(Lists{})),
              ElementsAre(asked + "[0]float64[1]", asked + "no elements"));
  EXPECT_THAT(asked_for(making(Lists{}), making(Lists{{}})),
              ElementsAre(asked + "no elements", asked + "[0]float64[0]"));
  EXPECT_THAT(asked_for(making(Deep{}), making(Deep{{}})),
              ElementsAre(asked + "no elements", asked + "[0]no elements"));
  EXPECT_THAT(asked_for(making(Lists{}), making(Lists{})), ElementsAre());
  // Values known only to an initialiser are not compared.
  EXPECT_THAT(asked_for(making(Lists{}), making([] { return Lists{{1.0}}; })), ElementsAre());
}

// The second value of each pair differs in one host leaf (SEM-48).
TEST_F(VariablesOfReplicas, HaveOneFirstValue) {
  testing::asserts("SEM-48");
  using Pair = std::pair<std::int32_t, std::vector<float>>;
  const std::string asked = "asked for \"v\", on write, aggregation none, ";
  EXPECT_THAT(
      asked_for(making(1.0), making(2.0)),
      ElementsAre(asked + "float64, with its own value", asked + "float64, with another value"));
  EXPECT_THAT(asked_for(making(Pair{1, {2, 3}}), making(Pair{1, {2, 4}})), ::testing::SizeIs(2));
  EXPECT_THAT(asked_for(making(Pair{1, {2, 3}}), making(Pair{1, {2, 3}})), ElementsAre());
  // The bits are compared: a NaN equals itself, and 0 is not -0.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(asked_for(making(nan), making(nan)), ElementsAre());
  EXPECT_THAT(asked_for(making(0.0), making(-0.0)), ::testing::SizeIs(2));
}

TEST_F(VariablesOfReplicas, HaveOneFirstValueOfEveryKind) {
  for (const bool differ : {false, true}) {
    const auto mirrored = [&](int value) { strategy_.mirrored_variable(value, {.name = "v"}); };
    const auto local = [&](int value) {
      strategy_.replica_local_variable(ReduceOp::kSum, value, {.name = "v"});
    };
    const auto folded = [&](int value) {
      strategy_.replica_local_variable(Last{}, value, {.name = "v"});
    };
    const std::size_t reports = differ ? 2 : 0;
    const int second = differ ? 2 : 1;
    EXPECT_EQ(asked_for([&] { mirrored(1); }, [&] { mirrored(second); }).size(), reports);
    EXPECT_EQ(asked_for([&] { local(1); }, [&] { local(second); }).size(), reports);
    EXPECT_EQ(asked_for([&] { folded(1); }, [&] { folded(second); }).size(), reports);
  }
}

TEST_F(VariablesOfReplicas, HaveAFirstValueOfTheFirstReplicaFromAFunction) {
  testing::asserts("SEM-48");
  const auto made = strategy_.run([&](ReplicaContext& replica) {
    const double own = 1.0 + replica.replica_id();
    return strategy_.mirrored_variable([own] { return own; }).on(replica);
  });
  EXPECT_THAT(made, ::testing::Each(1.0));
}

// The host would have to wait for the elements of tensors.
TEST_F(VariablesOfReplicas, AreMadeFromTensorsOfAnyElements) {
  const auto made = strategy_.run([&](ReplicaContext& replica) {
    const auto own = Tensor<float>::full(Shape{2}, 1.0F + replica.replica_id());
    return strategy_.mirrored_variable(own).on(replica).to_host()[1];
  });
  EXPECT_THAT(made, ::testing::Each(1.0F));
}

TEST_F(VariablesOfReplicas, SayThatAFunctionMayGiveDifferentValues) {
  try {
    strategy_.run([&](ReplicaContext& replica) { strategy_.variable(replica.replica_id()); });
    ADD_FAILURE() << "no error";
  } catch (const VariableMismatchError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kVariableMismatch);
    EXPECT_EQ(error.report().summary, "replicas gave one variable different first values");
    EXPECT_EQ(error.report().hint,
              "hand over a function instead of a value: it runs on the first replica alone");
  }
}

TEST_F(VariablesOfReplicas, AreTrainableAsTheyWereMade) {
  EXPECT_TRUE(strategy_.mirrored_variable(1.0).trainable());
  EXPECT_FALSE(strategy_.mirrored_variable(1.0, {.trainable = false}).trainable());
  const auto made = strategy_.run([&](ReplicaContext&) {
    return strategy_.variable(1.0, {.name = "w", .trainable = false}).trainable();
  });
  EXPECT_THAT(made, ::testing::Each(false));
}

}  // namespace
}  // namespace belfry::replica_variables_test
