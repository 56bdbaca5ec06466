// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// MAX, MIN and PROD in every verb that reduces: outcomes by hand arithmetic (SEM-252 to SEM-254).
#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/gradient_buckets.h"
#include "belfry/indexed_slices.h"
#include "belfry/scatter.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/vjp.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace belfry::operators_test {

struct Money {
  int cents = 0;
};

}  // namespace belfry::operators_test

template <>
struct belfry::ElementTraits<belfry::operators_test::Money> {
  using Money = belfry::operators_test::Money;
  static Money zero() { return {}; }
  static Money add(const Money& left, const Money& right) { return {left.cents + right.cents}; }
  static std::string text(const Money& value) { return std::to_string(value.cents); }
};

namespace belfry::operators_test {
namespace {

using testing::code_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr ReduceOp kNew[] = {ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kProd};

class Operators : public ::testing::Test {
 protected:
  /// The results of all_reduce of lists and of tensors, which agree to the bit on all replicas.
  template <class T>
  std::vector<T> all_reduced(ReduceOp op, const std::vector<std::vector<T>>& rows) {
    const auto row = [&](const ReplicaContext& replica) -> const std::vector<T>& {
      return rows[static_cast<std::size_t>(replica.replica_id())];
    };
    const auto lists = strategy_.run(
        [&](ReplicaContext& replica) { return replica.all_reduce(op, row(replica)); });
    const auto tensors = strategy_.run([&](ReplicaContext& replica) {
      const auto& own = row(replica);
      const Shape shape{static_cast<std::int64_t>(own.size())};
      return replica.all_reduce(op, Tensor<T>::from(shape, own)).to_host();
    });
    for (int id = 0; id < 3; ++id) {
      EXPECT_EQ(bits_of(lists[id]), bits_of(lists[0]));
      EXPECT_EQ(bits_of(tensors[id]), bits_of(lists[0]));
    }
    return lists[0];
  }
  template <class T>
  static std::vector<std::uint64_t> bits_of(const std::vector<T>& values) {
    std::vector<std::uint64_t> bits;
    for (const T value : values) {
      if constexpr (std::is_same_v<T, float>) {
        bits.push_back(std::bit_cast<std::uint32_t>(value));
      } else if constexpr (std::is_integral_v<T>) {
        bits.push_back(static_cast<std::uint64_t>(value));
      } else {
        bits.push_back(value.bits);
      }
    }
    return bits;
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
  CrossReplicaContext& cross_ = strategy_.cross_replica();
};

TEST_F(Operators, HaveTheirResultOnEveryReplica) {
  testing::asserts("SEM-252", "SEM-253");
  const std::vector<std::vector<int>> rows{{1, 7}, {-2, 7}, {3, -7}};
  EXPECT_THAT(all_reduced(ReduceOp::kMax, rows), ElementsAre(3, 7));
  EXPECT_THAT(all_reduced(ReduceOp::kMin, rows), ElementsAre(-2, -7));
  EXPECT_THAT(all_reduced(ReduceOp::kProd, rows), ElementsAre(-6, -343));
  // The same bits have other extremes as signed and as unsigned numbers.
  EXPECT_THAT(all_reduced<std::int8_t>(ReduceOp::kMax, {{-1}, {1}, {-128}}), ElementsAre(1));
  EXPECT_THAT(all_reduced<std::uint8_t>(ReduceOp::kMax, {{255}, {1}, {128}}), ElementsAre(255));
}

// In each place of the odd replica: a comparison with NaN is false.
TEST_F(Operators, SpreadNaN) {
  testing::asserts("SEM-252", "SEM-253");
  const std::vector<std::vector<float>> rows{
      {kNaN, 1, 2, kInfinity}, {1, kNaN, 2, 0}, {1, 2, -kNaN, 1}};
  for (const ReduceOp op : kNew) {
    const std::vector<float> got = all_reduced(op, rows);
    for (int place = 0; place < 3; ++place) EXPECT_TRUE(std::isnan(got[place])) << to_string(op);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(got[2]), 0x7fc00000U) << "the same NaN for every NaN";
  }
  EXPECT_EQ(all_reduced(ReduceOp::kMax, rows)[3], kInfinity);
  EXPECT_EQ(all_reduced(ReduceOp::kMin, rows)[3], 0);
  EXPECT_TRUE(std::isnan(all_reduced(ReduceOp::kProd, rows)[3])) << "infinity times 0";
}

TEST_F(Operators, OrderZerosBySign) {
  testing::asserts("SEM-252");
  const std::vector<std::vector<float>> rows{
      {0.0F, -0.0F, -0.0F}, {-0.0F, 0.0F, -0.0F}, {-0.0F, -0.0F, -0.0F}};
  const auto signs = [&](ReduceOp op) {
    std::vector<bool> negative;
    for (const float value : all_reduced(op, rows)) negative.push_back(std::signbit(value));
    return negative;
  };
  EXPECT_THAT(signs(ReduceOp::kMax), ElementsAre(false, false, true));
  EXPECT_THAT(signs(ReduceOp::kMin), ElementsAre(true, true, true));
  EXPECT_THAT(signs(ReduceOp::kProd), ElementsAre(false, false, true)) << "two signs, two, three";
}

// 1 + 2^-10 is a Float16; its cube is 1 + 3 * 2^-10 + 3 * 2^-20 + 2^-30, next to 1 + 3 * 2^-10. If
// each product were rounded, 256 * 256 would be infinite before the factor 2^-8.
TEST_F(Operators, Round16BitProductsOnce) {
  testing::asserts("SEM-253");
  const std::vector<std::vector<Float16>> rows{{Float16(1.0009765625F), Float16(256.0F)},
                                               {Float16(1.0009765625F), Float16(256.0F)},
                                               {Float16(1.0009765625F), Float16(0.00390625F)}};
  const auto product = all_reduced(ReduceOp::kProd, rows);
  EXPECT_EQ(static_cast<float>(product[0]), 1.0029296875F);
  EXPECT_EQ(static_cast<float>(product[1]), 256.0F);
  EXPECT_EQ(static_cast<float>(all_reduced(ReduceOp::kMax, rows)[1]), 256.0F);
  EXPECT_EQ(static_cast<float>(all_reduced(ReduceOp::kMin, rows)[1]), 0.00390625F);
}

// 2^127 * 2 is infinite before the factor 2^-10. (2 * 2^-10) * 2^127 and (2^-10 * 2^127) * 2 are
// 2^118.
TEST_F(Operators, MultiplyInTheNamedOrder) {
  testing::asserts("SEM-253");
  // Element i of a ring of three begins with replica i.
  const std::vector<float> values{std::ldexp(1.0F, 127), 2, std::ldexp(1.0F, -10)};
  const auto product = [&](ReductionOrder order) {
    MirroredStrategy strategy{backend_, {.order = order}};
    return strategy.run([&](ReplicaContext& replica) {
      const float own = values[static_cast<std::size_t>(replica.replica_id())];
      return replica.all_reduce(ReduceOp::kProd, Tensor<float>::full({3}, own)).to_host();
    })[0];
  };
  const float finite = std::ldexp(1.0F, 118);
  EXPECT_THAT(product(ReductionOrder::kReplicaOrder), Each(kInfinity));
  EXPECT_THAT(product(ReductionOrder::kRing), ElementsAre(kInfinity, finite, finite));
}

TEST_F(Operators, RefuseBool) {
  for (const ReduceOp op : kNew) {
    EXPECT_EQ(code_of([&] {
                strategy_.run([&](ReplicaContext& replica) { replica.all_reduce(op, true); });
              }),
              ErrorCode::kDType);
  }
}

TEST_F(Operators, RefuseElementsOfPrograms) {
  const std::string text = error_of([&] {
    strategy_.run([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kMax, Money{1}); });
  });
  EXPECT_THAT(text, HasSubstr("have no max"));
  EXPECT_THAT(text, HasSubstr("reduce by SUM, or by a Reduction of your own"));
}

TEST_F(Operators, CombineListsAlongAnAxis) {
  testing::asserts("SEM-252", "SEM-253");
  const PerReplica<std::vector<int>> lists{{4, -9}, {}, {2}};
  EXPECT_EQ(cross_.reduce(ReduceOp::kMax, lists, Axis(0)).value(), 4);
  EXPECT_EQ(cross_.reduce(ReduceOp::kMin, lists, Axis(0)).value(), -9);
  EXPECT_EQ(cross_.reduce(ReduceOp::kProd, lists, Axis(0)).value(), -72);
  const PerReplica<std::vector<float>> special{{-0.0F}, {0.0F, -1}, {}};
  EXPECT_FALSE(std::signbit(cross_.reduce(ReduceOp::kMax, special, Axis(0)).value()));
  const PerReplica<std::vector<float>> nothing{{}, {}, {}};
  EXPECT_EQ(cross_.reduce(ReduceOp::kProd, nothing, Axis(0)).value(), 1);
  EXPECT_EQ(code_of([&] { cross_.reduce(ReduceOp::kMax, nothing, Axis(0)); }),
            ErrorCode::kInvalidArgument);
}

// Replica 1 has no rows: its extreme is the neutral element, and not 0.
TEST_F(Operators, CombineTensorsAlongAnAxis) {
  testing::asserts("SEM-252", "SEM-253");
  const auto parts = strategy_.run([](ReplicaContext& replica) {
    if (replica.replica_id() == 1) return Tensor<float>::zeros({0, 2});
    const auto id = static_cast<float>(replica.replica_id());
    return Tensor<float>::from({2, 2}, {-1 - id, 2, -3, kNaN * id});
  });
  const auto reduced = [&](ReduceOp op) { return cross_.reduce(op, parts, Axis(0)).value(); };
  const std::vector<float> most = reduced(ReduceOp::kMax).to_host();
  EXPECT_EQ(most[0], -1);
  EXPECT_TRUE(std::isnan(most[1]));
  EXPECT_EQ(reduced(ReduceOp::kMin).to_host()[0], -3);
  EXPECT_EQ(reduced(ReduceOp::kProd).to_host()[0], 27);  // -1 * -3 * -3 * -3
}

TEST_F(Operators, CombineListsOfResults) {
  const PerReplica<std::vector<int>> lists{{1, 5}, {}, {-3}};
  EXPECT_EQ(cross_.reduce_mapped(ReduceOp::kMax, lists).value(), 5);
  EXPECT_EQ(cross_.reduce_mapped(ReduceOp::kMin, lists).value(), -3);
  EXPECT_EQ(cross_.reduce_mapped(ReduceOp::kProd, lists).value(), -15);
}

TEST_F(Operators, CombineSeveralValuesAtOnce) {
  const PerReplica<int> first{1, 4, 2};
  const auto second = strategy_.run([](ReplicaContext& replica) {
    return Tensor<float>::full({1}, static_cast<float>(2 + replica.replica_id()));
  });
  const auto [a, b] = cross_.batch_reduce(ReduceOp::kProd, first, second);
  EXPECT_EQ(a.value(), 8);
  EXPECT_EQ(b.value().item(), 24);
}

TEST_F(Operators, CombineAssignments) {
  testing::asserts("SEM-254");
  const auto assigned = [&](Aggregation by) {
    const auto variable = strategy_.mirrored_variable(10, {.aggregation = by});
    strategy_.run([&](ReplicaContext& replica) {
      replica.assign(variable, 2 - 3 * replica.replica_id());  // 2, -1, -4
    });
    return strategy_.read(variable);
  };
  EXPECT_EQ(assigned(Aggregation::kMax), 2);
  EXPECT_EQ(assigned(Aggregation::kMin), -4);
  EXPECT_EQ(assigned(Aggregation::kProd), 8);
}

TEST_F(Operators, ReadReplicaLocalVariables) {
  testing::asserts("SEM-254");
  const auto read = [&](auto by) {
    const auto variable = strategy_.replica_local_variable(by, 1.0);
    strategy_.run([&](ReplicaContext& replica) {
      variable.on(replica) = replica.replica_id() - 3;  // -3, -2, -1
    });
    return strategy_.read(variable);
  };
  EXPECT_EQ(read(ReduceOp::kMax), -1);
  EXPECT_EQ(read(Aggregation::kMin), -3);
  EXPECT_EQ(read(ReduceOp::kProd), -6);
}

// A restore gives the same read, on other numbers of replicas too.
TEST_F(Operators, RestoreReplicaLocalVariables) {
  testing::asserts("SEM-254");
  const auto checkpoint = [](Strategy& strategy, auto& most, auto& least, auto& product) {
    most = strategy.replica_local_variable(ReduceOp::kMax, 0.0F, {.name = "most"});
    least = strategy.replica_local_variable(
        ReduceOp::kMin, [] { return Tensor<float>::zeros({1}); }, {.name = "least"});
    product =
        strategy.replica_local_variable(ReduceOp::kProd, std::int64_t{1}, {.name = "product"});
    Checkpoint all(strategy);
    all.add(most).add(least).add(product);
    return all;
  };
  ReplicaLocalVariable<float> most;
  ReplicaLocalVariable<Tensor<float>> least;
  ReplicaLocalVariable<std::int64_t> product;
  Checkpoint before = checkpoint(strategy_, most, least, product);
  strategy_.run([&](ReplicaContext& replica) {
    const auto id = static_cast<float>(replica.replica_id());
    most.on(replica) = 5 - id;
    least.on(replica) = Tensor<float>::full({1}, id - 7);
    product.on(replica) = 2 + replica.replica_id();
  });
  const TensorFile file = before.contents();
  HostBackend other{2};
  MirroredStrategy strategy{other};
  Checkpoint after = checkpoint(strategy, most, least, product);
  after.restore(file);
  EXPECT_THAT(strategy.local_values(most), ElementsAre(5, 5));
  EXPECT_THAT(strategy.local_values(product), ElementsAre(24, 1));
  EXPECT_EQ(strategy.read(most), 5);
  EXPECT_EQ(strategy.read(least).item(), -7);
  EXPECT_EQ(strategy.read(product), 24);
  after.restore(file, {.sums = SumSplit::kDivide, .site = CallSite::here()});
  EXPECT_EQ(strategy.read(product), 24) << "a product is never divided";
}

// Row 1 has 4, -1 and 7 from the replicas; row 0 and the old value of row 1 are 2.
TEST_F(Operators, CombineScatteredRows) {
  testing::asserts("SEM-254");
  const auto scattered = [&](Aggregation by, ScatterOp op) {
    const auto table = strategy_.mirrored_variable([] { return Tensor<float>::full({2, 1}, 2); },
                                                   {.aggregation = by});
    strategy_.run([&](ReplicaContext& replica) {
      const float rows[] = {4, -1, 7};
      const float own = rows[replica.replica_id()];
      scatter(replica, op, table,
              indexed_slices(Tensor<float>::full({1, 1}, own), Tensor<std::int64_t>::full({1}, 1),
                             Shape{2, 1}));
    });
    return strategy_.read(table).to_host();
  };
  EXPECT_THAT(scattered(Aggregation::kMax, ScatterOp::kMaximum), ElementsAre(2, 7));
  EXPECT_THAT(scattered(Aggregation::kMin, ScatterOp::kMinimum), ElementsAre(2, -1));
  EXPECT_THAT(scattered(Aggregation::kProd, ScatterOp::kMultiply), ElementsAre(2, -56));
  EXPECT_EQ(code_of([&] { scattered(Aggregation::kMax, ScatterOp::kAdd); }),
            ErrorCode::kUnsupported);
  EXPECT_EQ(code_of([&] { scattered(Aggregation::kProd, ScatterOp::kMaximum); }),
            ErrorCode::kUnsupported);
}

TEST_F(Operators, AreRefusedWhereTheyMeanNothing) {
  testing::asserts("SEM-254");
  const auto slices = strategy_.run([](ReplicaContext&) {
    return indexed_slices(Tensor<float>::full({1, 1}, 1), Tensor<std::int64_t>::full({1}, 0),
                          Shape{2, 1});
  });
  for (const ReduceOp op : kNew) {
    EXPECT_EQ(code_of([&] { reduce_slices(cross_, op, slices); }), ErrorCode::kUnsupported);
    EXPECT_EQ(code_of([&] { reduce_vjp(cross_, op, 1.0); }), ErrorCode::kUnsupported);
    EXPECT_EQ(code_of([&] {
                strategy_.run([&](ReplicaContext& replica) { all_reduce_vjp(replica, op, 1.0); });
              }),
              ErrorCode::kUnsupported);
    EXPECT_EQ(code_of([&] {
                strategy_.run([&](ReplicaContext& replica) {
                  reduce_scatter_vjp(replica, op, std::vector<double>{1.0}, Axis(0));
                });
              }),
              ErrorCode::kUnsupported);
    EXPECT_EQ(code_of([&] { GradientBuckets(strategy_, {"w"}, {.op = op}); }),
              ErrorCode::kInvalidArgument);
  }
}

TEST_F(Operators, ReportProductsThatLeaveTheirType) {
  testing::asserts("SEM-157");
  MirroredStrategy strict{backend_, {.report_overflow = true}};
  const auto product = [&](std::vector<std::int64_t> values) {
    return strict.run([&](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kProd,
                                values[static_cast<std::size_t>(replica.replica_id())]);
    })[0];
  };
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(product({lowest, 1, 1}), lowest);
  EXPECT_THAT(error_of([&] { product({lowest, -1, 1}); }),
              HasSubstr("the product 9223372036854775808 does not fit int64"));
  EXPECT_THAT(error_of([&] { product({lowest, lowest, lowest}); }),
              HasSubstr("the product of more than 128 bits does not fit int64"));
  EXPECT_EQ(product({lowest, lowest, 0}), 0);
}

}  // namespace
}  // namespace belfry::operators_test
