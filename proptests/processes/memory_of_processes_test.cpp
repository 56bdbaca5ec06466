// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The most memory that two simulated hosts have at once, in bytes that operator new has given and
// operator delete has not taken back. A value of a host has 8 MiB; all else that a verb allocates
// has less than a 32nd of that.
#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/sim/cluster.h"
#include "belfry/testing/asserts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace {

// Hosts are fibers of one thread.
std::size_t live = 0;
std::size_t most = 0;

// The size of a block stands before the block.
constexpr std::size_t kHead = alignof(std::max_align_t);

void free_counted(void* memory) {
  if (memory == nullptr) return;
  auto* const block = static_cast<std::byte*>(memory) - kHead;
  live -= *reinterpret_cast<std::size_t*>(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) {
  auto* const block = static_cast<std::byte*>(std::malloc(bytes + kHead));
  if (block == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(block) = bytes;
  live += bytes;
  most = std::max(most, live);
  return block + kHead;
}
void operator delete(void* memory) noexcept { free_counted(memory); }
void operator delete(void* memory, std::size_t) noexcept { free_counted(memory); }

namespace belfry::testing::memory_of_processes {
namespace {

constexpr std::size_t kValueBytes = std::size_t{8} << 20;
constexpr std::size_t kFloats = kValueBytes / sizeof(float);

using Verb = std::function<void(MultiWorkerMirroredStrategy&)>;

// The most values that a host has at once in `verb`, beyond those before: 2 for one value and a
// copy.
double values_of_a_host(const std::function<Verb(MultiWorkerMirroredStrategy&)>& prepare) {
  sim::Cluster cluster{{.hosts = 2, .devices = 1, .seed = 1}};
  std::size_t before = 0;
  cluster.run([&](sim::Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
    const Verb verb = prepare(strategy);
    host.group().barrier();
    before = live;
    most = live;
    host.group().barrier();
    verb(strategy);
    host.group().barrier();
  });
  return static_cast<double>(most - before) / (2 * kValueBytes);
}

constexpr double kAllElse = 1.0 / 32;

// A host has its own list until the list is in the message, its half of the joined messages, and
// the result, which has two lists.
TEST(MemoryOfProcesses, AllGatherHasThreeListsAHost) {
  testing::asserts("SEM-153");
  const double values = values_of_a_host([](MultiWorkerMirroredStrategy&) {
    return [](MultiWorkerMirroredStrategy& strategy) {
      const auto all = strategy.run([](ReplicaContext& replica) {
        std::vector<float> gathered = replica.all_gather(std::vector<float>(kFloats));
        EXPECT_EQ(gathered.size(), 2 * kFloats);
        // Both hosts have their results at once.
        replica.merge_call([](CrossReplicaContext&) {});
        return gathered.size();
      });
      EXPECT_EQ(all.size(), 2);
    };
  });
  EXPECT_LE(values, 3 + kAllElse);
  EXPECT_GE(values, 2);  // The results.
}

// A host reads the variable before the elements are in the contents of the file.
TEST(MemoryOfProcesses, SaveHasTwoValuesAHost) {
  const std::string path = ::testing::TempDir() + "memory_of_processes.safetensors";
  const double values = values_of_a_host([&](MultiWorkerMirroredStrategy& strategy) {
    const auto weights = strategy.mirrored_variable(std::vector<float>(kFloats), {.name = "w"});
    return [=](MultiWorkerMirroredStrategy& saving) {
      Checkpoint checkpoint(saving);
      checkpoint.add(weights);
      checkpoint.save(path);
    };
  });
  EXPECT_LE(values, 2 + kAllElse);
  EXPECT_GE(values, 1);
}

// A host has the contents of the file, and the new value, beside the old value of the variable.
TEST(MemoryOfProcesses, RestoreHasTwoValuesAHost) {
  const std::string path = ::testing::TempDir() + "memory_of_processes.safetensors";
  const double values = values_of_a_host([&](MultiWorkerMirroredStrategy& strategy) {
    const auto weights = strategy.mirrored_variable(std::vector<float>(kFloats), {.name = "w"});
    Checkpoint checkpoint(strategy);
    checkpoint.add(weights);
    checkpoint.save(path);
    return [=](MultiWorkerMirroredStrategy& restoring) {
      Checkpoint restored(restoring);
      restored.add(weights);
      restored.restore(path);
    };
  });
  EXPECT_LE(values, 2 + kAllElse);
  EXPECT_GE(values, 1);
}

// A host has pieces of a sharded variable, beside the half of the value on the device of the host.
// In a restore, the simulator keeps the elements until the device writes the half.
TEST(MemoryOfProcesses, NoHostHasTheWholeOfAShardedVariable) {
  testing::asserts("SEM-283");
  const std::string path = ::testing::TempDir() + "memory_of_shards.safetensors";
  for (const bool restores : {false, true}) {
    const double values = values_of_a_host([&](MultiWorkerMirroredStrategy& strategy) {
      const auto zeros = [](std::int64_t begin, std::int64_t end) {
        return Tensor<float>::zeros({end - begin});
      };
      const auto table = strategy.sharded_variable({static_cast<std::int64_t>(kFloats)}, zeros,
                                                   Axis(0), {.name = "table"});
      return [=](MultiWorkerMirroredStrategy& saving) {
        Checkpoint checkpoint(saving);
        checkpoint.add(table);
        restores ? checkpoint.restore(path) : checkpoint.save(path);
      };
    });
    EXPECT_LE(values, restores ? 1 - kAllElse : 0.5);
  }
}

}  // namespace
}  // namespace belfry::testing::memory_of_processes
