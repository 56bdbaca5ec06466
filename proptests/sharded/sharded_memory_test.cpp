// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The memory of devices, as the simulator counts it: bytes of buffers.
#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "words/temporary_folder_test.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace belfry::testing {
namespace {

constexpr int kReplicas = 4;
constexpr std::int64_t kRows = 4096;
constexpr std::int64_t kColumns = 16;
constexpr std::size_t kWhole = kRows * kColumns * sizeof(float);
constexpr std::size_t kPart = kWhole / kReplicas;

Tensor<float> zeros(std::int64_t rows) { return Tensor<float>::zeros({rows, kColumns}); }

ShardedVariable<float> table_by_rows(Strategy& strategy) {
  return strategy.sharded_variable(
      {kRows, kColumns}, [](std::int64_t begin, std::int64_t end) { return zeros(end - begin); },
      Axis(0), {.name = "table"});
}

std::vector<std::size_t> live(Backend& backend) {
  std::vector<std::size_t> bytes;
  for (int i = 0; i < kReplicas; ++i) bytes.push_back(backend.device(i).memory().live_bytes);
  return bytes;
}
std::vector<std::size_t> peaks(Backend& backend) {
  std::vector<std::size_t> bytes;
  for (int i = 0; i < kReplicas; ++i) bytes.push_back(backend.device(i).memory().peak_bytes);
  return bytes;
}

const std::vector<std::size_t> kParts(kReplicas, kPart);

TEST(ShardedMemory, IsAPartWhileTheVariableIsMadeByRows) {
  testing::asserts("SEM-280");
  sim::Backend backend{{.devices = kReplicas}};
  MirroredStrategy strategy{backend};
  const auto table = table_by_rows(strategy);
  EXPECT_EQ(live(backend), kParts);
  EXPECT_EQ(peaks(backend), kParts);
  const int host = backend.connections().host.value();
  EXPECT_EQ(backend.device(host).memory().peak_bytes, 0U);
}

// The whole is on the host while the variable is made.
TEST(ShardedMemory, IsAPartWhileTheVariableIsMadeFromTheWhole) {
  testing::asserts("SEM-280");
  sim::Backend backend{{.devices = kReplicas}};
  MirroredStrategy strategy{backend};
  const auto table = strategy.sharded_variable([] { return zeros(kRows); }, Axis(0));
  strategy.run([](ReplicaContext&) {});
  EXPECT_EQ(peaks(backend), kParts);
  const MemoryUse host = backend.device(backend.connections().host.value()).memory();
  EXPECT_EQ(host.peak_bytes, kWhole);
  EXPECT_EQ(host.live_bytes, 0U);
}

// Slices of columns are copies on the host.
TEST(ShardedMemory, OfColumnsIsAPart) {
  testing::asserts("SEM-280");
  sim::Backend backend{{.devices = kReplicas}};
  MirroredStrategy strategy{backend};
  const auto table = strategy.sharded_variable([] { return zeros(kRows); }, Axis(1));
  EXPECT_EQ(peaks(backend), kParts);
}

TEST(ShardedMemory, OfTheWholeIsFreeAfterItsUse) {
  testing::asserts("SEM-282");
  sim::Backend backend{{.devices = kReplicas}};
  MirroredStrategy strategy{backend};
  const auto table = table_by_rows(strategy);
  strategy.run([&](ReplicaContext& replica) {
    const Tensor<float> whole = table.whole(replica);
    whole.to_host();
    EXPECT_EQ(backend.device(replica.replica_id()).memory().live_bytes, kWhole + kPart);
  });
  EXPECT_EQ(live(backend), kParts);
}

// The part is a copy of the rows, not a view of the whole.
TEST(ShardedMemory, OfAnAssignedSliceIsAPart) {
  testing::asserts("SEM-281");
  sim::Backend backend{{.devices = kReplicas}};
  MirroredStrategy strategy{backend};
  const auto table = table_by_rows(strategy);
  strategy.run([&](ReplicaContext& replica) {
    const std::int64_t each = kRows / kReplicas;
    const std::int64_t begin = replica.replica_id() * each;
    table.on(replica) = slice(table.whole(replica), Axis(0), begin, begin + each);
    table.on(replica).to_host();  // After the copy, which uses the whole.
  });
  EXPECT_EQ(live(backend), kParts);
}

TEST(ShardedMemory, IsAPartInChangesInPlace) {
  testing::asserts("SEM-281");
  sim::Backend backend{{.devices = kReplicas}};
  MirroredStrategy strategy{backend};
  const auto table = table_by_rows(strategy);
  strategy.run([&](ReplicaContext& replica) { scale(table.on(replica), 2.0F); });
  strategy.cross_replica().update(UpdateOptions{.in_place = true}, table,
                                  [](Tensor<float>& part) { scale(part, 2.0F); });
  EXPECT_EQ(peaks(backend), kParts);
}

TEST(ShardedMemory, IsAPartInASaveAndInARestore) {
  testing::asserts("SEM-283");
  const TemporaryFolder folder;
  TensorFile file;
  const std::vector<std::function<void(Checkpoint&)>> uses{
      [&](Checkpoint& checkpoint) { checkpoint.save(folder / "table"); },
      [&](Checkpoint& checkpoint) { checkpoint.restore(folder / "table"); },
      [&](Checkpoint& checkpoint) { file = checkpoint.contents(); },
      [&](Checkpoint& checkpoint) { checkpoint.restore(file); }};
  for (const auto& use : uses) {
    sim::Backend backend{{.devices = kReplicas}};
    MirroredStrategy strategy{backend};
    const auto table = table_by_rows(strategy);
    Checkpoint checkpoint(strategy);
    checkpoint.add(table);
    use(checkpoint);
    strategy.run([](ReplicaContext&) {});
    EXPECT_EQ(peaks(backend), kParts);
    EXPECT_EQ(live(backend), kParts);
    EXPECT_EQ(backend.device(backend.connections().host.value()).memory().peak_bytes, 0U);
  }
}

}  // namespace
}  // namespace belfry::testing
