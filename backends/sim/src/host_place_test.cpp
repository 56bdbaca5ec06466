// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The host as a device of the simulator, and the links of its devices.
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim::host_place_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HostPlace, HasNoLimitOfMemory) {
  Backend backend{{.devices = 1, .memory_limit_bytes = 64}};
  EXPECT_THROW(backend.device(0).allocate(65, backend.device(0).compute_stream()), DeviceError);
  Device& host = backend.device(1);
  const BufferPtr buffer = host.allocate(65, host.compute_stream());
  EXPECT_EQ(host.memory().live_bytes, 65U);
  EXPECT_EQ(host.memory().limit_bytes, 0U);
}

// A reduction to the host is work of the schedule: the same seed gives the same log.
TEST(HostPlace, WorksAsTheScheduleSays) {
  belfry::testing::asserts("SEM-122");
  const auto hash = [](std::uint64_t seed) {
    Backend backend{{.devices = 3, .digests = Digests::kAll, .seed = seed}};
    MirroredStrategy strategy(backend);
    const auto values =
        strategy.distribute_values([](int id) { return Tensor<float>::full({2}, 1.0F + id); });
    const auto sum = strategy.cross_replica().reduce(ReduceOp::kSum, values, "/device:CPU:0");
    EXPECT_THAT(sum[0].to_host(), ElementsAre(6.0F, 6.0F));
    return backend.hash();
  };
  EXPECT_EQ(hash(5), hash(5));
}

TEST(HostPlace, MayKeepVariables) {
  belfry::testing::asserts("SEM-110", "SEM-122");
  Backend backend{{.devices = 2}};
  const DeviceSpec host = DeviceSpec::parse("/cpu:0");
  CentralStorageStrategy strategy(backend, {.storage = host});
  EXPECT_EQ(strategy.storage_device(), host);
  auto weight = strategy.mirrored_variable([] { return Tensor<float>::full({1}, 3.0F); });
  EXPECT_THAT(weight.devices(), ElementsAre(host));
  const auto seen = strategy.run([&](ReplicaContext& replica) {
    replica.merge_call([&](CrossReplicaContext& cross) {
      cross.update(weight, [](Tensor<float>& own) { own = own + own; });
    });
    return weight.on(replica).to_host()[0];
  });
  EXPECT_THAT(seen, ElementsAre(6.0F, 6.0F));
}

TEST(HostPlace, MayHaveAReplica) {
  Backend backend{{.devices = 2}};
  MirroredStrategy strategy(
      backend, {.devices = {DeviceSpec::parse("/sim:1"), DeviceSpec::parse("/cpu:0")}});
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto own = Tensor<float>::full({1}, 1.0F + static_cast<float>(replica.replica_id()));
    return replica.all_reduce(ReduceOp::kSum, own).to_host()[0];
  });
  EXPECT_THAT(sums, ElementsAre(3.0F, 3.0F));
}

TEST(HostPlace, IsNamedInReports) {
  Backend backend{{.devices = 1}};
  Device& host = backend.device(1);
  Stream& stream = host.compute_stream();
  const BufferView unwritten = view_of(host.allocate(4, stream), DType::kFloat32);
  const BufferView copy = view_of(host.allocate(4, stream), DType::kFloat32);
  EXPECT_EQ(to_string(backend.leaks().front()), "buffer 0 of the host (4 bytes)");
  stream.copy(copy, unwritten);
  try {
    stream.synchronize();
    FAIL() << "nobody has written";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUninitialised);
    EXPECT_THAT(error.what(),
                HasSubstr("(host compute) reads bytes [0, 4) of buffer 0 of the host"));
  }
}

// The tool reads the numbers of buffers from a trace, and refuses numbers beyond 2^53.
TEST(HostPlace, HasBuffersWithNumbersThatToolsRead) {
  Backend backend{{.devices = 1}};
  const auto buffer_on = [&](int device) {
    Device& place = backend.device(device);
    const BufferPtr buffer = place.allocate(4, place.compute_stream());
    return dynamic_cast<const SimBuffer&>(*buffer).allocation()->resource();
  };
  const std::uint64_t of_host = buffer_on(1);
  EXPECT_LT(of_host, std::uint64_t{1} << 53);
  EXPECT_NE(of_host, buffer_on(0));
}

TEST(Links, OfTheOptionsChooseTheAlgorithm) {
  belfry::testing::asserts("SEM-146");
  std::vector<std::string> lines;
  Backend backend{{.devices = 4, .links = {{1}, {0}, {3}, {2}}}};
  const MirroredStrategy strategy(backend,
                                  {.log = [&](const std::string& line) { lines.push_back(line); }});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("the links make groups of 2 replicas")));
}

TEST(Links, FitTheDevices) {
  const auto message = [](std::vector<std::vector<int>> links) -> std::string {
    try {
      const Backend backend{{.devices = 2, .links = std::move(links)}};
    } catch (const InvalidArgumentError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({{1}, {0, 1}}), "");
  EXPECT_THAT(message({{1}}), HasSubstr("Options::links does not fit 2 devices"));
  EXPECT_THAT(message({{2}, {}}), HasSubstr("Options::links does not fit 2 devices"));
  EXPECT_THAT(message({{-1}, {}}), HasSubstr("Options::links does not fit 2 devices"));
}

}  // namespace
}  // namespace belfry::sim::host_place_test
