// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Streams, communicators and memory of the program's own, on the simulated driver.
#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "belfry/tensor_ops.h"
#include "support_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace belfry::cuda::program_objects_test {
namespace {

using test::code_of;
using test::first_ranks;
using test::Members;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<cudaStream_t> streams_on(const std::vector<int>& gpus) {
  std::vector<cudaStream_t> streams;
  for (const int gpu : gpus) {
    EXPECT_EQ(cudaSetDevice(gpu), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&streams.emplace_back(), cudaStreamNonBlocking),
              cudaSuccess);
  }
  return streams;
}

void end(const std::vector<cudaStream_t>& streams) {
  for (cudaStream_t stream : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// Rank i is on GPU `gpus[i]`.
std::vector<ncclComm_t> communicators_on(const std::vector<int>& gpus) {
  std::vector<ncclComm_t> comms(gpus.size());
  EXPECT_EQ(ncclCommInitAll(comms.data(), static_cast<int>(gpus.size()), gpus.data()), ncclSuccess);
  return comms;
}

void end(const std::vector<ncclComm_t>& comms) {
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

cudaMemPool_t pool_on(int gpu) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = gpu;
  cudaMemPool_t pool = nullptr;
  EXPECT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  return pool;
}

std::string message_of(Options options) {
  try {
    const Backend backend{std::move(options)};
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "no error";
}

// On replica r, (1 + r) * [1, 1] summed and doubled: 2 * (1 + 2) on 2 replicas.
std::vector<float> doubled_sums(Backend& backend) {
  MirroredStrategy strategy{backend};
  const auto sums = strategy.run([](ReplicaContext& replica) {
    const auto x = Tensor<float>::full({2}, 1.0F + static_cast<float>(replica.replica_id()));
    const auto sum = replica.all_reduce(ReduceOp::kSum, x);
    return sum + sum;
  });
  return sums[1].to_host();
}

// The program's work before and after belfry's on its stream is in order in every schedule.
TEST(ProgramStreams, OrderWorkOfTheProgram) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
    const std::vector<cudaStream_t> streams = streams_on({0, 1});
    {
      Backend backend{{.compute_streams = streams}};
      EXPECT_THAT(doubled_sums(backend), ElementsAre(6, 6));
      belfry::Device& device = backend.device(1);
      const BufferPtr memory = device.allocate(4, device.compute_stream());
      ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
      ASSERT_EQ(cudaMemsetAsync(memory->address(), 0, 4, streams[1]), cudaSuccess);
      Kernel fill;
      fill.outputs = {view_of(memory, DType::kFloat32)};
      fill.parameters.scalar = 5;
      device.compute_stream().launch(fill);
      float value = 0;
      ASSERT_EQ(cudaMemcpyAsync(&value, memory->address(), 4, cudaMemcpyDeviceToHost, streams[1]),
                cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(streams[1]), cudaSuccess);
      EXPECT_EQ(value, 5.0F);
    }
    EXPECT_EQ(machine.calls("cudaStreamDestroy"), 2U) << "the communication streams";
    end(streams);
    EXPECT_THAT(machine.reports(), IsEmpty());
    EXPECT_THAT(machine.alive(), IsEmpty());
  }
}

TEST(ProgramStreams, AreRefusedIfTheyDoNotFit) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const std::vector<cudaStream_t> streams = streams_on({0, 1});
  EXPECT_THAT(message_of({.compute_streams = {streams[0]}}),
              HasSubstr("compute_streams has 1 entries for 2 devices"));
  EXPECT_THAT(message_of({.devices = {0, 0}, .compute_streams = {streams[0], streams[0]}}),
              HasSubstr("the same entry for devices 0 and 1"));
  EXPECT_THAT(message_of({.compute_streams = {streams[1], streams[0]}}),
              HasSubstr("the compute stream of device 0 on GPU 0 is not a stream of that GPU"));
  EXPECT_THAT(message_of({.compute_streams = {streams[0], nullptr}}),
              HasSubstr("a default stream of CUDA for device 1 on GPU 1"));
  end(streams);
  EXPECT_THAT(machine.alive(), IsEmpty()) << "a refused backend leaves nothing";
}

TEST(ProgramCommunicators, AreUsedAndLeftAlone) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const std::vector<ncclComm_t> comms = communicators_on({0, 1});
  {
    Backend backend{{.warm_up = false, .communicators = comms}};
    EXPECT_THAT(doubled_sums(backend), ElementsAre(6, 6));
    EXPECT_EQ(machine.calls("ncclCommInitRankConfig"), 0U);
    EXPECT_EQ(machine.calls("ncclAllReduce"), 2U);
    const int reversed[] = {1, 0};
    EXPECT_EQ(backend.communicator(reversed)->size(), 2);
    EXPECT_EQ(machine.calls("ncclCommInitRankConfig"), 2U) << "other ranks: belfry's own";
  }
  EXPECT_EQ(machine.calls("ncclCommDestroy"), 2U);
  end(comms);
  EXPECT_EQ(machine.calls("ncclCommAbort"), 0U);
  EXPECT_THAT(machine.reports(), IsEmpty());
  EXPECT_THAT(machine.alive(), IsEmpty());
}

TEST(ProgramCommunicators, AreNotAbortedAfterAnError) {
  sim::SimulatedDriver machine({.gpus = 2});
  const std::vector<ncclComm_t> comms = communicators_on({0, 1});
  {
    Backend backend{{.warm_up = false, .communicators = comms}};
    const auto clique = backend.communicator(first_ranks(2));
    Members members(backend);
    machine.fail("ncclAllReduce", 2, test::kSystemError);
    EXPECT_EQ(
        code_of([&] { clique->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts}); }),
        ErrorCode::kDeviceLost);
    EXPECT_EQ(machine.calls("ncclCommAbort"), 0U);
    for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  }
  EXPECT_EQ(machine.calls("ncclCommDestroy"), 0U);
}

TEST(ProgramCommunicators, AreRefusedInAnotherOrder) {
  const sim::SimulatedDriver machine({.gpus = 3});
  const std::vector<ncclComm_t> comms = communicators_on({1, 0, 2});
  EXPECT_THAT(message_of({.communicators = comms}),
              HasSubstr("the communicator of device 0 on GPU 0 is on GPU 1"));
  EXPECT_THAT(message_of({.communicators = {comms[1], comms[0], comms[2]}}),
              HasSubstr("of device 1 on GPU 1 is rank 0 of 3, where rank 2 of 3"));
  EXPECT_THAT(message_of({.devices = {1, 0}, .communicators = {comms[0]}}),
              HasSubstr("communicators has 1 entries for 2 devices"));
  EXPECT_EQ(message_of({.devices = {0, 2}, .communicators = {comms[1], comms[2]}}), "no error")
      << "ranks 1 and 2 of a job whose first process has rank 0";
  end(comms);
}

TEST(ProgramMemory, ComesFromThePools) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const std::vector<cudaMemPool_t> pools{pool_on(0), pool_on(1)};
  EXPECT_THAT(message_of({.memory_pools = {pools[1], pools[0]}}),
              HasSubstr("the memory pool of device 0 on GPU 0 is a pool of another GPU"));
  const std::uint64_t made = machine.calls("cudaMemPoolCreate");
  {
    Backend backend{{.devices = {0, 0, 1}, .memory_pools = {pools[0], pools[0], pools[1]}}};
    EXPECT_THAT(backend.connections().links[0], ElementsAre(0, 1)) << "not the other GPU";
    MirroredStrategy strategy{backend};
    const auto sums = strategy.run([](ReplicaContext& replica) {
      return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({1}, 2.0F));
    });
    EXPECT_THAT(sums[2].to_host(), ElementsAre(6));
  }
  EXPECT_EQ(machine.calls("cudaMemPoolCreate"), made);
  for (cudaMemPool_t pool : pools) EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  EXPECT_THAT(machine.reports(), Not(::testing::Contains(HasSubstr("pool is destroyed"))));
  EXPECT_THAT(machine.alive(), IsEmpty());
}

// Counts what the functions of an Allocator give and take.
struct Counted {
  std::vector<std::pair<void*, std::size_t>> living;
  std::size_t given = 0;
  std::size_t limit = std::size_t{1} << 20;
  bool is_exact = true;

  Allocator functions() {
    return {.allocate = [this](std::size_t bytes, int gpu, cudaStream_t stream) -> void* {
              if (given + bytes > limit) return nullptr;
              void* memory = nullptr;
              EXPECT_EQ(cudaSetDevice(gpu), cudaSuccess);
              EXPECT_EQ(cudaMallocAsync(&memory, bytes, stream), cudaSuccess);
              living.emplace_back(memory, bytes);
              given += bytes;
              return memory;
            },
            .free =
                [this](void* memory, std::size_t bytes, int gpu, cudaStream_t stream) {
                  is_exact = is_exact && std::erase(living, std::pair(memory, bytes)) == 1;
                  EXPECT_EQ(cudaSetDevice(gpu), cudaSuccess);
                  EXPECT_EQ(cudaFreeAsync(memory, stream), cudaSuccess);
                }};
  }
};

TEST(ProgramMemory, ComesFromTheAllocator) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
    Counted counted;
    {
      Backend backend{
          {.carrier = Carrier::kFiber, .warm_up = false, .allocator = counted.functions()}};
      EXPECT_THAT(doubled_sums(backend), ElementsAre(6, 6));
      EXPECT_EQ(machine.calls("cudaMemPoolCreate"), 0U);
      counted.limit = counted.given;
      belfry::Device& device = backend.device(0);
      EXPECT_EQ(code_of([&] { device.allocate(1, device.compute_stream()); }),
                ErrorCode::kOutOfMemory);
      EXPECT_EQ(device.memory().live_bytes, 0U);
    }
    EXPECT_GE(counted.given, 2 * (8U + 8U + 8U)) << "an input, a sum and a result a replica";
    EXPECT_TRUE(counted.is_exact);
    EXPECT_THAT(counted.living, IsEmpty());
    EXPECT_THAT(machine.reports(), IsEmpty());
  }
}

TEST(ProgramMemory, HasOneSource) {
  const sim::SimulatedDriver machine({.gpus = 1});
  Counted counted;
  Allocator half = counted.functions();
  half.free = {};
  EXPECT_THAT(message_of({.allocator = half}), HasSubstr("one of its two functions"));
  const cudaMemPool_t pool = pool_on(0);
  EXPECT_THAT(message_of({.memory_pools = {pool}, .allocator = counted.functions()}),
              HasSubstr("both Options::allocator and Options::memory_pools"));
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
}

// A float on each of 2 devices; each host read waits once.
TEST(CudaStatistics, CountsVerbsWithBytesAndWaits) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Backend backend{{.warm_up = false}};
  const auto clique = backend.communicator(first_ranks(2));
  const Statistics made = backend.statistics();
  Members members(backend);
  const Statistics before = backend.statistics();
  EXPECT_EQ(before.write.calls - made.write.calls, 2U);
  EXPECT_EQ(before.write.bytes - made.write.bytes, 8U);
  clique->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
  clique->run({.kind = CollectiveKind::kBroadcast, .parts = members.parts, .root = 1});
  static_cast<void>(members.value(0));
  const Statistics after = backend.statistics();
  EXPECT_EQ(after.all_reduce, (VerbCounts{.calls = 1, .bytes = 8, .host_waits = 1}))
      << "the driver is in progress for one poll";
  EXPECT_EQ(after.broadcast, (VerbCounts{.calls = 1, .bytes = 4, .host_waits = 1}));
  EXPECT_EQ(after.all_gather, VerbCounts{});
  EXPECT_EQ(after.read, (VerbCounts{.calls = 1, .bytes = 4, .host_waits = 1}));
  EXPECT_EQ(after.synchronize, before.synchronize);
  EXPECT_EQ(to_string(after.read), "1 call, 4 bytes, 1 wait of the host");
}

TEST(CudaStatistics, CountsACallOfAHybridCliqueOnce) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Backend backend{{.devices = {0, 0, 1}, .warm_up = false}};
  const auto clique = backend.communicator(first_ranks(3));
  Members members(backend);
  clique->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
  EXPECT_EQ(members.value(2), 6.0F);
  EXPECT_EQ(backend.statistics().all_reduce.calls, 1U);
  EXPECT_EQ(backend.statistics().all_reduce.bytes, 12U);
}

}  // namespace
}  // namespace belfry::cuda::program_objects_test
