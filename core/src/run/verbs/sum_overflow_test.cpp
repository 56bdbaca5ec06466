// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Sums of integers that leave their type are reported on request (SEM-157).
#include "belfry/backend/host_backend.h"
#include "belfry/strategies.h"
#include "belfry/tensor.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "belfry/testing/each_place.h"
#include "run/testing/error_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sum_overflow_test {
namespace {

using testing::code_of;
using ::testing::Each;
using ::testing::HasSubstr;

class SumOverflows : public ::testing::Test {
 protected:
  /// The replicas' sum of `values`, a value for each replica.
  template <class T>
  T sum(Strategy& strategy, const std::vector<T>& values) {
    return strategy.run([&](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum,
                                values[static_cast<std::size_t>(replica.replica_id())]);
    })[0];
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_, StrategyOptions{.report_overflow = true}};
  MirroredStrategy wrapping_{backend_};
};

TEST_F(SumOverflows, AreReportedWithTheOperandsOfTheReplicas) {
  testing::asserts("SEM-157");
  const std::string text = error_of([&] { sum<std::int8_t>(strategy_, {100, 27, 1}); });
  EXPECT_THAT(text, HasSubstr("BF-041 the sum 128 does not fit int8 (merge #1)\n"));
  EXPECT_THAT(text, HasSubstr("replica 0  sum_overflow_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("  brings 100\n"));
  EXPECT_THAT(text, HasSubstr("  brings 27\n"));
  EXPECT_THAT(text, HasSubstr("  brings 1\n"));
  EXPECT_THAT(text, HasSubstr("expected: a sum in [-128, 127]\n"));
  EXPECT_EQ(sum<std::int8_t>(strategy_, {100, 26, 1}), 127);
  EXPECT_THAT(error_of([&] { sum<std::int8_t>(strategy_, {-100, -28, -1}); }),
              HasSubstr("the sum -129 does not fit int8 (merge #1)\n"));
  EXPECT_EQ(sum<std::int8_t>(strategy_, {-100, -27, -1}), -128);
}

TEST_F(SumOverflows, OfATotalThatFitsAreNone) {
  testing::asserts("SEM-157");
  EXPECT_EQ(sum<std::int8_t>(strategy_, {100, 100, -100}), 100) << "100 + 100 wraps and comes back";
}

TEST_F(SumOverflows, AreFoundInEveryType) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(error_of([&] { sum<std::uint64_t>(strategy_, {most, 1, 0}); }),
              HasSubstr("the sum 18446744073709551616 does not fit uint64 (merge #1)\n"));
  EXPECT_THAT(error_of([&] { sum<std::int64_t>(strategy_, {least, -1, 0}); }),
              HasSubstr("the sum -9223372036854775809 does not fit int64 (merge #1)\n"));
  EXPECT_THAT(error_of([&] { sum<std::uint8_t>(strategy_, {255, 0, 1}); }), HasSubstr("sum 256"));
  EXPECT_THAT(error_of([&] { sum<std::int16_t>(strategy_, {32767, 0, 1}); }),
              HasSubstr("sum 32768"));
  EXPECT_THAT(error_of([&] { sum<std::uint16_t>(strategy_, {65535, 0, 1}); }),
              HasSubstr("sum 65536"));
  EXPECT_THAT(error_of([&] { sum<std::int32_t>(strategy_, {2147483647, 0, 1}); }),
              HasSubstr("sum 2147483648"));
  EXPECT_THAT(error_of([&] { sum<std::uint32_t>(strategy_, {4294967295U, 0, 1}); }),
              HasSubstr("sum 4294967296"));
}

TEST_F(SumOverflows, NameTheLeafAndTheElement) {
  testing::asserts("SEM-157");
  using Value = std::pair<double, std::map<std::string, std::vector<std::int16_t>>>;
  testing::at_each_place(3, [&](int odd) {
    const std::string text = error_of([&] {
      strategy_.run([&](ReplicaContext& replica) {
        const std::int16_t own = replica.replica_id() == odd ? 30000 : 2000;
        const Value value{1e300, {{"counts", {1, own, own}}}};
        replica.all_reduce(ReduceOp::kSum, value, CallSite{"train.cc", 11});
      });
    });
    EXPECT_THAT(text,
                HasSubstr("the sum 34000 does not fit int16 at leaf 1[1]{counts} at element 1 "
                          "(merge #1)\n"));
    EXPECT_THAT(text, HasSubstr(lines_of_three(odd, "train.cc:11  brings 2000",
                                               "train.cc:11  brings 30000")));
  });
}

TEST_F(SumOverflows, OfTensorsAreReported) {
  testing::asserts("SEM-157");
  const auto reduced = [](Strategy& strategy, std::int32_t own) {
    return strategy.run([&](ReplicaContext& replica) {
      const auto tensor = Tensor<std::int32_t>::from({2}, {1, own});
      return replica.all_reduce(ReduceOp::kSum, tensor).to_host();
    });
  };
  EXPECT_THAT(error_of([&] { reduced(strategy_, 1 << 30); }),
              HasSubstr("the sum 3221225472 does not fit int32 at element 1 (merge #1)\n"));
  EXPECT_EQ(reduced(strategy_, 1 << 29)[2], (std::vector<std::int32_t>{3, 3 << 29}));
}

TEST_F(SumOverflows, WrapWithoutTheOption) {
  EXPECT_EQ(sum<std::uint8_t>(wrapping_, {200, 100, 0}), 44) << "300 - 256";
  wrapping_.configure({.report_overflow = true});
  EXPECT_EQ(code_of([&] { sum<std::uint8_t>(wrapping_, {200, 100, 0}); }), ErrorCode::kSumOverflow);
  wrapping_.configure({});
  EXPECT_EQ(sum<std::uint8_t>(wrapping_, {200, 100, 0}), 44);
}

TEST_F(SumOverflows, LeaveTheStrategyUsable) {
  EXPECT_EQ(code_of([&] { sum<std::uint8_t>(strategy_, {200, 100, 0}); }), ErrorCode::kSumOverflow);
  EXPECT_EQ(sum<std::uint8_t>(strategy_, {1, 2, 3}), 6);
}

TEST_F(SumOverflows, OfCrossReplicaVerbsAreReported) {
  CrossReplicaContext& cross = strategy_.cross_replica();
  const PerReplica<std::uint8_t> small{{1, 2, 3}};
  const PerReplica<std::uint8_t> large{{250, 2, 4}};
  EXPECT_THAT(error_of([&] { cross.reduce(ReduceOp::kSum, large); }),
              HasSubstr("the sum 256 does not fit uint8\n"));
  EXPECT_THAT(error_of([&] { cross.batch_reduce(ReduceOp::kSum, small, large); }),
              HasSubstr("the sum 256 does not fit uint8 in value 1 of the batch\n"));
  const PerReplica<std::vector<std::vector<std::uint8_t>>> lists{
      {{{1, 2}, {3, 250}}, {}, {{4, 5}}}};
  EXPECT_THAT(error_of([&] { cross.reduce_mapped(ReduceOp::kSum, lists); }),
              HasSubstr("the sum 257 does not fit uint8 at element 1, of 2 + 250 + 5\n"));
}

TEST_F(SumOverflows, OfVariablesThatAreReadAsSumsAreReported) {
  const auto total = strategy_.replica_local_variable(ReduceOp::kSum, std::int8_t{0});
  strategy_.run([&](ReplicaContext& replica) { replica.assign_add(total, std::int8_t{50}); });
  EXPECT_THAT(error_of([&] { strategy_.read(total); }),
              HasSubstr("the sum 150 does not fit int8\n"));
}

TEST_F(SumOverflows, OfCentralStorageAreReported) {
  CentralStorageStrategy central(backend_, {.report_overflow = true});
  EXPECT_EQ(code_of([&] { sum<std::uint8_t>(central, {200, 100, 0}); }), ErrorCode::kSumOverflow);
}

}  // namespace
}  // namespace belfry::sum_overflow_test
