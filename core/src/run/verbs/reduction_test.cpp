// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions defined by users, and the two for integers.
#include "belfry/reduction.h"

#include "belfry/backend/host_backend.h"
#include "belfry/checkpoint.h"
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::reduction_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

struct Largest {
  int combine(int folded, int next) const { return std::max(folded, next); }
  int finalize(int folded, int) const { return folded; }
};

// The order of the fold shows.
struct Listed {
  std::string combine(std::string folded, const std::string& next) const {
    return "(" + folded + next + ")";
  }
  std::string finalize(std::string folded, int replicas) const {
    return folded + std::to_string(replicas);
  }
};

struct GeometricMean {
  double combine(double folded, double next) const { return folded * next; }
  double finalize(double product, int replicas) const {
    return std::exp2(std::log2(product) / replicas);
  }
  double on_save(double mean) const { return std::log2(mean); }
  double on_restore(double logarithm, int, int) const { return std::exp2(logarithm); }
};

class Reductions : public ::testing::Test {
 protected:
  template <class R, class F>
  auto reduced(const R& reduction, const F& own) {
    const auto results = strategy_.run([&](ReplicaContext& replica) {
      return replica.all_reduce(reduction, own(replica.replica_id()));
    });
    return std::vector(results.begin(), results.end());
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

TEST_F(Reductions, FoldByReplicaId) {
  testing::asserts("SEM-38");
  testing::at_each_place(3, [&](int odd) {
    EXPECT_THAT(reduced(Largest{}, [odd](int id) { return id == odd ? 9 : id; }), Each(9));
  });
  const auto letter = [](int id) { return std::string(1, static_cast<char>('a' + id)); };
  EXPECT_THAT(reduced(Listed{}, letter), Each("((ab)c)3"));
  EXPECT_THAT(reduced(GeometricMean{}, [](int id) { return std::exp2(id); }), Each(2.0));
}

TEST_F(Reductions, HappenInMergesToo) {
  const auto results = strategy_.run([](ReplicaContext& replica) {
    return replica.merge_call(
        [](CrossReplicaContext& cross, const PerReplica<int>& values) {
          return cross.reduce(Largest{}, values);
        },
        -replica.replica_id());
  });
  EXPECT_THAT(results, Each(0));
}

// The sum of the tensors, as a user's reduction.
struct Added {
  Tensor<float> combine(const Tensor<float>& folded, const Tensor<float>& next) const {
    EXPECT_EQ(folded.placement(), next.placement());
    return add(folded, next);
  }
  Tensor<float> finalize(Tensor<float> folded, int) const { return folded; }
};

TEST_F(Reductions, OfTensorsLeaveTheResultOnEveryDevice) {
  const auto fine = strategy_.run([](ReplicaContext& replica) {
    const auto own = Tensor<float>::full({2}, 1.0F + static_cast<float>(replica.replica_id()));
    const Tensor<float> sum = replica.all_reduce(Added{}, own);
    return sum.placement() == replica.placement() && sum.to_host() == std::vector{6.0F, 6.0F};
  });
  EXPECT_THAT(fine, Each(true));
}

// Replica 1 is absent (SEM-90): neither its value nor its number occurs.
TEST_F(Reductions, CountTheReplicasThatTakePart) {
  testing::asserts("SEM-38", "SEM-91");
  detail::ReplicaArray<std::string> values(2);
  values.emplace_back("a");
  values.emplace_back("c");
  const PerReplica<std::string> some(std::move(values), detail::Participants(3, {0, 2}));
  EXPECT_EQ(strategy_.cross_replica().reduce(Listed{}, some).value(), "(ac)2");
  const auto seen =
      strategy_.run([](ReplicaContext& replica,
                       const std::string& own) { return replica.all_reduce(Listed{}, own); },
                    some);
  EXPECT_THAT(seen, Each("(ac)2"));
}

TEST_F(Reductions, CompareStructuresFirst) {
  testing::asserts("SEM-38");
  testing::at_each_place(3, [&](int odd) {
    const auto own = [odd](int id) { return std::vector<int>(id == odd ? 2 : 1); };
    EXPECT_THROW(reduced(TruncatedMean{}, own), StructureMismatchError);
  });
}

TEST_F(Reductions, ReadVariables) {
  const auto best = strategy_.replica_local_variable(Largest{}, 4, {.name = "best"});
  EXPECT_EQ(best.aggregation(), Aggregation::kOther);
  EXPECT_EQ(strategy_.read(best), 4);
  strategy_.run([&](ReplicaContext& replica) { best.on(replica) = 7 - replica.replica_id(); });
  EXPECT_EQ(strategy_.read(best), 7);
  EXPECT_THAT(strategy_.local_values(best), ElementsAre(7, 6, 5));
}

TEST_F(Reductions, SayWhatIsSavedAndRestored) {
  testing::asserts("SEM-38", "SEM-55", "SEM-56");
  const auto mean = strategy_.replica_local_variable(GeometricMean{}, 1.0, {.name = "mean"});
  strategy_.run([&](ReplicaContext& replica) {
    mean.on(replica) = std::exp2(1 + replica.replica_id());  // 2, 4, 8
  });
  Checkpoint all(strategy_);
  const TensorFile file = all.add(mean).contents();
  double saved = 0;
  std::memcpy(&saved, file.tensors.at("mean").bytes.data(), sizeof saved);
  EXPECT_EQ(saved, 2.0);
  all.restore(file);
  EXPECT_THAT(strategy_.local_values(mean), Each(4.0));
}

// The first component is saved; each component gets its own share.
struct Shares {
  double combine(double folded, double) const { return folded; }
  double finalize(double folded, int) const { return folded; }
  double on_restore(double saved, int component, int components) const {
    return saved * (component + 1) / components;
  }
};

TEST_F(Reductions, SayWhatEachComponentIsRestoredTo) {
  const auto shares = strategy_.replica_local_variable(Shares{}, 6.0, {.name = "shares"});
  Checkpoint all(strategy_);
  const TensorFile file = all.add(shares).contents();
  all.restore(file);
  EXPECT_THAT(strategy_.local_values(shares), ElementsAre(2.0, 4.0, 6.0));
}

TEST_F(Reductions, TruncateMeansOfIntegers) {
  testing::asserts("SEM-39");
  // -1, -2, -4: -7 / 3 is -2 and a third.
  const auto own = [](int id) { return -(1 << id); };
  EXPECT_THAT(reduced(TruncatedMean{}, own), Each(-2));
  EXPECT_THAT(reduced(TruncatedMean{}, [](int id) { return std::vector<std::int64_t>{7, id}; }),
              Each(ElementsAre(7, 1)));
  const auto tensors = reduced(TruncatedMean{}, [](int id) {
    return Tensor<std::int8_t>::full({2}, static_cast<std::int8_t>(10 + id));
  });
  for (const auto& tensor : tensors) EXPECT_THAT(tensor.to_host(), Each(11));
  const auto nests = reduced(TruncatedMean{}, [](int id) { return std::tuple(5, 1.0 + id); });
  EXPECT_THAT(nests, Each(std::tuple(5, 2.0)));
}

TEST_F(Reductions, PromoteMeansOfIntegers) {
  testing::asserts("SEM-39");
  EXPECT_THAT(reduced(PromotedMean{}, [](int id) { return 1 << id; }), Each(7.0 / 3));
  // The sum of integers would wrap.
  const auto large = [](int) { return std::numeric_limits<std::int32_t>::max(); };
  EXPECT_THAT(reduced(PromotedMean{}, large), Each(2147483647.0));
  EXPECT_THAT(reduced(PromotedMean{}, [](int) { return std::vector<std::uint8_t>{7, 0}; }),
              Each(ElementsAre(7.0, 0.0)));
  const auto tensors = reduced(
      PromotedMean{}, [](int id) { return Tensor<std::int32_t>::full({1}, id == 0 ? 1 : 0); });
  for (const Tensor<double>& tensor : tensors) EXPECT_EQ(tensor.item(), 1.0 / 3);
}

TEST_F(Reductions, MayReadIntegerVariablesAsMeans) {
  const auto mean = strategy_.replica_local_variable(TruncatedMean{}, 0);
  strategy_.run([&](ReplicaContext& replica) { mean.on(replica) = 1 << replica.replica_id(); });
  EXPECT_EQ(strategy_.read(mean), 2);
}

TEST_F(Reductions, OfOneReplicaObeyTheSameRules) {
  HostBackend backend(1);
  MirroredStrategy one(backend);
  EXPECT_THAT(one.run([](ReplicaContext& replica) {
    return replica.all_reduce(Listed{}, std::string("a"));
  }),
              ElementsAre("a1"));
}

// A number read from a file may stand for no operator.
TEST(ReduceOps, ThatAreNoneAreRefusedWhereverTheyReduce) {
  const auto invalid = static_cast<ReduceOp>(99);
  for (const int replicas : {1, 2}) {
    HostBackend backend(replicas);
    MirroredStrategy strategy(backend);
    CrossReplicaContext& cross = strategy.cross_replica();
    const auto numbers = strategy.run([](ReplicaContext&) { return 1.0F; });
    const auto lists = strategy.run([](ReplicaContext&) { return std::vector<float>{1, 2}; });
    const auto tensors =
        strategy.run([](ReplicaContext&) { return Tensor<float>::full({2}, 1.0F); });
    const std::function<void()> reductions[] = {
        [&] { strategy.run([&](ReplicaContext& r) { r.all_reduce(invalid, 1.0F); }); },
        [&] {
          strategy.run(
              [&](ReplicaContext& r) { r.all_reduce(invalid, Tensor<float>::full({2}, 1.0F)); });
        },
        [&] { cross.reduce(invalid, numbers); },
        [&] { cross.reduce(invalid, tensors); },
        [&] { cross.reduce(invalid, tensors, backend.device_spec(0)); },
        [&] { cross.reduce(invalid, lists, Axis(0)); },
        [&] { cross.reduce(invalid, tensors, Axis(0)); },
        [&] { cross.reduce_mapped(invalid, lists); },
        [&] { cross.batch_reduce(invalid, numbers, tensors); },
    };
    for (const auto& reduction : reductions) {
      std::string text;
      try {
        reduction();
      } catch (const InvalidArgumentError& error) {
        text = error.what();
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << text;
      }
      EXPECT_THAT(text, ::testing::HasSubstr("reduce_op(99)"));
    }
  }
}

// The number is refused even without a leaf.
TEST(ReduceOps, ThatAreNoneAreRefusedWithNothingToReduce) {
  const auto invalid = static_cast<ReduceOp>(5);
  HostBackend backend(2);
  MirroredStrategy strategy(backend);
  CrossReplicaContext& cross = strategy.cross_replica();
  using Lists = std::vector<std::vector<double>>;
  const PerReplica<Lists> none{Lists{}, Lists{}};
  const std::vector<std::pair<PerReplica<int>, DeviceSpec>> no_pairs;
  const auto reductions = [&](ReduceOp op) {
    return std::vector<std::function<void()>>{
        [&, op] { cross.reduce(op, none); },
        [&, op] { cross.reduce(op, none, backend.device_spec(0)); },
        [&, op] { cross.batch_reduce(op, none); },
        [&, op] { cross.batch_reduce(op, no_pairs); },
        [&, op] { cross.reduce_mapped(op, PerReplica<std::vector<Lists>>{{Lists{}}, {}}); },
        [&, op] {
          strategy.run([op](ReplicaContext& r) { r.all_reduce(op, std::optional<double>()); });
        },
    };
  };
  for (const auto& reduction : reductions(invalid)) {
    EXPECT_THAT(error_of(reduction),
                ::testing::StartsWith("BF-030 reduce_op(5) is no way to reduce values"));
  }
  for (const auto& reduction : reductions(ReduceOp::kMean)) {
    EXPECT_EQ(error_of(reduction), "nothing was thrown");
  }
}

}  // namespace
}  // namespace belfry::reduction_test
