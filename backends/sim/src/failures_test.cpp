// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Work that fails under many schedules: a program's error depends on no schedule (SEM-8, SEM-74).
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace belfry::sim::failures_test {
namespace {

using ::testing::StartsWith;

constexpr int kSeeds = 200;

using Body = std::function<double(ReplicaContext&)>;

// A row of a table of two, on the replica's device. If `row` is no row, the work fails when it
// runs.
Tensor<float> row_of_table(std::int32_t row) {
  const auto table = Tensor<float>::from({2, 1}, std::vector<float>{1, 2});
  return gather_rows(table, Tensor<std::int32_t>::from({1}, std::vector<std::int32_t>{row}));
}

double value_of(const Tensor<float>& tensor) { return static_cast<double>(tensor.to_host()[0]); }

bool fails(const Tensor<float>& tensor) {
  try {
    value_of(tensor);
    return false;
  } catch (const DeviceError&) {
    return true;
  }
}

/// Calls `program` with a strategy of two devices under the serial schedule and many others.
void under_schedules(const std::function<void(MirroredStrategy&)>& program) {
  for (int seed = -1; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Options options;
    options.devices = 2;
    options.seed = static_cast<std::uint64_t>(seed + 1);
    if (seed < 0) options.schedule = Schedule::fixed();
    if (seed % 20 == 7) options.carrier = Carrier::kBaton;
    if (seed % 20 == 13) options.carrier = Carrier::kConcurrent;
    Backend backend(options);
    MirroredStrategy strategy(backend);
    program(strategy);
  }
}

void expect_bad_row(Strategy& strategy, int row, const Body& body) {
  try {
    strategy.run(body);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfBounds);
    EXPECT_THAT(error.what(), StartsWith("BF-061 gather_rows: indices[0] is " +
                                         std::to_string(row) + ", and the table has 2 rows"));
  }
}

TEST(FailuresUnderSchedules, EachReplicaHearsOfItsOwn) {
  belfry::testing::asserts("SEM-74");
  under_schedules([](MirroredStrategy& strategy) {
    expect_bad_row(strategy, 100, [](ReplicaContext& replica) {
      const auto row = row_of_table(100 + replica.replica_id());
      Tensor<float>::full({1}, 1.0f);
      Tensor<float>::full({1}, 1.0f);
      return value_of(row);
    });
  });
}

TEST(FailuresUnderSchedules, OneThatIsHandledTakesNoOtherAway) {
  for (const bool merges : {false, true}) {
    belfry::testing::at_each_place(2, [merges](int odd) {
      under_schedules([&](MirroredStrategy& strategy) {
        expect_bad_row(strategy, 101 - odd, [&](ReplicaContext& replica) {
          const auto row = row_of_table(100 + replica.replica_id());
          if (merges) replica.merge_call([](CrossReplicaContext&) {});
          if (replica.replica_id() == odd) return fails(row) ? 1.0 : 0.0;
          Tensor<float>::full({1}, 1.0f);
          return value_of(row);
        });
      });
    });
  }
}

TEST(FailuresUnderSchedules, AllHearOfWhatWentIntoAReduction) {
  for (int bad : {0, 1}) {
    under_schedules([bad](MirroredStrategy& strategy) {
      expect_bad_row(strategy, 100, [bad](ReplicaContext& replica) {
        const auto row = row_of_table(replica.replica_id() == bad ? 100 : 0);
        return value_of(replica.all_reduce(ReduceOp::kSum, row));
      });
    });
  }
}

// A tensor of a device, read by both replicas. In both orders, both replicas get the reason of the
// missing value.
TEST(FailuresUnderSchedules, AllHearWhyWhatTheyShareHasNoValue) {
  under_schedules([](MirroredStrategy& strategy) {
    const auto on = strategy.placement(0);
    const auto row = gather_rows(Tensor<float>::from({2, 1}, {1, 2}, on),
                                 Tensor<std::int32_t>::from({1}, {100}, on));
    const auto texts = strategy.run([&](ReplicaContext&) -> std::string {
      try {
        return std::to_string(value_of(row));
      } catch (const DeviceError& error) {
        return error.what();
      }
    });
    for (const std::string& text : texts) EXPECT_THAT(text, StartsWith("BF-061 gather_rows"));
    EXPECT_EQ(texts[0], texts[1]);
  });
}

TEST(FailuresUnderSchedules, AllHearWhyASharedVariableHasNoValue) {
  belfry::testing::asserts("SEM-74");
  Options options;
  options.devices = 2;
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    options.seed = static_cast<std::uint64_t>(seed);
    Backend backend(options);
    CentralStorageStrategy strategy(backend);
    const auto rows = strategy.mirrored_variable([] { return Tensor<float>::full({1}, 1.0F); });
    strategy.cross_replica().update(rows, [](Tensor<float>& row) { row = row_of_table(100); });
    expect_bad_row(strategy, 100,
                   [&](ReplicaContext& replica) { return value_of(rows.on(replica)); });
    for (const int odd : {0, 1}) {
      expect_bad_row(strategy, 100, [&](ReplicaContext& replica) {
        return replica.replica_id() == odd ? 0.0 : value_of(rows.on(replica));
      });
    }
  }
}

TEST(FailuresUnderSchedules, NoneReachesTheNextRun) {
  under_schedules([](MirroredStrategy& strategy) {
    for (const int odd : {0, 1}) {
      expect_bad_row(strategy, 100 + odd, [&](ReplicaContext& replica) {
        const auto row = row_of_table(100 + replica.replica_id());
        return replica.replica_id() == odd ? value_of(row) : 0.0;
      });
    }
    const auto sums = strategy.run([](ReplicaContext& replica) {
      const auto own = row_of_table(replica.replica_id());
      return value_of(own) + 10 * value_of(replica.all_reduce(ReduceOp::kSum, own));
    });
    EXPECT_EQ(sums[0], 31.0);
    EXPECT_EQ(sums[1], 32.0);
  });
}

TEST(FailuresUnderSchedules, ARunGoesOnAfterOneThatWasHandled) {
  belfry::testing::at_each_place(2, [](int odd) {
    under_schedules([&](MirroredStrategy& strategy) {
      const auto sums = strategy.run([&](ReplicaContext& replica) {
        const int id = replica.replica_id();
        EXPECT_TRUE(fails(replica.all_reduce(ReduceOp::kSum, row_of_table(id == odd ? 100 : 0))));
        return value_of(replica.all_reduce(ReduceOp::kSum, row_of_table(id)));
      });
      EXPECT_EQ(sums[0], 3.0);
      EXPECT_EQ(sums[1], 3.0);
    });
  });
}

TEST(FailuresUnderSchedules, ACompletionTellsOnce) {
  under_schedules([](MirroredStrategy& strategy) {
    const auto on = [&](int device) { return strategy.placement(device); };
    const auto table = Tensor<float>::from({2, 1}, std::vector<float>{1, 2}, on(0));
    const auto bad = Tensor<std::int32_t>::from({1}, std::vector<std::int32_t>{100}, on(0));
    const auto row = gather_rows(table, bad);
    const Completion completion(strategy.backend(), {0});
    EXPECT_THROW(completion.wait(), DeviceError);
    EXPECT_NO_THROW(completion.wait());
    completion.delay(on(1));
    EXPECT_EQ(value_of(Tensor<float>::full({1}, 3.0f, on(1))), 3.0);
  });
}

}  // namespace
}  // namespace belfry::sim::failures_test
