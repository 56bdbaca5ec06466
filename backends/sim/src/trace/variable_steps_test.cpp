// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The variables of a trace.
#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/detail/trace_sink.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "testing/drawn_numbers.h"
#include "testing/trace_lines.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::sim::variable_steps_test {
namespace {

using testing::elements;
using testing::Json;
using testing::Lines;
using testing::of_kind;
using testing::trace_of;

// `M0 0 v1 [4,7]` of each step of a kind: agent, replica, version, elements.
std::vector<std::string> told(const Lines& lines, const std::string& kind,
                              const std::string& list = "writes") {
  std::vector<std::string> steps;
  for (const Json& step : of_kind(lines, kind)) {
    steps.push_back(step["agent"].get<std::string>() + " " +
                    (step.contains("replica") ? step["replica"].dump() : "-") + " v" +
                    step["version"].dump() + " " + elements(lines, step, list).dump());
  }
  return steps;
}

using Words = std::vector<std::string>;

// By hand: 1 + (1 + 2) and 1 + (2 + 4).
TEST(VariableSteps, HaveTheTensorsThatAMergeChanges) {
  const auto program = [](belfry::Backend& backend) {
    MirroredStrategy strategy{backend};
    const auto weight =
        strategy.mirrored_variable([] { return Tensor<float>::full({2}, 1.0F); },
                                   {.name = "weight", .aggregation = Aggregation::kSum});
    strategy.run([&](ReplicaContext& replica) {
      const float id = static_cast<float>(replica.replica_id());
      replica.assign_add(weight, Tensor<float>::from({2}, {id + 1, 2 * id + 2}));
      static_cast<void>(weight.on(replica));
    });
    for (const Tensor<float>& own : strategy.local_values(weight)) own.to_host();
  };
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Lines lines = trace_of("merge", {}, {.devices = 2, .seed = seed}, program);
    EXPECT_EQ(told(lines, "variable_made"), (Words{"H0 0 v0 [1,1]", "H0 1 v0 [1,1]"}));
    EXPECT_EQ(told(lines, "variable_write"), (Words{"M0 0 v1 [4,7]", "M0 1 v1 [4,7]"}));
    Words reads = told(lines, "variable_read", "reads");
    std::ranges::sort(reads);
    EXPECT_EQ(reads, (Words{"R0 - v1 [4,7]", "R1 - v1 [4,7]"}));
    const Lines writes = of_kind(lines, "variable_write");
    EXPECT_EQ(writes[0]["run"], 1);
    EXPECT_FALSE(writes[0].contains("bookkeeping"));
    EXPECT_EQ(writes[1]["bookkeeping"], true) << "equal components are shown once";
    for (const Json& line : lines) {
      if (!line.contains("variable") || line.contains("step")) continue;
      EXPECT_EQ(line, Json::parse(R"({"variable":0,"name":"weight","kind":"mirrored",)"
                                  R"("type":"float32","shape":[2]})"));
    }
  }
}

// A replica changes the component after the step: the replica's next step tells the value.
TEST(VariableSteps, HaveTheComponentsThatReplicasChange) {
  for (const Digests digests : {Digests::kNone, Digests::kAll}) {
    const Lines lines = trace_of(
        "local", {}, {.devices = 2, .schedule = Schedule::fixed(), .digests = digests},
        [](belfry::Backend& backend) {
          MirroredStrategy strategy{backend};
          const auto seen = strategy.replica_local_variable(ReduceOp::kSum, 0, {.name = "seen"});
          const auto sums = strategy.replica_local_variable(
              ReduceOp::kSum, [] { return Tensor<float>::full({1}, 0.5F); }, {.name = "sums"});
          strategy.run([&](ReplicaContext& replica) {
            seen.on(replica) += 32;
            seen.on(replica) += 1 + replica.replica_id();
            Tensor<float>& own = sums.on(replica);
            own = multiply(own, 3.0F + replica.replica_id());
          });
          for (const Tensor<float>& own : strategy.local_values(sums)) own.to_host();
          strategy.cross_replica().assign_each(seen, 7);
        });
    EXPECT_EQ(told(lines, "variable_write"),
              (Words{"R0 - v1 [32]", "R0 - v2 [33]", "R0 - v1 [1.5]", "R1 - v1 [32]",
                     "R1 - v2 [34]", "R1 - v1 [2]", "H0 0 v3 [7]", "H0 1 v3 [7]"}));
    for (const Json& step : of_kind(lines, "variable_write")) {
      EXPECT_FALSE(step.contains("bookkeeping")) << step;
    }
  }
}

TEST(VariableSteps, HaveTheChangesOutsideOfRuns) {
  const Lines lines = trace_of("outside", {}, {.devices = 1}, [](belfry::Backend& backend) {
    MirroredStrategy strategy{backend};
    const auto rate = strategy.mirrored_variable(1.0, {.name = "rate"});
    const auto set = [&](double value) {
      strategy.cross_replica().update(rate, [value](double& own) { own = value; });
    };
    Checkpoint checkpoint(strategy);
    checkpoint.add(rate);
    const TensorFile saved = checkpoint.contents();
    set(2);
    checkpoint.restore(saved);
    EXPECT_THROW(strategy.transaction([&] {
      set(5);
      throw std::runtime_error("no");
    }),
                 std::runtime_error);
    // Another strategy counts its variables from 0, too.
    MirroredStrategy other{backend};
    other.mirrored_variable(9.0, {.name = "other"});
  });
  EXPECT_EQ(told(lines, "variable_write"),
            (Words{"H0 0 v1 [2]", "H0 0 v2 [1]", "H0 0 v3 [5]", "H0 0 v4 [1]"}));
  const Lines made = of_kind(lines, "variable_made");
  EXPECT_EQ(made[0]["variable"], 0);
  EXPECT_EQ(made[1]["variable"], 1);
  EXPECT_EQ(made[1]["name"], "other");
}

// Components 3 and 4 of a mirrored variable of two replicas.
class Diverged final : public belfry::detail::VariableView {
 public:
  belfry::detail::ShownVariable about() const override {
    return {.name = "w", .kind = "mirrored", .components = 2, .component_seen = seen_};
  }
  void show(int component, belfry::detail::ValueVisitor& visitor) const override {
    const int value = 3 + component;
    const DType dtype = DType::kInt32;
    visitor.value({.dtype = &dtype, .data = &value});
  }

 private:
  std::vector<int> seen_{0, 1};
};

// Of a backend whose devices tell nothing.
TEST(VariableSteps, OfASinkShowComponentsThatDiffer) {
  const std::string path = testing::path_of("sink_variables");
  {
    TraceFile trace{path};
    belfry::detail::TraceSink sink(trace, {.backend = "cuda", .devices = 2}, nullptr, {});
    const auto variable = std::make_shared<Diverged>();
    sink.made(variable);
    sink.changed(*variable);
  }
  const Lines lines = testing::lines_of(path);
  EXPECT_EQ(told(lines, "variable_made"), (Words{"H0 0 v0 [3]", "H0 1 v0 [4]"}));
  EXPECT_EQ(told(lines, "variable_write"), (Words{"H0 0 v1 [3]", "H0 1 v1 [4]"}));
  for (const Json& line : lines) EXPECT_FALSE(line.contains("bookkeeping")) << line;
}

// Draws changes of variables from a seed: in merges, by replicas, between runs, undone.
class DrawnChanges {
 public:
  explicit DrawnChanges(belfry::Backend& backend) : strategy_(backend) {}

  std::vector<float> run(std::uint64_t seed) {
    testing::DrawnNumbers numbers(seed);
    for (int i = 0; i < 6; ++i) take(numbers.below(6), static_cast<float>(numbers.below(9)));
    std::vector<float> values;
    for (const auto& variable : {strategy_.local_values(weight_), strategy_.local_values(own_)}) {
      for (const Tensor<float>& value : variable) values.push_back(value.to_host()[0]);
    }
    values.push_back(static_cast<float>(strategy_.read(count_)));
    return values;
  }

 private:
  using Values = Tensor<float>;

  void take(std::size_t kind, float x) {
    const auto add = [x](Values& value) { value = belfry::add(value, Values::full({2}, x)); };
    switch (kind) {
      case 0:
        return strategy_.run([&](ReplicaContext& replica) {
          replica.assign_add(weight_, Values::full({2}, x + replica.replica_id()));
        });
      case 1:
        return strategy_.run([&](ReplicaContext& replica) {
          add(own_.on(replica));
          count_.on(replica) += 1;
          replica.all_reduce(ReduceOp::kSum, weight_.on(replica));
          count_.on(replica) += 2;
        });
      case 2:
        return strategy_.cross_replica().update(weight_, add);
      case 3:
        return strategy_.cross_replica().update(UpdateOptions{.in_place = true}, weight_, add);
      case 4: {
        const auto scope = strategy_.scope();
        return strategy_.cross_replica().assign_each(own_, Values::full({2}, x));
      }
      default:
        try {
          strategy_.transaction([&] {
            take(0, x);
            throw std::runtime_error("no");
          });
        } catch (const std::runtime_error&) {
        }
    }
  }

  MirroredStrategy strategy_;
  MirroredVariable<Values> weight_ = strategy_.mirrored_variable(
      [] { return Values::full({2}, 1); }, {.aggregation = Aggregation::kSum});
  ReplicaLocalVariable<Values> own_ =
      strategy_.replica_local_variable(ReduceOp::kSum, [] { return Values::full({2}, 0); });
  ReplicaLocalVariable<int> count_ = strategy_.replica_local_variable(ReduceOp::kSum, 0);
};

RC_GTEST_PROP(VariableStepsProperty, ChangeNoRun, (std::uint64_t seed, bool values)) {
  const Options options{.devices = 2, .digests = Digests::kAll, .seed = seed};
  Backend plain{options};
  const std::vector<float> expected = DrawnChanges(plain).run(seed);
  TraceFile trace{testing::path_of("variables"), {.values = values}};
  Backend traced{options, Attachments{.trace = &trace}};
  RC_ASSERT(DrawnChanges(traced).run(seed) == expected);
  RC_ASSERT(traced.hash() == plain.hash());
  RC_ASSERT(traced.choices() == plain.choices());
  RC_ASSERT(traced.leaks() == plain.leaks());
}

}  // namespace
}  // namespace belfry::sim::variable_steps_test
