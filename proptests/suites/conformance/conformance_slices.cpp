// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Conformance rows about sparse slices, and about collectives of a group. A group of g members is a
// strategy with g replicas. Mistakes of members of a group (A20 to A23, A31) are reported at once,
// without a time limit.
#include "belfry/indexed_slices.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "suites/algorithms.h"
#include "suites/residence.h"
#include "suites/strategy_fixture.h"

#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::conformance_slices {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Reals = std::vector<float>;
using Rows = std::vector<std::int64_t>;
using Slices = IndexedSlices<float>;
using Sparse = std::optional<Gradient<float>>;

// Rows of `columns` columns of a tensor with `height` rows, on the current device.
Slices slices(const Reals& values, const Rows& rows, std::int64_t height,
              std::int64_t columns = 1) {
  const auto count = static_cast<std::int64_t>(rows.size());
  return indexed_slices(Tensor<float>::from(Shape{count, columns}, values),
                        Tensor<std::int64_t>::from(Shape{count}, rows), Shape{height, columns});
}

// A list of values and rows for each replica.
using Parts = std::vector<std::pair<Reals, Rows>>;

PerReplica<Slices> parts_of(StrategyFixture& fixture, const Parts& parts, std::int64_t height,
                            std::int64_t columns = 1) {
  return per_replica(fixture, [&](int id) {
    const auto& [values, rows] = parts[static_cast<std::size_t>(id)];
    return slices(values, rows, height, columns);
  });
}

void expect_everywhere(const Mirrored<Slices>& all, const Reals& values, const Rows& rows) {
  for (int replica = 0; replica < all.size(); ++replica) {
    EXPECT_EQ(all[replica].values.to_host(), values);
    EXPECT_EQ(all[replica].indices.to_host(), rows);
  }
}

Reals dense(const Slices& sparse) { return to_dense(sparse).to_host(); }

template <class Where>
class GroupRows : public NumericRows<Where, StrategyFixture> {
 protected:
  /// The first members' results for numbers, or lists, of the residence: reduced in cross-replica
  /// context, and equally by every replica.
  template <class Make, class Read>
  auto reduced(int members, ReduceOp op, const Make& make, const Read& read) {
    StrategyFixture& fixture = this->fixture(members);
    const auto value = per_replica(fixture, make);
    const auto result = read(fixture.cross.reduce(op, value).value());
    for (const auto& algorithm : every_algorithm()) {
      fixture.strategy.configure({.cross_device_ops = algorithm});
      EXPECT_EQ(read(fixture.cross.reduce(op, value).value()), result);
      const auto all =
          fixture.strategy.run([&](ReplicaContext& replica,
                                   const auto& own) { return read(replica.all_reduce(op, own)); },
                               value);
      for (const auto& own : all) EXPECT_EQ(own, result);
    }
    return result;
  }
  float number(int members, ReduceOp op) {
    const Reals numbers{1, 2, 3, 4};
    return reduced(
        members, op, [&](int id) { return Where::number(numbers[static_cast<std::size_t>(id)]); },
        [](const auto& one) { return Where::value(one); });
  }
  Reals list(int members, ReduceOp op) {
    const std::vector<Reals> lists{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    return reduced(
        members, op, [&](int id) { return Where::list(lists[static_cast<std::size_t>(id)]); },
        [](const auto& one) { return Where::values(one); });
  }
};

TYPED_TEST_F(GroupRows, A01_A02_A03_GroupsOfOneTwoAndFour) {
  EXPECT_EQ(this->number(1, ReduceOp::kSum), 1.0F);
  EXPECT_EQ(this->number(2, ReduceOp::kSum), 3.0F);
  EXPECT_EQ(this->number(2, ReduceOp::kMean), 1.5F);
  EXPECT_EQ(this->number(4, ReduceOp::kSum), 10.0F);
  EXPECT_EQ(this->number(4, ReduceOp::kMean), 2.5F);
}

TYPED_TEST_F(GroupRows, A04_A05_A06_ListsInGroupsOfOneTwoAndFour) {
  EXPECT_THAT(this->list(1, ReduceOp::kSum), ElementsAre(1, 2));
  EXPECT_THAT(this->list(2, ReduceOp::kSum), ElementsAre(4, 6));
  EXPECT_THAT(this->list(2, ReduceOp::kMean), ElementsAre(2, 3));
  EXPECT_THAT(this->list(4, ReduceOp::kSum), ElementsAre(16, 20));
  EXPECT_THAT(this->list(4, ReduceOp::kMean), ElementsAre(4, 5));
}

const Parts kSparse{{{1, 2}, {0, 1}}, {{3, 4}, {1, 2}}, {{5, 6}, {7, 8}}, {{7, 8}, {3, 2}}};

TEST(Conformance, A07_OneMembersSlices) {
  StrategyFixture fixture(1);
  const auto all = reduce_slices(fixture.cross, ReduceOp::kSum, parts_of(fixture, kSparse, 10));
  expect_everywhere(all, {1, 2}, {0, 1});
}

TEST(Conformance, A08_TwoMembersSlices) {
  StrategyFixture fixture(2);
  const auto all = reduce_slices(fixture.cross, ReduceOp::kSum, parts_of(fixture, kSparse, 10));
  expect_everywhere(all, {1, 2, 3, 4}, {0, 1, 1, 2});
  EXPECT_THAT(dense(all.value()), ElementsAre(1, 5, 4, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Conformance, A09_FourMembersSlices) {
  StrategyFixture fixture(4);
  const auto all = reduce_slices(fixture.cross, ReduceOp::kSum, parts_of(fixture, kSparse, 10));
  expect_everywhere(all, {1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 1, 2, 7, 8, 3, 2});
  EXPECT_THAT(dense(all.value()), ElementsAre(1, 5, 12, 7, 0, 0, 0, 5, 6, 0));
}

TEST(Conformance, A10_SlicesOfDifferentLengths) {
  StrategyFixture fixture(2);
  const auto all = reduce_slices(fixture.cross, ReduceOp::kSum,
                                 parts_of(fixture, {{{1}, {0}}, {{2, 3, 4}, {0, 1, 2}}}, 10));
  expect_everywhere(all, {1, 2, 3, 4}, {0, 0, 1, 2});
}

// Overridden: slices are reduced one after another; belfry has no batch of slices.
TEST(Conformance, A11_BatchesOfSlicesOfTwoShapes) {
  StrategyFixture fixture(2);
  const auto first = reduce_slices(fixture.cross, ReduceOp::kSum,
                                   parts_of(fixture, {{{1, 2}, {0, 1}}, {{5, 6}, {1, 2}}}, 10));
  const auto second = reduce_slices(fixture.cross, ReduceOp::kSum,
                                    parts_of(fixture, {{{3, 4}, {1, 2}}, {{7, 8}, {0, 1}}}, 5));
  expect_everywhere(first, {1, 2, 5, 6}, {0, 1, 1, 2});
  expect_everywhere(second, {3, 4, 7, 8}, {1, 2, 0, 1});
}

// Overridden: as above.
TEST(Conformance, A12_FourMembersBatches) {
  StrategyFixture fixture(4);
  const Parts first{{{1, 2}, {0, 1}}, {{5, 6}, {1, 2}}, {{9, 10}, {3, 4}}, {{13, 14}, {8, 9}}};
  const Parts second{{{3, 4}, {1, 2}}, {{7, 8}, {0, 1}}, {{11, 12}, {3, 4}}, {{15, 16}, {3, 4}}};
  expect_everywhere(reduce_slices(fixture.cross, ReduceOp::kSum, parts_of(fixture, first, 10)),
                    {1, 2, 5, 6, 9, 10, 13, 14}, {0, 1, 1, 2, 3, 4, 8, 9});
  expect_everywhere(reduce_slices(fixture.cross, ReduceOp::kSum, parts_of(fixture, second, 5)),
                    {3, 4, 7, 8, 11, 12, 15, 16}, {1, 2, 0, 1, 3, 4, 3, 4});
}

// Two members with two numbers and two slices each. Outputs are in the order of the inputs.
// Overridden: a round for each, because belfry has no batch of slices.
TEST(Conformance, A13_DenseAndSparseOneByOne) {
  StrategyFixture fixture(2);
  const auto seen = fixture.strategy.run([](ReplicaContext& replica) {
    const bool first = replica.replica_id() == 0;
    const auto x = replica.all_reduce(ReduceOp::kSum, first ? 1.0F : 3.0F);
    const auto y = replica.all_reduce(ReduceOp::kSum, first ? 2.0F : 4.0F);
    const Slices own = first ? slices({1, 2}, {0, 1}, 10) : slices({5, 6}, {1, 2}, 10);
    const Slices other = first ? slices({3, 4}, {1, 2}, 5) : slices({7, 8}, {0, 1}, 5);
    const Slices a = all_reduce_slices(replica, ReduceOp::kSum, own);
    const Slices b = all_reduce_slices(replica, ReduceOp::kSum, other);
    return std::tuple(x, y, a.values.to_host(), a.indices.to_host(), b.values.to_host(),
                      b.indices.to_host());
  });
  for (const auto& each : seen) {
    EXPECT_EQ(each, std::tuple(4.0F, 6.0F, Reals{1, 2, 5, 6}, Rows{0, 1, 1, 2}, Reals{3, 4, 7, 8},
                               Rows{1, 2, 0, 1}));
  }
}

// Overridden: slices of equal rows stay apart until they become dense (SEM-130): 1 and 1 at row 0
// are two rows, not a 2.
TEST(Conformance, A16_SparseAndDenseInTurn) {
  StrategyFixture fixture(2);
  const auto seen = fixture.strategy.run([](ReplicaContext& replica) {
    const Slices a = all_reduce_slices(replica, ReduceOp::kSum, slices({1}, {0}, 3));
    const auto x = replica.all_reduce(ReduceOp::kSum, 1.0F);
    const Slices b = all_reduce_slices(replica, ReduceOp::kSum, slices({3}, {2}, 3));
    const auto y = replica.all_reduce(ReduceOp::kSum, 2.0F);
    return std::tuple(dense(a), x, dense(b), y);
  });
  for (const auto& each : seen) {
    EXPECT_EQ(each, std::tuple(Reals{2, 0, 0}, 2.0F, Reals{0, 0, 6}, 4.0F));
  }
}

// On the carrier that lets threads share a backend. Each thread has its own strategy on the
// backend. Overridden: a single thread uses a strategy at a time, and the strategy launches its
// collectives in the same order on all devices (SEM-9). No test can force the orders of the row;
// both threads reduce fifty times.
TEST(Conformance, A18_TwoThreadsReduceAtOnce) {
  BackendRequest request = StrategyFixture::request_for(2);
  request.carrier = CarrierKind::kConcurrent;
  const auto backend = backend_factory().make(request);
  std::vector<std::set<Reals>> sums(2);
  std::atomic<int> ready{0};
  const auto work = [&](std::size_t which) {
    MirroredStrategy strategy(*backend);
    ++ready;
    while (ready < 2) std::this_thread::yield();
    for (int i = 0; i < 50; ++i) {
      const auto value = strategy.distribute_values(
          [&](int) { return Tensor<float>::full({}, 1.0F + static_cast<float>(which)); });
      const auto [a, b] = strategy.cross_replica().batch_reduce(ReduceOp::kSum, value, value);
      for (int id : {0, 1}) sums[which].insert({a[id].item(), b[id].item()});
    }
  };
  std::thread first(work, 0);
  std::thread second(work, 1);
  first.join();
  second.join();
  EXPECT_THAT(sums, ElementsAre(ElementsAre(Reals{2, 2}), ElementsAre(Reals{4, 4})));
}

// Both variants of the row: [1, 1] and [1, 2].
TEST(Conformance, A19_TwiceTheSameInput) {
  for (const float second : {1.0F, 2.0F}) {
    StrategyFixture fixture(2);
    const auto v = per_replica(
        fixture, [&](int id) { return Tensor<float>::full({}, id == 0 ? 1.0F : second); });
    const auto seen = fixture.strategy.run(
        [](ReplicaContext& replica, const Tensor<float>& own) {
          Reals sums;
          for (int time = 0; time < 2; ++time) {
            const Tensor<float> sum = replica.all_reduce(ReduceOp::kSum, own);
            EXPECT_EQ(sum.placement(), replica.placement());
            sums.push_back(sum.item());
          }
          return sums;
        },
        v);
    EXPECT_EQ(list_of(seen), std::vector<Reals>(2, Reals{1 + second, 1 + second}));
  }
}

// The caller of run gets an error if a member is missing.
template <class Verb>
void expect_missing(Verb verb) {
  StrategyFixture fixture(3);
  at_each_place(3, [&](int odd) {
    EXPECT_EQ(code_of([&] {
                fixture.strategy.run([&](ReplicaContext& replica) {
                  if (replica.replica_id() != odd) verb(replica);
                });
              }),
              ErrorCode::kMergeMissing);
  });
}

// Overridden: belfry waits until every member has arrived or ended, and needs no time limit.
TEST(Conformance, A20_A21_AMissingMemberOfADenseReduction) {
  expect_missing([](ReplicaContext& replica) {
    replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({2}, 1.0F));
  });
  expect_missing([](ReplicaContext& replica) {
    const auto one = Tensor<float>::full({2}, 1.0F);
    replica.all_reduce(ReduceOp::kSum, std::tuple(one, one));
  });
}

// Overridden: as above.
TEST(Conformance, A22_A23_AMissingMemberOfASparseReduction) {
  expect_missing([](ReplicaContext& replica) {
    all_reduce_slices(replica, ReduceOp::kSum, slices({4, 6}, {1}, 3, 2));
  });
}

// A-24 and A-25 reduce `value` to destinations of every kind, or to none, in the default order and
// in ring order. belfry packs nothing, and the sizes of packs are left out.
void expect_reduced(StrategyFixture& fixture, const PerReplica<Tensor<float>>& value, float sum,
                    float mean) {
  const std::vector<DeviceSpec> all = fixture.backend->devices();
  const auto to = [&](const std::vector<DeviceSpec>& devices, const auto&... destination) {
    for (const auto& [op, wanted] : {std::pair{ReduceOp::kSum, sum}, {ReduceOp::kMean, mean}}) {
      const auto reduced = fixture.cross.reduce(op, value, destination...);
      ASSERT_EQ(static_cast<std::size_t>(reduced.size()), devices.size());
      for (int i = 0; i < reduced.size(); ++i) {
        EXPECT_EQ(reduced[i].item(), wanted);
        EXPECT_EQ(fixture.backend->device_spec(reduced[i].placement().device),
                  devices[static_cast<std::size_t>(i)]);
      }
    }
  };
  const auto beside_all = fixture.strategy.mirrored_variable(0.0F);
  for (const std::optional<ReductionOrder> order :
       {std::optional<ReductionOrder>(), std::optional(ReductionOrder::kRing)}) {
    fixture.strategy.configure({.order = order});
    to(all);
    to(all, beside_all);
    to({all[1]}, fixture.cross.broadcast(1, all[1]));
    to({all[1]}, all[1]);
    to({all[1]}, to_string(all[1]));
    to({all[2], all[0]}, std::vector{all[2], all[0]});
  }
}

TEST(Conformance, A24_ThreeMembers) {
  StrategyFixture fixture(3);
  const auto same = [](float number) {
    return [number](int) { return Tensor<float>::full({1}, number); };
  };
  for (const auto& algorithm : every_algorithm()) {
    fixture.strategy.configure({.cross_device_ops = algorithm});
    expect_reduced(fixture, per_replica(fixture, same(0)), 0, 0);
    expect_reduced(fixture, per_replica(fixture, same(1)), 3, 1);
  }
}

// The first of each worker's two devices has [0] and [1], the second [1] and [2].
TEST(Conformance, A25_ThreeTimesTwoMembers) {
  StrategyFixture fixture(6);
  const auto number = [](int from) {
    return [from](int id) { return Tensor<float>::full({1}, static_cast<float>(from + id % 2)); };
  };
  for (const auto& algorithm : every_algorithm()) {
    fixture.strategy.configure({.cross_device_ops = algorithm});
    expect_reduced(fixture, per_replica(fixture, number(0)), 3, 0.5F);
    expect_reduced(fixture, per_replica(fixture, number(1)), 9, 1.5F);
  }
}

TEST(Conformance, A26_ARowFromEachOfSix) {
  StrategyFixture fixture(6);
  const Parts parts{{{1, 2}, {1}}, {{3, 4}, {2}}, {{2, 1}, {3}},
                    {{0, 0}, {4}}, {{3, 1}, {5}}, {{2, 1}, {6}}};
  const auto all = reduce_slices(fixture.cross, ReduceOp::kSum, parts_of(fixture, parts, 10, 2));
  EXPECT_THAT(dense(all.value()),
              ElementsAre(0, 0, 1, 2, 3, 4, 2, 1, 0, 0, 3, 1, 2, 1, 0, 0, 0, 0, 0, 0));
}

TEST(Conformance, A27_SomeRowsFromEachOfSix) {
  StrategyFixture fixture(6);
  const Parts parts{{{1, 2, 3, 4}, {1, 2}}, {{3, 4}, {2}},          {{2, 1}, {3}},
                    {{0, 0}, {4}},          {{3, 1, 2, 1}, {5, 6}}, {{2, 1}, {6}}};
  const auto all = reduce_slices(fixture.cross, ReduceOp::kSum, parts_of(fixture, parts, 10, 2));
  EXPECT_THAT(dense(all[5]),
              ElementsAre(0, 0, 1, 2, 6, 8, 2, 1, 0, 0, 3, 1, 4, 2, 0, 0, 0, 0, 0, 0));
}

// Overridden: groups have no keys. A group is a strategy, and a member is a device of the strategy.
TEST(Conformance, A29_DevicesThatAreNotInTheGroup) {
  StrategyFixture fixture(2);
  Backend& backend = *fixture.backend;
  DeviceSpec absent = backend.device_spec(0);
  absent.index = 7;
  EXPECT_EQ(code_of([&] { const MirroredStrategy group(backend, {.devices = {absent}}); }),
            ErrorCode::kUnknownDevice);
  MirroredStrategy one(backend, {.devices = {backend.device_spec(0)}});
  EXPECT_EQ(code_of([&] {
              const VariableScope scope =
                  one.colocate_variables_with(std::vector{backend.device_spec(1)});
            }),
            ErrorCode::kDestination);
}

// Overridden: rounds have no keys. Messages count the rounds of each member from 1.
TEST(Conformance, A30_RoundsAreCounted) {
  StrategyFixture fixture(3);
  for (int round : {1, 2, 3}) {
    at_each_place(3, [&](int odd) {
      try {
        fixture.strategy.run([&](ReplicaContext& replica) {
          const int rounds = replica.replica_id() == odd ? round - 1 : round;
          for (int i = 0; i < rounds; ++i) replica.all_reduce(ReduceOp::kSum, 1.0F);
        });
        FAIL() << "a member is missing";
      } catch (const MergeMismatchError& error) {
        EXPECT_THAT(error.what(), HasSubstr("waits in all_reduce #" + std::to_string(round)));
      }
    });
  }
}

// The message has a line for each member, with its shape and its call site. All members call in the
// same place: members at two places do not meet.
TEST(Conformance, A31_MembersWithDifferentShapes) {
  StrategyFixture fixture(2);
  const CallSite site = CallSite::here();
  at_each_place(2, [&](int odd) {
    try {
      fixture.strategy.run([&](ReplicaContext& replica) {
        const auto own = Tensor<float>::full({replica.replica_id() == odd ? 28 : 39}, 1.0F);
        replica.all_reduce(ReduceOp::kSum, own, site);
      });
      FAIL() << "shapes differ";
    } catch (const StructureMismatchError& error) {
      const std::string at = "  " + to_string(site) + "  brings tensor float32";
      for (const int id : {0, 1}) {
        EXPECT_THAT(error.what(), HasSubstr("\n  replica " + std::to_string(id) + at +
                                            (id == odd ? "[28]\n" : "[39]\n")));
      }
    }
  });
}

const Parts kTwo{{{1, 2}, {1}}, {{3, 4, 5, 6}, {1, 3}}};

TEST(Conformance, I01_TheSumOfTwo) {
  StrategyFixture fixture(2);
  const auto all = reduce_slices(fixture.cross, ReduceOp::kSum, parts_of(fixture, kTwo, 5, 2));
  expect_everywhere(all, {1, 2, 3, 4, 5, 6}, {1, 1, 3});
  EXPECT_THAT(dense(all.value()), ElementsAre(0, 0, 4, 6, 0, 0, 5, 6, 0, 0));
  EXPECT_EQ(all.value().values.placement(), fixture.placement(0));
}

// Overridden: belfry has no batch of slices, and reduces slices in a single way, in both contexts.
TEST(Conformance, I02_TheSumAndTheMeanOfTwo) {
  testing::asserts("SEM-130");
  StrategyFixture fixture(2);
  const auto parts = parts_of(fixture, kTwo, 5, 2);
  const auto sum = reduce_slices(fixture.cross, ReduceOp::kSum, parts);
  expect_everywhere(sum, {1, 2, 3, 4, 5, 6}, {1, 1, 3});
  for (int id : {0, 1}) EXPECT_EQ(sum[id].values.placement(), fixture.placement(id));
  const auto means = fixture.strategy.run(
      [](ReplicaContext& replica, const Slices& own) {
        return dense(all_reduce_slices(replica, ReduceOp::kMean, own));
      },
      parts);
  for (const Reals& mean : means) EXPECT_THAT(mean, ElementsAre(0, 0, 2, 3, 0, 0, 2.5, 3, 0, 0));
  const auto all = reduce_slices(fixture.cross, ReduceOp::kMean, parts);
  expect_everywhere(all, {.5, 1, 1.5, 2, 2.5, 3}, {1, 1, 3});
  EXPECT_THAT(dense(all[1]), ElementsAre(0, 0, 2, 3, 0, 0, 2.5, 3, 0, 0));
}

// Two tensors of three rows, dense and as slices over all rows.
struct TwoTensors {
  StrategyFixture fixture{1};
  Scope scope = fixture.strategy.scope();
  Tensor<float> t0 = Tensor<float>::from({3, 2}, Reals{1, 2, 0, 0, 3, 4});
  Tensor<float> t1 = Tensor<float>::from({3, 2}, Reals{0, 0, 5, 6, 7, 8});
  Slices s0 = slices({1, 2, 0, 0, 3, 4}, {0, 1, 2}, 3, 2);
  Slices s1 = slices({0, 0, 5, 6, 7, 8}, {0, 1, 2}, 3, 2);
};
const Reals kTotal{1, 2, 5, 6, 10, 12};

/// The present gradient, of the expected kind.
template <class T>
const T& in(const Sparse& gradient) {
  if (!gradient) throw std::logic_error("there is no gradient");
  return std::get<T>(*gradient);
}

TEST(Conformance, I03_DenseGradientsAddUp) {
  const TwoTensors two;
  const Sparse sum = add_gradients<float>({Sparse(two.t0), Sparse(two.t1)});
  EXPECT_EQ(in<Tensor<float>>(sum).to_host(), kTotal);
}

TEST(Conformance, I04_I06_SlicesAddUpToSlices) {
  const TwoTensors two;
  const Sparse sum = add_gradients<float>({Sparse(two.s0), Sparse(two.s1)});
  ASSERT_TRUE(sum.has_value());
  ASSERT_TRUE(std::holds_alternative<Slices>(*sum));
  EXPECT_EQ(dense(in<Slices>(sum)), kTotal);
}

TEST(Conformance, I05_DividedSlicesStaySlices) {
  const TwoTensors two;
  EXPECT_THAT((two.t0 / 2.0F).to_host(), ElementsAre(.5, 1, 0, 0, 1.5, 2));
  const Slices half = two.s0 / 2.0F;
  EXPECT_THAT(half.values.to_host(), ElementsAre(.5, 1, 0, 0, 1.5, 2));
}

TEST(Conformance, I07_CopiesAreOnTheOtherDevice) {
  StrategyFixture fixture(2);
  const auto scope = fixture.strategy.scope();
  const Slices here = slices({1, 2}, {1}, 3, 2);
  const Slices there = copy_to(here, fixture.placement(1));
  EXPECT_EQ(there.values.placement(), fixture.placement(1));
  EXPECT_EQ(there.indices.placement(), fixture.placement(1));
  EXPECT_EQ(dense(there), dense(here));
}

TEST(Conformance, I08_NoGradients) {
  EXPECT_FALSE(add_gradients<float>({}).has_value());
  EXPECT_FALSE(add_gradients<float>({std::nullopt}).has_value());
}

TEST(Conformance, I09_OneGradientIsItself) {
  const TwoTensors two;
  const Sparse sum = add_gradients<float>({Sparse(two.s0)});
  EXPECT_EQ(in<Slices>(sum).indices.to_host(), (Rows{0, 1, 2}));
  EXPECT_EQ(in<Slices>(sum).values.to_host(), two.s0.values.to_host());
}

TEST(Conformance, I10_MissingGradientsArePassedOver) {
  const TwoTensors two;
  const Sparse sum = add_gradients<float>({Sparse(two.t0), Sparse(two.t1), std::nullopt});
  EXPECT_EQ(in<Tensor<float>>(sum).to_host(), kTotal);
}

TEST(Conformance, I11_SlicesAndADenseOneAreDense) {
  const TwoTensors two;
  const Sparse sum = add_gradients<float>({Sparse(two.s0), Sparse(two.t1)});
  EXPECT_EQ(in<Tensor<float>>(sum).to_host(), kTotal);
}

// Different shapes are an error, whatever the result would be.
TEST(Conformance, I12_ShapesMustBeEqual) {
  testing::asserts("SEM-130");
  StrategyFixture fixture(2);
  const auto value =
      per_replica(fixture, [](int id) { return slices({1}, {0}, id == 0 ? 10 : 5); });
  EXPECT_EQ(code_of([&] { reduce_slices(fixture.cross, ReduceOp::kSum, value); }),
            ErrorCode::kStructure);
  EXPECT_EQ(code_of([&] {
              const auto scope = fixture.strategy.scope();
              slices({1, 2, 3}, {0, 1}, 10);
            }),
            ErrorCode::kShape);
}

TEST(Slices, MeanOfIntegersIsRefused) {
  testing::asserts("SEM-130");
  StrategyFixture fixture(2);
  const auto value = per_replica(fixture, [](int) {
    return indexed_slices(Tensor<int>::full({1, 1}, 2), Tensor<std::int64_t>::full({1}, 0),
                          Shape{3, 1});
  });
  EXPECT_EQ(code_of([&] { reduce_slices(fixture.cross, ReduceOp::kMean, value); }),
            ErrorCode::kIntegerMean);
  EXPECT_EQ(reduce_slices(fixture.cross, ReduceOp::kSum, value).value().values.to_host(),
            (std::vector<int>{2, 2}));
}

TEST(Slices, FlagsDoNotAddUp) {
  StrategyFixture fixture(2);
  const auto value = per_replica(fixture, [](int) {
    return indexed_slices(Tensor<bool>::full({1, 1}, true), Tensor<std::int64_t>::full({1}, 0),
                          Shape{3, 1});
  });
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean}) {
    EXPECT_EQ(code_of([&] { reduce_slices(fixture.cross, op, value); }), ErrorCode::kDType);
  }
}

}  // namespace
}  // namespace belfry::testing::conformance_slices
