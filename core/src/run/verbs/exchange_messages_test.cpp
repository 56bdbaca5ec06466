// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Messages about exchanges and sharded variables: the line of the call, the words of the program,
// and hints that fit.
#include "belfry/backend/host_backend.h"
#include "belfry/group_context.h"
#include "belfry/replica_groups.h"
#include "belfry/sharded_variable.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belfry::exchange_messages_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using List = std::vector<int>;
using Row = Tensor<float>;

class ExchangeMessages : public ::testing::Test {
 protected:
  // The text of the error of a function.
  template <class F>
  static std::string text_of(const F& function) {
    try {
      function();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  template <class F>
  std::string text_of_run(const F& body) {
    return text_of([&] { strategy_.run(body); });
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

TEST_F(ExchangeMessages, CopiesToReceiversHaveTheLineOfTheCall) {
  testing::asserts("SEM-267");
  HostBackend other{1};
  const Row row = Row::full({2}, 1.0F, {&other, 0});
  const std::string text =
      text_of_run([&](ReplicaContext& replica) { replica.permute(row, {{0, 1}}); });
  EXPECT_THAT(text, AllOf(HasSubstr("BF-066"), HasSubstr("\n  at exchange_messages_test.cpp:")));
  EXPECT_THAT(text, Not(HasSubstr(".h:")));
}

TEST_F(ExchangeMessages, TypesAreThoseOfTheArguments) {
  testing::asserts("SEM-5");
  const std::string text = text_of_run([](ReplicaContext& replica) {
    const auto same = [&](auto value) { replica.broadcast(value, 0); };
    replica.replica_id() == 1 ? same(1.0) : same(1);
  });
  EXPECT_THAT(text, AllOf(HasSubstr("waits in broadcast with (int)\n"),
                          HasSubstr("waits in broadcast with (double)\n")));
}

TEST_F(ExchangeMessages, EmptyOptionalsAreToBeFilled) {
  testing::asserts("SEM-261");
  const auto text_with = [&](const auto& value_of) {
    return text_of_run([&](ReplicaContext& replica) {
      replica.reduce_scatter(ReduceOp::kSum, value_of(replica.replica_id()), Axis(0));
    });
  };
  const std::string fill =
      " is on replicas 0,2 and not on replica 1: fill the optional on every replica, with zeros "
      "where a replica has no value";
  const auto own = [](int id) { return id == 1 ? std::nullopt : std::optional(List{1, 2, 3}); };
  EXPECT_THAT(text_with(own), HasSubstr("hint: a value" + fill));
  const auto second = [&](int id) { return std::vector{std::optional(List{1}), own(id)}; };
  EXPECT_THAT(text_with(second), HasSubstr("hint: [1]" + fill));
}

TEST_F(ExchangeMessages, TheWholeOfAShardedVariableNeedsTheReplicaItself) {
  testing::asserts("SEM-282");
  const auto table = strategy_.sharded_variable(Row::full({5}, 1.0F, strategy_.placement(0)),
                                                Axis(0), {.name = "table"});
  const ReplicaGroups groups = strategy_.groups({{0, 1}, {2}});
  const std::string text = text_of_run([&](ReplicaContext& replica) {
    auto group = replica.in(groups);
    table.whole(group);
  });
  EXPECT_THAT(text, AllOf(HasSubstr("those that take part have [4] of [5]"),
                          HasSubstr("call whole with the context of the replica, not of a group")));
}

TEST_F(ExchangeMessages, RowsOfAnotherShapeAreMendedInTheFunction) {
  testing::asserts("SEM-284");
  const std::string text = text_of([&] {
    strategy_.sharded_variable(
        {5, 2},
        [](std::int64_t begin, std::int64_t end) { return Row::zeros({end - begin + 1, 2}); },
        Axis(0));
  });
  EXPECT_THAT(text, AllOf(HasSubstr("has float32[3,2] as its part"),
                          HasSubstr("expected: float32[2,2]"), HasSubstr("as rows(begin, end)")));
}

}  // namespace
}  // namespace belfry::exchange_messages_test
