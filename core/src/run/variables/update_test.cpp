// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Updates and assignments change all components or none.
#include "belfry/backend/host_backend.h"
#include "belfry/scatter.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::update_test {
namespace {

using ::testing::AllOf;
using testing::at_each_place;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class Update : public ::testing::Test {
 protected:
  // The replica that differs, and the difference, from the text of a refusal; -1 without a refusal.
  std::pair<int, std::string> divergence(const std::function<void()>& body) {
    try {
      body();
    } catch (const VariableMismatchError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kMirroredDiverged);
      return {error.report().replicas.back().replica_id, error.what()};
    }
    return {-1, "nothing"};
  }

  // Expects that an update is refused with `text` if one component alone differs, at each place.
  // `change(component, is_odd)` is the function of the update.
  template <class T, class Change>
  void expect_refused(const MirroredVariable<T>& variable, const Change& change,
                      const ::testing::Matcher<std::string>& text) {
    at_each_place(3, [&](int odd) {
      int next = 0;
      const auto update = [&](T& component) { return change(component, next++ == odd); };
      const auto differs = divergence([&] { cross_.update(variable, update); });
      EXPECT_EQ(differs.first, odd == 0 ? 1 : odd);  // Component 0 is the reference.
      EXPECT_THAT(differs.second, text);
    });
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(Update, CallsTheFunctionOnceForEachComponent) {
  testing::asserts("SEM-41");
  auto variable = strategy_.mirrored_variable(10);
  int calls = 0;
  const auto seen = cross_.update(
      variable,
      [&](int& component, int by) {
        ++calls;
        return component += by;
      },
      5);
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(std::vector<int>({seen[0], seen[1], seen[2]}), Each(15));
  EXPECT_THAT(strategy_.local_values(variable), Each(15));
}

TEST_F(Update, GivesVariablesAndMirroredValuesByComponent) {
  testing::asserts("SEM-41");
  auto variable = strategy_.mirrored_variable([] { return Tensor<float>::full({1}, 2.0F); });
  auto velocity = strategy_.mirrored_variable([] { return Tensor<float>::full({1}, 0.5F); });
  const auto gradient = cross_.broadcast(Tensor<float>::full({1}, 4.0F, strategy_.placement(0)));
  std::vector<int> devices;
  cross_.update(
      variable,
      [&](Tensor<float>& w, const Tensor<float>& v, const Tensor<float>& g) {
        devices.push_back(current_placement().device);
        EXPECT_EQ(w.placement(), v.placement());
        EXPECT_EQ(w.placement(), g.placement());
        w = subtract(w, multiply(v, g));
      },
      velocity, gradient);
  EXPECT_THAT(devices, ElementsAre(0, 1, 2));
  EXPECT_EQ(strategy_.read(variable).item(), 0.0F);
}

TEST_F(Update, ThatThrowsChangesNothing) {
  testing::asserts("SEM-42");
  auto variable = strategy_.mirrored_variable(std::vector<int>{1, 2});
  at_each_place(3, [&](int odd) {
    int next = 0;
    const auto change = [&](std::vector<int>& component) {
      component[0] = 9;
      if (next++ == odd) throw std::runtime_error("full");
    };
    EXPECT_THROW(cross_.update(variable, change), std::runtime_error);
    EXPECT_THAT(strategy_.local_values(variable), Each(ElementsAre(1, 2)));
  });
}

// Each compared property.
TEST_F(Update, ThatWouldMakeMirroredComponentsDifferIsRefused) {
  testing::asserts("SEM-11", "SEM-42");
  using Lists = std::vector<std::vector<int>>;
  const auto number = strategy_.mirrored_variable(1.0, {.name = "number"});
  const auto lists = strategy_.mirrored_variable(Lists{{1}}, {.name = "lists"});
  expect_refused(
      number, [](double& component, bool is_odd) { component = is_odd ? 3 : 2; },
      HasSubstr("the components of mirrored number differ in bits at leaf 0"));
  expect_refused(
      lists,
      [](Lists& component, bool is_odd) {
        if (is_odd) component.push_back({2});
      },
      HasSubstr("the components of mirrored lists differ in structure"));
  expect_refused(
      lists, [](Lists& component, bool is_odd) { component.push_back({is_odd ? 3 : 2}); },
      HasSubstr("the components of mirrored lists differ in bits at leaf 1[1]"));
  EXPECT_THAT(strategy_.local_values(number), Each(1.0));
  EXPECT_THAT(strategy_.local_values(lists), Each(ElementsAre(ElementsAre(1))));
  const auto leaves = strategy_.mirrored_variable(std::array{1, 1, 1}, {.name = "leaves"});
  at_each_place(3, [&](int leaf) {
    expect_refused(
        leaves,
        [&](std::array<int, 3>& component, bool is_odd) {
          component[static_cast<std::size_t>(leaf)] = is_odd ? 3 : 2;
        },
        HasSubstr("differ in bits at leaf " + std::to_string(leaf) + "["));
  });
}

// The value stays unchanged: no result has been put in place.
TEST_F(Update, ThatReturnsAnotherNumberForEachComponentIsRefused) {
  const auto variable = strategy_.mirrored_variable(1.0, {.name = "weights"});
  expect_refused(
      variable,
      [](double& component, bool is_odd) {
        component = 2.0;
        return std::vector<int>{7, is_odd ? 1 : 0};
      },
      HasSubstr("what an update of mirrored weights returned for its components differs in bits at "
                "leaf 0"));
  expect_refused(
      variable,
      [](double& component, bool is_odd) {
        component = 2.0;
        return is_odd ? std::optional(1) : std::nullopt;
      },
      HasSubstr("components differs in structure"));
  EXPECT_THAT(strategy_.local_values(variable), Each(1.0));
  int next = 0;
  const auto count = [&](double&) { return std::vector<int>{7, ++next / 2}; };
  EXPECT_THAT(cross_.update_each(variable, count),
              ElementsAre(ElementsAre(7, 0), ElementsAre(7, 1), ElementsAre(7, 1)));
}

TEST_F(Update, OfTensorsThatDifferIsSeenWhenTheyAreReadOrFetched) {
  testing::asserts("SEM-11", "SEM-46");
  at_each_place(3, [&](int odd) {
    const auto pair = strategy_.mirrored_variable(
        [] { return std::pair(Tensor<float>::zeros({2}), Tensor<float>::zeros({2})); },
        {.name = "pair"});
    int next = 0;
    cross_.update(pair, [&](std::pair<Tensor<float>, Tensor<float>>& component) {
      if (next++ == odd) component.second = add(component.second, 1.0F);
    });
    const auto is_refused =
        Pair(odd == 0 ? 1 : odd,
             HasSubstr("the components of mirrored pair differ in bits at leaf 1[1]"));
    EXPECT_THAT(divergence([&] { strategy_.read(pair); }), is_refused);
    EXPECT_THAT(divergence([&] { cross_.fetch(pair); }), is_refused);
    for (const int device : {0, 1, 2}) {
      EXPECT_THAT(divergence([&] { cross_.fetch(pair, backend_.device_spec(device)); }),
                  is_refused);
    }
  });
}

// Properties known without a wait for a device are compared at once.
TEST_F(Update, IsRefusedWhenTheShapesOfComponentsDiffer) {
  const auto tensor =
      strategy_.mirrored_variable([] { return Tensor<float>::zeros({6}); }, {.name = "tensor"});
  const auto row = strategy_.mirrored_variable(std::vector<float>{1, 2}, {.name = "row"});
  expect_refused(
      tensor,
      [](Tensor<float>& component, bool is_odd) {
        component = component.reshaped(is_odd ? Shape{3, 2} : Shape{2, 3});
      },
      AllOf(HasSubstr("the components of mirrored tensor differ in shape at leaf 0"),
            HasSubstr("has tensor float32[2,3] at leaf 0"),
            HasSubstr("has tensor float32[3,2] at leaf 0")));
  for (const Tensor<float>& one : strategy_.local_values(tensor)) EXPECT_EQ(one.shape(), Shape{6});
  expect_refused(
      row, [](std::vector<float>& component, bool is_odd) { component.resize(is_odd ? 4 : 3); },
      AllOf(HasSubstr("the components of mirrored row differ in shape at leaf 0"),
            HasSubstr("has float32[4] at leaf 0")));
  EXPECT_THAT(strategy_.local_values(row), Each(ElementsAre(1, 2)));
}

TEST_F(Update, IsRefusedWhenTheKeysOfComponentsDiffer) {
  using Table = std::map<std::string, float>;
  const auto table = strategy_.mirrored_variable(Table{{"a", 1.0F}}, {.name = "table"});
  const auto named = [](bool is_odd) { return Table{{is_odd ? "b" : "a", 2.0F}}; };
  expect_refused(
      table, [&](Table& component, bool is_odd) { component = named(is_odd); },
      AllOf(HasSubstr("the components of mirrored table differ in structure"),
            HasSubstr("has float32 at leaf 0{a}"), HasSubstr("has float32 at leaf 0{b}")));
  EXPECT_THAT(strategy_.local_values(table), Each(Table{{"a", 1.0F}}));
  expect_refused(
      table, [&](Table&, bool is_odd) { return named(is_odd); },
      AllOf(HasSubstr("returned for its components differs in structure"),
            HasSubstr("has float32 at leaf 0{b}")));
}

TEST_F(Update, ThatReturnsTensorsOfAnotherShapeIsRefused) {
  const auto number = strategy_.mirrored_variable(1.0, {.name = "number"});
  expect_refused(
      number,
      [](double& component, bool is_odd) {
        component = 2.0;
        return std::pair(1, Tensor<float>::zeros({is_odd ? 3 : 2}));
      },
      AllOf(HasSubstr("returned for its components differs in shape at leaf 1[1]"),
            HasSubstr("has tensor float32[2] at leaf 1[1]"),
            HasSubstr("has tensor float32[3] at leaf 1[1]")));
  EXPECT_THAT(strategy_.local_values(number), Each(1.0));
  // For their bits the host would have to wait.
  float value = 0;
  const auto fill = [&](double&) { return Tensor<float>::full({1}, ++value); };
  const auto filled = cross_.update(number, fill);
  EXPECT_EQ(filled[0].item(), 1.0F);
  EXPECT_EQ(filled[2].item(), 3.0F);
}

TEST_F(Update, IsRefusedWhenComponentsWithoutLeavesDiffer) {
  using Lists = std::vector<std::vector<std::vector<int>>>;
  const auto lists = strategy_.mirrored_variable(Lists{}, {.name = "lists"});
  expect_refused(
      lists, [](Lists& component, bool is_odd) { component.resize(is_odd ? 1 : 0); },
      AllOf(HasSubstr("the components of mirrored lists differ in structure"),
            HasSubstr("has no elements at leaf 0\n"), HasSubstr("has no elements at leaf 0[0]\n")));
  EXPECT_THAT(strategy_.local_values(lists), Each(Lists{}));
}

// Messages have six digits of a key.
TEST_F(Update, IsRefusedWhenKeysDifferThatReadAlike) {
  using Table = std::map<double, int>;
  const auto table = strategy_.mirrored_variable(Table{}, {.name = "table"});
  expect_refused(
      table, [](Table& component, bool is_odd) { component[is_odd ? 0.12345671 : 0.12345672] = 1; },
      AllOf(HasSubstr("the components of mirrored table differ in structure"),
            HasSubstr("has 1 leaf\n"), HasSubstr("has as many in another structure\n")));
  EXPECT_THAT(strategy_.local_values(table), Each(Table{}));
}

// Empty optionals and lists are no leaves, and have a number in messages.
TEST_F(Update, NamesTheLeafBehindWhatIsEmpty) {
  using Item = std::tuple<std::optional<int>, std::vector<std::vector<int>>, int>;
  const auto items = strategy_.mirrored_variable(
      std::vector<Item>{{std::nullopt, {}, 1}, {std::nullopt, {}, 2}}, {.name = "items"});
  expect_refused(
      items,
      [](std::vector<Item>& component, bool is_odd) { std::get<2>(component[1]) = is_odd ? 1 : 0; },
      HasSubstr("the components of mirrored items differ in bits at leaf 5[1][2]"));
}

// Replica 0 has no component: component 0 belongs to replica 1, and component 1 to replica 2.
TEST_F(Update, ThatIsRefusedNamesTheReplicasOfTheComponents) {
  const VariableScope scope =
      strategy_.colocate_variables_with({backend_.device_spec(1), backend_.device_spec(2)});
  const auto number = strategy_.mirrored_variable(1.0);
  int next = 0;
  const std::string text =
      error_of([&] { cross_.update(number, [&](double& component) { component = ++next; }); });
  EXPECT_THAT(text, AllOf(HasSubstr("  replica 1  "), HasSubstr("  replica 2  ")));
}

constexpr CallSite kMade{"train.cc", 5};
constexpr CallSite kChanged{"train.cc", 11};
constexpr CallSite kRead{"train.cc", 22};

TEST_F(Update, ThatIsRefusedShowsTheFirstElementThatDiffers) {
  const auto weights =
      strategy_.mirrored_variable(std::vector<double>{1, 2, 4}, {.name = "weights"}, kMade);
  double next = 0;
  const auto change = [&](std::vector<double>& component) { component[1] += next++ / 4; };
  EXPECT_EQ(error_of([&] { cross_.update(weights, change, kChanged); }),
            "BF-053 the components of mirrored weights differ in bits at leaf 0\n"
            "  at train.cc:11\n"
            "  replica 0  train.cc:11  has 2 at element 1\n"
            "  replica 1  train.cc:11  has 2.25 at element 1\n"
            "  expected: an update that does the same on every device\n"
            "  hint: compute the value once, before the update, or all_reduce the values of the "
            "replicas first; use a replica-local variable only if each replica is to have its own "
            "value; weights was made at train.cc:5");
}

// Values that look alike differ in their bits.
TEST_F(Update, ThatIsRefusedShowsBitsOfValuesThatLookAlike) {
  const auto loss = strategy_.mirrored_variable(1.0F, {.name = "loss"}, kMade);
  std::uint32_t bits = 0x7fc00000;
  const auto change = [&](float& component) { component = std::bit_cast<float>(bits++); };
  const auto [replica, text] = divergence([&] { cross_.update(loss, change, kChanged); });
  EXPECT_THAT(text, HasSubstr("  replica 0  train.cc:11  has nan (bits 7fc00000)\n"
                              "  replica 1  train.cc:11  has nan (bits 7fc00001)\n"));
}

TEST_F(Update, OfTensorsThatDifferIsNamedByTheRead) {
  testing::asserts("SEM-11");
  const auto table = strategy_.mirrored_variable([] { return Tensor<float>::zeros({2, 2}); },
                                                 {.name = "table"}, kMade);
  int next = 0;
  const auto change = [&](Tensor<float>& component) {
    if (++next == 3) component = Tensor<float>::from({2, 2}, {0.0F, 0.0F, 0.5F, 1.0F});
  };
  cross_.update(table, change, kChanged);
  const std::string refusal = error_of([&] { strategy_.read(table, kRead); });
  EXPECT_EQ(refusal,
            "BF-053 the components of mirrored table differ in bits at leaf 0\n"
            "  at train.cc:22\n"
            "  replica 0  train.cc:11  was changed here, and has 0 at element 2\n"
            "  replica 2  train.cc:11  was changed here, and has 0.5 at element 2\n"
            "  expected: an update that does the same on every device\n"
            "  hint: compute the value once, before the update, or all_reduce the values of the "
            "replicas first; use a replica-local variable only if each replica is to have its own "
            "value; table was made at train.cc:5");
  // A transaction that is undone leaves the change before it as the latest change.
  const auto undone = [&] {
    cross_.update(table, [](Tensor<float>& component) { component = add(component, 1.0F); }, kRead);
    throw std::runtime_error("undone");
  };
  EXPECT_THROW(strategy_.transaction(undone), std::runtime_error);
  EXPECT_EQ(error_of([&] { strategy_.read(table, kRead); }), refusal);
}

TEST_F(Update, OfReplicaLocalComponentsMayDiffer) {
  auto variable = strategy_.replica_local_variable(ReduceOp::kSum, 0);
  int next = 0;
  cross_.update(variable, [&](int& component) { component = ++next; });
  EXPECT_THAT(strategy_.local_values(variable), ElementsAre(1, 2, 3));
  EXPECT_EQ(strategy_.read(variable), 6);
  const auto results = cross_.update(variable, [&](int& component) { return 10 * component; });
  EXPECT_THAT(std::vector<int>({results[0], results[1], results[2]}), ElementsAre(10, 20, 30));
}

// A replica-local variable has a different value beside each component, as a PerReplica has. The
// kind of a variable shows only in the call.
TEST_F(Update, TakesNoReplicaLocalVariableAsAnArgument) {
  testing::asserts("SEM-41");
  constexpr CallSite kHere{"train.cc", 11};
  const auto target = strategy_.mirrored_variable(1);
  const Variable<int> local = strategy_.replica_local_variable(ReduceOp::kSum, 4, {.name = "seen"});
  const auto add = [](int& own, int by) { return own += by; };
  const auto same = [](int by) { return by; };
  const auto sum = [](int element, int by) { return element + by; };
  const std::vector<DeviceSpec> devices = strategy_.non_slot_devices();
  const std::function<void()> calls[] = {
      [&] { cross_.update(target, add, local, kHere); },
      [&] { cross_.update_each(target, add, local, kHere); },
      [&] { cross_.update(local, add, local, kHere); },
      [&] { cross_.update_non_slot(devices, same, local, kHere); },
      [&] { cross_.map(std::vector<int>{1}, sum, local, kHere); },
  };
  for (const auto& call : calls) {
    EXPECT_THAT(error_of(call), AllOf(HasSubstr("BF-030 replica-local seen has another value"),
                                      HasSubstr("train.cc:11")));
  }
  EXPECT_THAT(strategy_.local_values(target), Each(1));
  EXPECT_THAT(strategy_.local_values(local.as_replica_local()), Each(4));
  // The same handle of a mirrored variable is allowed, and a replica-local variable may be the
  // target.
  const Variable<int> mirrored = strategy_.mirrored_variable(10);
  cross_.update(target, add, mirrored);
  EXPECT_THAT(strategy_.local_values(target), Each(11));
  cross_.update(local, add, target);
  EXPECT_THAT(strategy_.local_values(local.as_replica_local()), Each(15));
}

TEST_F(Update, AggregatesWhatReplicasAssign) {
  testing::asserts("SEM-45");
  auto sum = strategy_.mirrored_variable(1.0, {.aggregation = Aggregation::kSum});
  auto mean = strategy_.mirrored_variable(1.0, {.aggregation = Aggregation::kMean});
  auto first = strategy_.mirrored_variable(1.0, {.aggregation = Aggregation::kOnlyFirst});
  strategy_.run([&](ReplicaContext& replica) {
    const double own = 2.0 + replica.replica_id();  // 2, 3, 4
    replica.assign(sum, own);
    replica.assign_add(mean, own);
    replica.assign_sub(first, own);
  });
  EXPECT_THAT(strategy_.local_values(sum), Each(9.0));
  EXPECT_THAT(strategy_.local_values(mean), Each(4.0));
  EXPECT_THAT(strategy_.local_values(first), Each(-1.0));
}

TEST_F(Update, AssignsReplicaLocalComponentsAlone) {
  testing::asserts("SEM-52");
  auto local = strategy_.replica_local_variable(ReduceOp::kSum, std::vector<int>{10});
  strategy_.run([&](ReplicaContext& replica) {
    if (replica.replica_id() == 0) replica.assign(local, std::vector<int>{1});
    if (replica.replica_id() == 1) replica.assign_add(local, std::vector<int>{1});
    if (replica.replica_id() == 2) replica.assign_sub(local, std::vector<int>{1});
  });
  EXPECT_THAT(strategy_.local_values(local),
              ElementsAre(ElementsAre(1), ElementsAre(11), ElementsAre(9)));
}

TEST_F(Update, AssignsToAVariableAsItsKindHasIt) {
  const Variable<double> merged =
      strategy_.mirrored_variable(1.0, {.aggregation = Aggregation::kSum});
  const Variable<double> local = strategy_.replica_local_variable(ReduceOp::kSum, 1.0);
  strategy_.run([&](ReplicaContext& replica) {
    const double own = 2.0 + replica.replica_id();  // 2, 3, 4
    replica.assign(merged, own);
    replica.assign_add(merged, own);
    replica.assign_sub(merged, 1.0);
    replica.assign(local, own);
    replica.assign_add(local, 10.0);
    replica.assign_sub(local, own / 2);
  });
  EXPECT_THAT(strategy_.local_values(merged.as_mirrored()), Each(15.0)) << "9 + 9 - 3";
  EXPECT_THAT(strategy_.local_values(local.as_replica_local()), ElementsAre(11.0, 11.5, 12.0));
  EXPECT_THROW(
      strategy_.run([](ReplicaContext& replica) { replica.assign(Variable<double>(), 1.0); }),
      InvalidArgumentError);
}

TEST_F(Update, ScattersToAVariableAsItsKindHasIt) {
  const auto zeros = [] { return Tensor<float>::zeros({2, 1}); };
  const Variable<Tensor<float>> merged =
      strategy_.mirrored_variable(zeros, {.aggregation = Aggregation::kSum});
  const Variable<Tensor<float>> local = strategy_.replica_local_variable(ReduceOp::kSum, zeros);
  const auto to = [this](const Variable<Tensor<float>>& variable) {
    strategy_.run([&](ReplicaContext& replica) {
      const auto value = static_cast<float>(replica.replica_id() + 1);
      scatter(replica, ScatterOp::kAdd, variable,
              indexed_slices(Tensor<float>::full({1, 1}, value), Tensor<std::int64_t>::full({1}, 1),
                             Shape{2, 1}));
    });
  };
  to(merged);
  for (const Tensor<float>& component : strategy_.local_values(merged.as_mirrored())) {
    EXPECT_THAT(component.to_host(), ElementsAre(0.0F, 6.0F));
  }
  EXPECT_THROW(to(local), UnsupportedError) << "SEM-131";
}

// Replica 0 has no component, and sees nothing; 1 and 2 have one each.
TEST_F(Update, GivesResultsThatCannotBeCopiedToWhoSeesTheirComponent) {
  const auto number = [](int& own) { return std::make_unique<int>(own += 1); };
  const auto everywhere = strategy_.mirrored_variable(7);
  const auto each = cross_.update(everywhere, number);
  EXPECT_EQ(each.size(), 3);
  EXPECT_THAT(std::vector<int>({*each[0], *each[1], *each[2]}), Each(8));
  const auto devices = strategy_.devices();
  const auto made_on = [&](const std::vector<DeviceSpec>& places) {
    const auto scope = strategy_.colocate_variables_with(places);
    return strategy_.mirrored_variable(7);
  };
  const auto one = made_on({devices[1]});
  const auto shared = cross_.update(one, number);
  EXPECT_EQ(shared.size(), 3);
  EXPECT_THAT(std::vector<int>({*shared[0], *shared[1], *shared[2]}), Each(8));
  const auto two = made_on({devices[1], devices[2]});
  int calls = 0;
  const auto counting = [&](int& own) {
    ++calls;
    return std::make_unique<int>(own += 1);
  };
  constexpr CallSite kHere{"train.cc", 12};
  EXPECT_THAT(error_of([&] { cross_.update(two, counting, kHere); }),
              AllOf(HasSubstr("BF-080 what the function of an update returns cannot be copied, and "
                              "not every replica has a component of its own"),
                    HasSubstr("train.cc:12"), HasSubstr("update_each")));
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(strategy_.read(two), 7);
  EXPECT_EQ(cross_.update_each(two, counting).size(), 2U);
  EXPECT_EQ(strategy_.read(two), 8);
}

TEST_F(Update, LeavesTheRestToALaterRunWhenOneFails) {
  at_each_place(3, [&](int odd) {
    const auto variable = strategy_.mirrored_variable(0, {.aggregation = Aggregation::kSum});
    EXPECT_THROW(strategy_.run([&](ReplicaContext& replica) {
      replica.assign_add(variable, 1);
      if (replica.replica_id() == odd) throw std::runtime_error("after the first");
      replica.assign_add(variable, 100);
    }),
                 std::runtime_error);
    EXPECT_THAT(strategy_.local_values(variable), Each(3));
  });
}

}  // namespace
}  // namespace belfry::update_test
