// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Memory of the program that devices use, too, in watched code: host code and devices are in the
// orders of streams and waits.
#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/certified.h"
#include "testing/broken_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace belfry::sim::shared_memory_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kDeviceBytes = "device bytes have an order";

using Body = std::function<double(Backend&)>;

std::string place(int line) { return "shared_memory_test.cpp:" + std::to_string(line); }

Tensor<float> over(Backend& backend, std::vector<float>& mine, int device = 0) {
  const Shape shape{static_cast<std::int64_t>(mine.size())};
  return Tensor<float>::over(shape, std::span(mine), Placement{&backend, device});
}

Verdict judged(const Body& body) { return explore({.devices = 2, .seed = 7}, body); }

// A kernel reads the memory, and the host writes beside the kernel.
struct Lines {
  int kernel = 0;
  int host = 0;
};
double written_beside_a_kernel(Backend& backend, int device, Lines& lines) {
  std::vector<float> mine{1, 2};
  const auto x = over(backend, mine, device);
  lines.kernel = __LINE__ + 1;
  const Tensor<float> product = multiply(x, 10);
  lines.host = __LINE__ + 1;
  mine[1] = 7;
  return static_cast<double>(product.to_host()[1]);
}

TEST(SharedMemory, WrittenByTheHostBesideAKernelIsARace) {
  for (int device = 0; device < 2; ++device) {
    Lines lines;
    const Verdict verdict =
        judged([&](Backend& backend) { return written_beside_a_kernel(backend, device, lines); });
    EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
    EXPECT_THAT(testing::broken_conditions(verdict), ElementsAre(kDeviceBytes));
    ASSERT_THAT(verdict.report().races, SizeIs(1));
    const Race& race = verdict.report().races[0];
    EXPECT_EQ(race.first.place, place(lines.kernel));
    EXPECT_EQ(race.first.begin, 0U);
    EXPECT_EQ(race.first.end, 8U);
    EXPECT_EQ(race.second.operation, "the code");
    EXPECT_EQ(race.second.place, place(lines.host));
    EXPECT_EQ(race.second.begin, 4U);
    EXPECT_EQ(race.second.end, 8U);
    EXPECT_TRUE(race.second.writes);
    EXPECT_THAT(race.missing, HasSubstr("H0 writes without a wait for S"));
  }
}

// The host reads what a kernel writes.
TEST(SharedMemory, ReadByTheHostBesideAKernelIsARace) {
  const auto body = [](bool waits) {
    return [waits](Backend& backend) {
      std::vector<float> mine{1, 2};
      Tensor<float> x = over(backend, mine);
      const auto y = Tensor<float>::full(Shape{2}, 5.0F, Placement{&backend, 0});
      add_to(x, y);
      if (waits) backend.device(0).compute_stream().synchronize();
      return static_cast<double>(mine[0]) + static_cast<double>(x.to_host()[0]);
    };
  };
  EXPECT_THAT(testing::broken_conditions(judged(body(false))), ElementsAre(kDeviceBytes));
  const Verdict verdict = judged(body(true));
  EXPECT_CERTIFIED(verdict);
}

// Two tensors over one vector, on devices without an order.
TEST(SharedMemory, OfTwoTensorsIsOneMemory) {
  const auto body = [](bool waits) {
    return [waits](Backend& backend) {
      std::vector<float> mine{1, 2};
      Tensor<float> x = over(backend, mine, 0);
      const Tensor<float> y = over(backend, mine, 1);
      scale(x, 3.0F);
      if (waits) backend.device(0).compute_stream().synchronize();
      const double value = static_cast<double>(multiply(y, 10).to_host()[0]);
      backend.device(0).compute_stream().synchronize();
      return value;
    };
  };
  EXPECT_THAT(testing::broken_conditions(judged(body(false))), ElementsAre(kDeviceBytes));
  EXPECT_CERTIFIED(judged(body(true)));
}

// A replica writes memory that a kernel of the second replica reads.
TEST(SharedMemory, OfTwoReplicasNeedsAMerge) {
  int reader = 0;
  int writer = 0;
  const auto body = [&](bool merges) {
    return [&, merges](Backend& backend) {
      MirroredStrategy strategy{backend};
      std::vector<float> mine{1, 2};
      const auto x = over(backend, mine, reader);
      return strategy.run([&, merges](ReplicaContext& replica) {
        double value = 0;
        if (replica.replica_id() == reader) {
          value = static_cast<double>(multiply(x, 10).to_host()[0]);
        }
        if (merges) replica.merge_call([](CrossReplicaContext&) {});
        if (replica.replica_id() == writer) mine[0] = 7;
        return value;
      })[reader];
    };
  };
  for (reader = 0; reader < 3; ++reader) {
    for (writer = 0; writer < 3; ++writer) {
      if (reader == writer) continue;
      const Verdict verdict = explore({.devices = 3}, body(false));
      EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
      EXPECT_THAT(testing::broken_conditions(verdict), ElementsAre(kDeviceBytes));
      EXPECT_CERTIFIED(explore({.devices = 3}, body(true)));
    }
  }
}

// A replica makes a tensor over memory that the second replica writes.
TEST(SharedMemory, IsTouchedByTheMakingOfItsTensor) {
  int maker = 0;
  int writer = 0;
  const auto body = [&](Backend& backend) {
    MirroredStrategy strategy{backend};
    std::vector<float> mine{1, 2};
    return strategy.run([&](ReplicaContext& replica) {
      if (replica.replica_id() == writer) mine[0] = 7;
      if (replica.replica_id() != maker) return 0.0;
      return static_cast<double>(multiply(over(backend, mine), 10).to_host()[0]);
    })[maker];
  };
  for (maker = 0; maker < 3; ++maker) {
    for (writer = 0; writer < 3; ++writer) {
      if (maker == writer) continue;
      Options options{.devices = 3, .seed = 7};
      for (const Schedule& schedule : {options.schedule, Schedule::fixed()}) {
        options.schedule = schedule;
        const Verdict verdict = explore(options, body);
        EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
      }
    }
  }
}

// Functions of the C library that are seen, in a loop and in a call.
TEST(SharedMemory, FilledByLoopsAndCopiesIsSeen) {
  for (const bool copies : {false, true}) {
    const Verdict verdict = judged([copies](Backend& backend) {
      std::vector<float> mine(4096, 1.0F);
      const std::vector<float> fresh(4096, 2.0F);
      const auto x = over(backend, mine);
      const Tensor<float> product = multiply(x, 10);
      if (copies) {
        std::memcpy(mine.data(), fresh.data(), mine.size() * sizeof(float));
      } else {
        for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = fresh[i];
      }
      return static_cast<double>(product.to_host()[4095]);
    });
    EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted) << explain(verdict);
    ASSERT_FALSE(verdict.report().races.empty());
    EXPECT_EQ(verdict.report().races[0].second.end, 4096U * 4) << explain(verdict);
  }
}

// The progress of devices decides when the owner ends.
TEST(SharedMemory, WithAnOwnerIsNotCertified) {
  const Verdict verdict = judged([](Backend& backend) {
    const auto mine = std::make_shared<std::vector<float>>(1, 2.0F);
    const auto x = Tensor<float>::over(Shape{1}, std::span(*mine), Placement{&backend, 0}, mine);
    return static_cast<double>(multiply(x, 10).to_host()[0]);
  });
  EXPECT_EQ(verdict.level(), VerdictLevel::kSampled) << explain(verdict);
  EXPECT_THAT(testing::broken_conditions(verdict), ElementsAre(kDeviceBytes));
}

// The C library sorts the memory outside of replicas.
TEST(SharedMemory, ChangedByUnwatchedFunctionsIsNotCertified) {
  const Verdict verdict = judged([](Backend& backend) {
    std::vector<float> mine{2, 1};
    const auto x = over(backend, mine);
    const Tensor<float> product = multiply(x, 10);
    std::qsort(mine.data(), 2, sizeof(float), [](const void* a, const void* b) {
      return *static_cast<const float*>(a) < *static_cast<const float*>(b) ? -1 : 1;
    });
    return static_cast<double>(product.to_host()[0]);
  });
  EXPECT_NE(verdict.level(), VerdictLevel::kCertified) << explain(verdict);
  EXPECT_THAT(explain(verdict), HasSubstr("accesses may be unseen in: qsort"));
}

}  // namespace
}  // namespace belfry::sim::shared_memory_test
