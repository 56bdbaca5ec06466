// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs that break a condition of a certificate at each place in turn, and programs that nearly
// do. A pair of programs for each breach: condition_pairs_test.cpp.
#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "testing/broken_conditions.h"
#include "testing/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace belfry::sim::conditions_test {
namespace {

using testing::broken_conditions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HostMemory;
using ::testing::IsEmpty;

constexpr int kDevices = 3;
constexpr const char* kDeviceBytes = "device bytes have an order";
constexpr const char* kHostBytes = "replicas share no host bytes that one of them writes";
constexpr const char* kBlind = "nothing asks for the progress of agents";
constexpr const char* kFailures = "no device work fails, and memory suffices";
constexpr const char* kOwnBackend = "the body uses its backend alone";

class Conditions : public ::testing::Test {
 protected:
  Conditions() { host_.reset(); }

  // The conditions that `body` breaks; nothing if and only if the body is certified.
  std::vector<std::string> broken_by(const std::function<float(Backend&)>& body,
                                     const Options& options = {.devices = kDevices}) {
    const Verdict verdict = explore(options, body);
    std::vector<std::string> names = broken_conditions(verdict);
    EXPECT_EQ(verdict.level() == VerdictLevel::kCertified, names.empty()) << explain(verdict);
    EXPECT_NE(verdict.level(), VerdictLevel::kNone) << explain(verdict);
    return names;
  }

  HostMemory& host_ = HostMemory::attached();
};

// A run of all replicas, with the result of replica 1.
float run(Backend& backend, const std::function<float(ReplicaContext&)>& replica) {
  MirroredStrategy strategy{backend};
  return strategy.run([&](ReplicaContext& context) { return replica(context); })[1];
}

// The watched code of the program is elsewhere. Schedules differ in the captured number.
TEST_F(Conditions, HostBytesOfReplicasWithoutWatchedCode) {
  belfry::testing::asserts("SEM-193");
  const auto body = [](Backend& backend) {
    float total = 0;
    run(backend, [&](ReplicaContext& replica) {
      total = 10 * total + static_cast<float>(replica.replica_id() + 1);
      return total;
    });
    return total;
  };
  host_.report.accesses = 0;
  EXPECT_THAT(broken_by(body), ElementsAre(kHostBytes));
  const Verdict verdict = explore({.devices = 2, .seed = 7}, body);
  EXPECT_EQ(verdict.level(), VerdictLevel::kRefuted);
  EXPECT_THAT(explain(verdict), ::testing::HasSubstr("no replica ran watched code"));
}

TEST_F(Conditions, LooksAtTheBackend) {
  belfry::testing::asserts("SEM-193");
  const std::vector<std::function<void(Backend&)>> looks = {
      [](Backend& backend) { (void)backend.hash(); },
      [](Backend& backend) { (void)backend.memory_report(); },
      [](Backend& backend) { (void)backend.leaks(); },
      [](Backend& backend) { (void)backend.choices(); },
  };
  const auto with = [](const std::function<void(Backend&)>& look) {
    return [look](Backend& backend) {
      MirroredStrategy strategy{backend};
      const auto x = Tensor<float>::full(Shape{}, 1.0F, strategy.placement(0));
      look(backend);
      return x.item();
    };
  };
  for (const auto& look : looks) EXPECT_THAT(broken_by(with(look)), ElementsAre(kBlind));
  EXPECT_THAT(broken_by(with([](Backend& backend) { (void)backend.options(); })), IsEmpty());
}

// Both replicas write to a tensor of device 1, whose storage they share, and end their handles:
// each write goes to a copy, and the last handle is nowhere the only one.
TEST_F(Conditions, CopiesBeforeWrites) {
  belfry::testing::asserts("SEM-194");
  const auto body = [](Backend& backend) {
    MirroredStrategy strategy{backend};
    std::vector<Tensor<float>> handles(2,
                                       Tensor<float>::full(Shape{}, 1.0F, strategy.placement(1)));
    const auto values = strategy.run([&](ReplicaContext& replica) {
      const auto id = static_cast<std::size_t>(replica.replica_id());
      scale(handles[id], 3.0F + static_cast<float>(id));
      const float value = handles[id].item();
      handles[id] = Tensor<float>();
      return value;
    });
    return 10 * values[0] + values[1];
  };
  EXPECT_THAT(broken_by(body, {.devices = 2}), IsEmpty());
  EXPECT_EQ(explore({.devices = 2}, body).report().outcomes.at(0).outcome, "34");
}

TEST_F(Conditions, FailedWork) {
  belfry::testing::asserts("SEM-193");
  const auto row = [](int device, std::int32_t index) {
    return [device, index](Backend& backend) {
      MirroredStrategy strategy{backend};
      const Placement here = strategy.placement(device);
      const auto table = Tensor<float>::full(Shape{2, 1}, 1.0F, here);
      // Nobody waits for the work.
      gather_rows(table, Tensor<std::int32_t>::full(Shape{1}, index, here));
      return 1.0F;
    };
  };
  for (int device = 0; device < kDevices; ++device) {
    EXPECT_THAT(broken_by(row(device, 2)), ElementsAre(kFailures));
    EXPECT_THAT(broken_by(row(device, 1)), IsEmpty());
  }
}

// The host reads a number that no stream has written, or that a stream writes at any time.
TEST_F(Conditions, ReadsWithoutContents) {
  belfry::testing::asserts("SEM-199");
  const auto on = [](int device, bool written) {
    return [device, written](Backend& backend) {
      Stream& reader = backend.device(device).compute_stream();
      const auto writer = backend.device(device).create_stream();
      const BufferView view = view_of(backend.device(device).allocate(4, reader), DType::kFloat32);
      const float number = 3;
      if (written) writer->write(view, &number);
      float value = 0;
      reader.read(&value, view);
      return value;
    };
  };
  for (int device = 0; device < kDevices; ++device) {
    EXPECT_THAT(broken_by(on(device, false)), IsEmpty());
    const VerdictReport certified = explore({.devices = kDevices}, on(device, false)).report();
    EXPECT_THAT(certified.outcomes.at(0).outcome, HasSubstr("BF-062"));
    EXPECT_THAT(certified.conditions.at(5).evidence,
                HasSubstr("1 read of the host throws in every schedule"));
    EXPECT_THAT(broken_by(on(device, true)), ElementsAre(kDeviceBytes));
    // The serial schedule reads before the write.
    const Verdict refuted =
        explore({.devices = kDevices, .schedule = Schedule::fixed()}, on(device, true));
    EXPECT_EQ(refuted.level(), VerdictLevel::kRefuted) << explain(refuted);
    ASSERT_EQ(refuted.report().races.size(), 1U);
    EXPECT_EQ(refuted.report().races[0].second.operation, "the host");
  }
}

// Two buffers of 400 bytes on a device, the second after the end of the first, and a buffer on
// each further device.
TEST_F(Conditions, MemoryOfDevices) {
  belfry::testing::asserts("SEM-193");
  for (int odd = 0; odd < kDevices; ++odd) {
    const auto body = [odd](Backend& backend) {
      MirroredStrategy strategy{backend};
      float sum = 0;
      for (const int device : {0, 1, 2, odd}) {
        sum += Tensor<float>::full(Shape{100}, 1.0F, strategy.placement(device)).to_host()[0];
      }
      return sum;
    };
    Options options{.devices = kDevices};
    options.memory_limit_bytes = 799;
    EXPECT_THAT(broken_by(body, options), ElementsAre(kFailures));
    EXPECT_THAT(explain(explore(options, body)),
                HasSubstr("the buffers of device " + std::to_string(odd) +
                          " have 800 bytes in all, and the limit is 799"));
    options.memory_limit_bytes = 800;
    EXPECT_THAT(broken_by(body, options), IsEmpty());
  }
}

// The limit is that of devices: the host has no limit.
TEST_F(Conditions, MemoryOfTheHost) {
  belfry::testing::asserts("SEM-193");
  Options options{.devices = kDevices};
  options.memory_limit_bytes = 399;
  const auto body = [](Backend& backend) {
    return Tensor<float>::full(Shape{100}, 1.0F, Placement{&backend, kDevices}).to_host()[0];
  };
  EXPECT_THAT(broken_by(body, options), IsEmpty());
}

// The device work of a body on a backend from outside is in no observed schedule.
TEST_F(Conditions, BackendsFromOutside) {
  belfry::testing::asserts("SEM-193");
  Backend outside{{.devices = 1, .schedule = Schedule::fixed()}};
  const auto fill = [&] {
    return Tensor<float>::full(Shape{}, 1.0F, Placement{&outside, 0}).item();
  };
  EXPECT_THAT(broken_by([&](Backend&) { return fill(); }), ElementsAre(kOwnBackend));
  // A replica uses the backend.
  for (int odd = 0; odd < kDevices; ++odd) {
    const auto by_replica = [&](Backend& backend) {
      return run(backend, [&](ReplicaContext& replica) {
        return replica.replica_id() == odd ? fill() : 0.0F;
      });
    };
    EXPECT_THAT(broken_by(by_replica), ElementsAre(kOwnBackend));
  }
}

// The library refuses runs in replicas: the refusal is the outcome of every schedule.
TEST_F(Conditions, RunsInReplicas) {
  for (int odd = 0; odd < kDevices; ++odd) {
    const auto body = [odd](Backend& backend) {
      const DeviceSpec own = DeviceSpec::parse("/sim:" + std::to_string(odd));
      MirroredStrategy inner{backend, {.devices = {own}}};
      return run(backend, [&](ReplicaContext& replica) {
        if (replica.replica_id() == odd) inner.run([](ReplicaContext&) {});
        return 1.0F;
      });
    };
    EXPECT_THAT(broken_by(body), IsEmpty());
    EXPECT_THAT(explore({.devices = kDevices}, body).report().outcomes.at(0).outcome,
                HasSubstr("BF-0"));
  }
}

}  // namespace
}  // namespace belfry::sim::conditions_test
