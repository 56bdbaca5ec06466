// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// For each condition of a certificate, programs that break the condition alone, and programs that
// nearly do.
#include "belfry/belfry.h"
#include "belfry/launch.h"
#include "belfry/sim/explore.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "testing/broken_conditions.h"
#include "testing/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
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
constexpr const char* kEvents = "events have an order";
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

// Work of two streams of a device, with or without a wait of the second for the first.
float two_streams(Backend& backend, int device, bool waits) {
  Stream& first = backend.device(device).compute_stream();
  const auto second = backend.device(device).create_stream();
  const BufferView view = view_of(backend.device(device).allocate(4, first), DType::kFloat32);
  const float one = 1.0F;
  const float two = 2.0F;
  first.write(view, &one);
  const auto event = backend.device(device).create_event();
  first.record(*event);
  if (waits) second->wait(*event);
  second->write(view, &two);
  first.synchronize();
  float value = 0;
  second->read(&value, view);
  return value;
}

TEST_F(Conditions, OrderOfDeviceBytes) {
  belfry::testing::asserts("SEM-193");
  for (int device = 0; device < kDevices; ++device) {
    EXPECT_THAT(broken_by([&](Backend& backend) { return two_streams(backend, device, false); }),
                ElementsAre(kDeviceBytes));
    EXPECT_THAT(broken_by([&](Backend& backend) { return two_streams(backend, device, true); }),
                IsEmpty());
  }
}

// Two of three replicas write to a buffer of a device, at each place in turn.
TEST_F(Conditions, OrderOfDeviceBytesOfReplicas) {
  belfry::testing::asserts("SEM-193");
  for (int device = 0; device < kDevices; ++device) {
    for (int odd = 0; odd < kDevices; ++odd) {
      const auto with = [&](bool merges) {
        return [&, merges](Backend& backend) {
          const auto stream = backend.device(device).create_stream();
          const BufferView view =
              view_of(backend.device(device).allocate(4, *stream), DType::kFloat32);
          run(backend, [&](ReplicaContext& replica) {
            const int id = replica.replica_id();
            const auto write = [&] {
              const auto own = static_cast<float>(id);
              stream->write(view, &own);
            };
            const int last = odd == 2 ? 1 : 2;
            if (id != odd && id != last) write();
            if (merges) replica.merge_call([](CrossReplicaContext&) {});
            if (id == last) write();
            return 0.0F;
          });
          float value = 0;
          stream->read(&value, view);
          return value;
        };
      };
      EXPECT_THAT(broken_by(with(false)), ElementsAre(kDeviceBytes)) << device << ", " << odd;
      EXPECT_THAT(broken_by(with(true)), IsEmpty()) << device << ", " << odd;
    }
  }
}

TEST_F(Conditions, MemoryOfTheProgram) {
  belfry::testing::asserts("SEM-193");
  const auto with = [](int device, bool foreign) {
    return [device, foreign](Backend& backend) {
      MirroredStrategy strategy{backend};
      std::vector<float> mine(2, 1.5F);
      const Placement there = strategy.placement(device);
      const auto x = foreign ? Tensor<float>::over(Shape{2}, std::span(mine), there)
                             : Tensor<float>::from(Shape{2}, mine, there);
      return x.to_host()[1];
    };
  };
  for (int device = 0; device < kDevices; ++device) {
    EXPECT_THAT(broken_by(with(device, true)), ElementsAre(kDeviceBytes));
    EXPECT_THAT(broken_by(with(device, false)), IsEmpty());
  }
}

TEST_F(Conditions, HostBytes) {
  belfry::testing::asserts("SEM-193");
  const auto body = [](Backend& backend) {
    return run(backend,
               [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 0.5F); });
  };
  EXPECT_THAT(broken_by(body), IsEmpty());
  host_.report.conflicts = {{nullptr, 8, {{}, true, nullptr, {}}, {{}, false, nullptr, {}}}};
  EXPECT_THAT(broken_by(body), ElementsAre(kHostBytes));
  host_.reset();
  host_.report.unseen = {"qsort"};
  EXPECT_THAT(broken_by(body), ElementsAre(kHostBytes));
  host_.reset();
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

TEST_F(Conditions, Queries) {
  belfry::testing::asserts("SEM-193");
  // The replica `odd` asks, on the replica's own device.
  const auto asked_by = [](int odd) {
    return [odd](Backend& backend) {
      return run(backend, [odd](ReplicaContext& replica) {
        const auto x = Tensor<float>::full(Shape{}, 1.0F);
        const auto event = replica.placement().backend->device(replica.replica_id()).create_event();
        if (replica.replica_id() == odd) (void)event->query();
        return x.item();
      });
    };
  };
  for (int odd = 0; odd < kDevices; ++odd) {
    EXPECT_THAT(broken_by(asked_by(odd)), ElementsAre(kBlind));
  }
  EXPECT_THAT(broken_by(asked_by(-1)), IsEmpty());
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

TEST_F(Conditions, LocksAndAtomicObjects) {
  belfry::testing::asserts("SEM-193");
  const auto body = [](Backend& backend) {
    return run(backend, [](ReplicaContext&) { return 1.0F; });
  };
  host_.report.used_locks = true;
  EXPECT_THAT(broken_by(body), ElementsAre(kBlind));
  host_.reset();
  host_.report.used_atomics = true;
  EXPECT_THAT(broken_by(body), ElementsAre(kBlind));
  host_.reset();
  host_.report.shared_last_owner = true;
  EXPECT_THAT(broken_by(body), ElementsAre(kBlind));
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

// Replica 1 uses the tensor, and gives up its handle before or after the write of replica 0.
TEST_F(Conditions, CopiesBesideTheEndOfAHandle) {
  belfry::testing::asserts("SEM-194");
  const auto body = [](Backend& backend) {
    MirroredStrategy strategy{backend};
    std::vector<Tensor<float>> handles(2,
                                       Tensor<float>::full(Shape{}, 1.0F, strategy.placement(1)));
    strategy.run([&](ReplicaContext& replica) {
      const auto id = static_cast<std::size_t>(replica.replica_id());
      if (id == 0) scale(handles[0], 3.0F);
      if (id == 1) handles[1] = multiply(handles[1], 2.0F);
    });
    return handles[0].item() + handles[1].item();
  };
  EXPECT_THAT(broken_by(body, {.devices = 2, .schedule = Schedule::fixed()}), IsEmpty());
  EXPECT_THAT(broken_by(body, {.devices = 2}), IsEmpty());
}

struct Double {
  void on_host(std::span<float> y) const {
    for (float& value : y) value *= 2;
  }
};

TEST_F(Conditions, BodiesOfKernels) {
  belfry::testing::asserts("SEM-196");
  const auto body = [](Backend& backend) {
    return run(backend, [](ReplicaContext&) {
      auto y = Tensor<float>::full(Shape{}, 1.0F);
      launch(Double(), updates(y));
      return y.item();
    });
  };
  EXPECT_THAT(broken_by(body), IsEmpty());
  host_.report.kernel_access.emplace();
  host_.report.kernel_access->body.name = "Double";
  host_.report.kernel_access->access.write = true;
  EXPECT_THAT(broken_by(body), ElementsAre(kHostBytes));
  EXPECT_THAT(explain(explore({.devices = 2}, body)),
              HasSubstr("the kernel Double writes memory of the program at user.cpp:5"));
}

// A record by a replica, and a wait of another replica for the event.
float common_event(Backend& backend, int recorder, int waiter, bool merges) {
  const auto event = backend.device(recorder).create_event();
  const auto stream = backend.device(recorder).create_stream();
  return run(backend, [&](ReplicaContext& replica) {
    if (replica.replica_id() == recorder) stream->record(*event);
    if (merges) replica.merge_call([](CrossReplicaContext&) {});
    if (replica.replica_id() == waiter) backend.device(waiter).compute_stream().wait(*event);
    return 1.0F;
  });
}

TEST_F(Conditions, Events) {
  belfry::testing::asserts("SEM-193");
  for (int recorder = 0; recorder < kDevices; ++recorder) {
    for (int waiter = 0; waiter < kDevices; ++waiter) {
      if (recorder == waiter) continue;
      const auto with = [&](bool merges) {
        return [&, merges](Backend& backend) {
          return common_event(backend, recorder, waiter, merges);
        };
      };
      EXPECT_THAT(broken_by(with(false)), ElementsAre(kEvents)) << recorder << ", " << waiter;
      EXPECT_THAT(broken_by(with(true)), IsEmpty()) << recorder << ", " << waiter;
    }
  }
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

// The device work of a body on a backend from outside is in no observed schedule.
TEST_F(Conditions, BackendsFromOutside) {
  belfry::testing::asserts("SEM-193");
  Backend outside{{.devices = 1, .schedule = Schedule::fixed()}};
  const auto body = [&](Backend&) { return two_streams(outside, 0, false); };
  EXPECT_THAT(broken_by(body), ElementsAre(kOwnBackend));
  // A replica uses the backend.
  for (int odd = 0; odd < kDevices; ++odd) {
    const auto by_replica = [&](Backend& backend) {
      return run(backend, [&](ReplicaContext& replica) {
        return replica.replica_id() == odd ? two_streams(outside, 0, false) : 0.0F;
      });
    };
    EXPECT_THAT(broken_by(by_replica), ElementsAre(kOwnBackend));
  }
}

TEST_F(Conditions, BackendsOfTheBody) {
  belfry::testing::asserts("SEM-193");
  const auto body = [](Backend&) {
    Backend own{{.devices = 2, .seed = 1}};
    return run(own, [](ReplicaContext&) { return 1.0F; });
  };
  EXPECT_THAT(broken_by(body), ElementsAre(kOwnBackend));
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
