// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "support_test.h"

#include <nccl.h>

#include <atomic>
#include <thread>
#include <utility>

namespace belfry::driver::nccl_test {
namespace {

using test::allocate;
using test::last_report;
using test::make_event;
using test::make_pool;
using test::make_stream;
using test::read;
using test::write;

/// Ranks on a GPU each, with two integers each: 1, 10 on rank 0, 2, 20 on rank 1, ...
struct Ranks {
  explicit Ranks(int size) {
    ncclUniqueId id{};
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    for (int rank = 0; rank < size; ++rank) {
      streams.push_back(make_stream(rank));
      data.push_back(allocate(make_pool(rank), streams.back(), 2));
      EXPECT_EQ(write(data.back(), {1 + rank, 10 * (1 + rank)}, streams.back()), cudaSuccess);
    }
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < size; ++rank) {
      EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
      comms.emplace_back();
      EXPECT_EQ(ncclCommInitRankConfig(&comms.back(), size, id, rank, &config), ncclInProgress);
    }
    EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
    wait();
  }

  void wait() {
    for (ncclComm_t comm : comms) {
      ncclResult_t state = ncclInProgress;
      while (state == ncclInProgress) EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    }
  }
  ncclResult_t all_reduce(std::size_t rank, std::size_t count = 2,
                          ncclDataType_t type = ncclInt32) {
    return ncclAllReduce(data[rank], data[rank], count, type, ncclSum, comms[rank], streams[rank]);
  }
  ncclResult_t reduce(std::size_t rank, ncclDataType_t type, int root) {
    return ncclReduce(data[rank], data[rank], 2, type, ncclSum, root, comms[rank], streams[rank]);
  }
  std::vector<int> found(std::size_t rank) {
    std::vector<int> values(2);
    EXPECT_EQ(read(values, data[rank], streams[rank]), cudaSuccess);
    return values;
  }

  std::vector<cudaStream_t> streams;
  std::vector<int*> data;
  std::vector<ncclComm_t> comms;
};

// A waiting thread may look between the calls of the members of a group, when the rest is still to
// come.
TEST(NcclOnDriver, AWaitBetweenTheMembersOfAGroupIsNoDeadlock) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Ranks ranks(2);
  std::atomic<bool> done = false;
  cudaError_t waited = cudaSuccess;
  std::thread waiting([&] {
    while (!done && waited == cudaSuccess) waited = cudaStreamSynchronize(ranks.streams[0]);
  });
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ranks.all_reduce(0, 0), ncclSuccess);
    EXPECT_EQ(ranks.all_reduce(1, 0), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
    ranks.wait();
  }
  done = true;
  waiting.join();
  EXPECT_EQ(waited, cudaSuccess);
}

// Rank r receives element r of the sum 3, 30: into the place of its own element r.
TEST(NcclOnDriver, GivesEachRankItsPartOfTheSum) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Ranks ranks(2);
  for (std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(ncclReduceScatter(ranks.data[rank], ranks.data[rank] + rank, 1, ncclInt32, ncclSum,
                                ranks.comms[rank], ranks.streams[rank]),
              ncclInProgress);
  }
  EXPECT_EQ(ranks.found(0), (std::vector<int>{3, 10}));
  EXPECT_EQ(ranks.found(1), (std::vector<int>{2, 30}));
}

// 2048 + 1 is no Float16 and is rounded to 2048, each time.
TEST(NcclOnDriver, RoundsEachPartialSumOf16Bits) {
  const sim::SimulatedDriver machine({.gpus = 3});
  Ranks ranks(3);
  const int kOnes = 0x3C003C00;
  const int k2048s = 0x68006800;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const int word = rank == 0 ? k2048s : kOnes;
    EXPECT_EQ(write(ranks.data[rank], {word, word}, ranks.streams[rank]), cudaSuccess);
  }
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks.all_reduce(rank, 4, ncclFloat16), ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks.found(rank), (std::vector<int>{k2048s, k2048s}));
  }
}

// The ranks bring 1, 2, 3 and 10, 20, 30.
TEST(NcclOnDriver, HasExtremesAndProducts) {
  const sim::SimulatedDriver machine({.gpus = 3});
  const auto reduced = [](ncclRedOp_t op) {
    Ranks ranks(3);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(ncclAllReduce(ranks.data[rank], ranks.data[rank], 2, ncclInt32, op,
                              ranks.comms[rank], ranks.streams[rank]),
                ncclInProgress);
    }
    return ranks.found(1);
  };
  EXPECT_EQ(reduced(ncclMax), (std::vector<int>{3, 30}));
  EXPECT_EQ(reduced(ncclMin), (std::vector<int>{1, 10}));
  EXPECT_EQ(reduced(ncclProd), (std::vector<int>{6, 6000}));
}

// As on a GPU: a program that counts on NaN in an extreme fails here, too.
TEST(NcclOnDriver, ExtremesOfFloatsDropNaN) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Ranks ranks(2);
  const int kNaN = 0x7fc00000;
  const int kOne = 0x3f800000;
  EXPECT_EQ(write(ranks.data[0], {kNaN, kOne}, ranks.streams[0]), cudaSuccess);
  EXPECT_EQ(write(ranks.data[1], {kOne, kNaN}, ranks.streams[1]), cudaSuccess);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ncclAllReduce(ranks.data[rank], ranks.data[rank], 2, ncclFloat32, ncclMax,
                            ranks.comms[rank], ranks.streams[rank]),
              ncclInProgress);
  }
  EXPECT_EQ(ranks.found(0), (std::vector<int>{kOne, kOne}));
}

// Rank 0 has a second collective on another stream, and rank 2 no call yet.
TEST(NcclOnDriver, AMismatchFailsAllCallsOfAllRanks) {
  const sim::SimulatedDriver machine({.gpus = 3});
  Ranks ranks(3);
  EXPECT_EQ(ranks.all_reduce(0, 2), ncclInProgress);
  ranks.wait();
  cudaStream_t other = make_stream(0);
  int* more = allocate(make_pool(0), other, 2);
  EXPECT_EQ(write(more, {1, 2}, other), cudaSuccess);
  EXPECT_EQ(ncclAllReduce(more, more, 2, ncclInt32, ncclSum, ranks.comms[0], other),
            ncclInProgress);
  EXPECT_EQ(ranks.all_reduce(1, 1), ncclInvalidUsage);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaErrorLaunchFailure);
  const std::string told = cudaGetErrorString(cudaErrorLaunchFailure);
  EXPECT_NE(told.find("rank 1 calls all-reduce of 1 elements"), std::string::npos) << told;
  EXPECT_EQ(ranks.all_reduce(2), ncclInvalidUsage);
  for (ncclComm_t comm : ranks.comms) {
    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclInvalidUsage);
  }
}

TEST(NcclOnDriver, ReportsRanksThatDifferInTypeOrRoot) {
  const auto told = [](auto&& second) {
    const sim::SimulatedDriver machine({.gpus = 2});
    Ranks ranks(2);
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ranks.reduce(0, ncclInt32, 0), ncclSuccess);
    EXPECT_EQ(second(ranks), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    return last_report(machine);
  };
  EXPECT_NE(told([](Ranks& ranks) {
              return ranks.reduce(1, ncclInt32, 1);
            }).find("rank 1 calls reduce of 2 elements of type 2, root 1"),
            std::string::npos);
  EXPECT_NE(told([](Ranks& ranks) {
              return ranks.reduce(1, ncclUint32, 0);
            }).find("rank 1 calls reduce of 2 elements of type 3, root 0"),
            std::string::npos);
}

// A collective may read written memory only, and its outputs are written memory afterwards.
TEST(NcclOnDriver, FollowsWhatACollectiveReadsAndWrites) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Ranks ranks(2);
  std::vector<int*> fresh;
  for (int gpu : {0, 1}) {
    fresh.push_back(allocate(make_pool(gpu), ranks.streams[static_cast<std::size_t>(gpu)], 2));
  }
  const auto reduce_from = [&](const std::vector<int*>& from) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    for (std::size_t rank : {0U, 1U}) {
      EXPECT_EQ(ncclAllReduce(from[rank], fresh[rank], 2, ncclInt32, ncclSum, ranks.comms[rank],
                              ranks.streams[rank]),
                ncclSuccess);
    }
    EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
    ranks.wait();
  };
  reduce_from(fresh);
  EXPECT_EQ(cudaStreamSynchronize(ranks.streams[0]), cudaErrorIllegalAddress);
  EXPECT_NE(last_report(machine).find("which nobody has written"), std::string::npos)
      << last_report(machine);
  reduce_from(ranks.data);
  std::vector<int> values(2);
  for (std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(read(values, fresh[rank], ranks.streams[rank]), cudaSuccess);
    EXPECT_EQ(values, (std::vector<int>{3, 30}));
  }
}

// Every rank needs the parts of all ranks: room for them in an all-gather, and the input of a
// reduce-scatter. The root alone needs room for the result of a
// reduction, and the root alone brings the input of a broadcast.
TEST(NcclOnDriver, WantsMemoryOfTheSizeThatEachRankNeeds) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const auto answers = [](auto&& call) {
    Ranks ranks(2);  // New ranks: a communicator keeps its error.
    return std::pair(call(ranks, 0), call(ranks, 1));
  };
  EXPECT_EQ(answers([](Ranks& ranks, std::size_t rank) {
              return ncclAllGather(ranks.data[rank], ranks.data[rank], 1, ncclInt32,
                                   ranks.comms[rank], ranks.streams[rank]);
            }),
            std::pair(ncclInProgress, ncclInProgress));
  EXPECT_EQ(answers([](Ranks& ranks, std::size_t rank) {
              return ncclAllGather(ranks.data[rank], ranks.data[rank], 2, ncclInt32,
                                   ranks.comms[rank], ranks.streams[rank]);
            }),
            std::pair(ncclInvalidArgument, ncclInvalidArgument));
  EXPECT_EQ(answers([](Ranks& ranks, std::size_t rank) {
              return ncclReduceScatter(ranks.data[rank], ranks.data[rank], 2, ncclInt32, ncclSum,
                                       ranks.comms[rank], ranks.streams[rank]);
            }),
            std::pair(ncclInvalidArgument, ncclInvalidArgument));
  EXPECT_EQ(answers([](Ranks& ranks, std::size_t rank) {
              return ncclReduce(ranks.data[rank], nullptr, 2, ncclInt32, ncclSum, 1,
                                ranks.comms[rank], ranks.streams[rank]);
            }),
            std::pair(ncclInProgress, ncclInvalidArgument));
  EXPECT_EQ(answers([](Ranks& ranks, std::size_t rank) {
              return ncclBroadcast(nullptr, ranks.data[rank], 2, ncclInt32, 1, ranks.comms[rank],
                                   ranks.streams[rank]);
            }),
            std::pair(ncclInProgress, ncclInvalidArgument));
  EXPECT_EQ(answers([](Ranks& ranks, std::size_t rank) {
              return ncclReduce(ranks.data[1 - rank], ranks.data[rank], 2, ncclInt32, ncclSum, 1,
                                ranks.comms[rank], ranks.streams[rank]);
            }),
            std::pair(ncclInvalidArgument, ncclInvalidArgument))
      << "memory of a GPU to which the other has no access";
}

TEST(NcclOnDriver, ChecksWhatACommunicatorIsGiven) {
  const sim::SimulatedDriver machine({.gpus = 2});
  const auto refused = [](auto&& call) {
    Ranks ranks(2);  // New ranks: a communicator keeps its error.
    return call(ranks) == ncclInvalidArgument;
  };
  EXPECT_TRUE(refused([](Ranks& ranks) {
    return ncclAllReduce(ranks.data[0], ranks.data[0], 2, ncclInt32, ncclSum, ranks.comms[0],
                         ranks.streams[1]);
  })) << "the stream of another GPU";
  EXPECT_TRUE(refused([](Ranks& ranks) { return ranks.all_reduce(0, 3); })) << "too long";
  EXPECT_TRUE(refused([](Ranks& ranks) { return ranks.all_reduce(0, 1, ncclFloat8e4m3); }));
  EXPECT_TRUE(refused([](Ranks& ranks) {
    return ncclAllReduce(ranks.data[0], ranks.data[0], 2, ncclInt32, ncclAvg, ranks.comms[0],
                         ranks.streams[0]);
  }));
  EXPECT_FALSE(refused([](Ranks& ranks) { return ranks.all_reduce(0); }));
}

TEST(NcclOnDriver, WantsToBeAskedBeforeItGoesOn) {
  const sim::SimulatedDriver machine({.gpus = 2, .polls = 2});
  Ranks ranks(2);
  EXPECT_EQ(ranks.all_reduce(0), ncclInProgress);
  EXPECT_EQ(ranks.all_reduce(0), ncclInvalidArgument);
  EXPECT_NE(last_report(machine).find("still in progress"), std::string::npos);
}

TEST(NcclOnDriver, HasALifeToItsCommunicators) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Ranks ranks(2);
  for (ncclComm_t comm : ranks.comms) EXPECT_EQ(ncclCommFinalize(comm), ncclInProgress);
  EXPECT_EQ(ncclCommDestroy(ranks.comms[0]), ncclInvalidUsage) << "still in progress";
  ranks.wait();
  EXPECT_EQ(ncclCommDestroy(ranks.comms[0]), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(ranks.comms[0]), ncclInvalidArgument);
  EXPECT_EQ(ranks.all_reduce(1), ncclInvalidUsage) << "finalized";
  EXPECT_EQ(ncclCommAbort(ranks.comms[1]), ncclSuccess);
}

// The streams of a communicator may change from collective to collective.
TEST(NcclOnDriver, AStreamMayEndBetweenCollectives) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Ranks ranks(2);
  for (const int sum : {3, 6, 12}) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (std::size_t rank : {0U, 1U}) EXPECT_EQ(ranks.all_reduce(rank), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
    ranks.wait();
    for (std::size_t rank : {0U, 1U}) {
      EXPECT_EQ(cudaStreamSynchronize(ranks.streams[rank]), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(ranks.streams[rank]), cudaSuccess);
      ranks.streams[rank] = make_stream(static_cast<int>(rank));
      EXPECT_EQ(ranks.found(rank), (std::vector<int>{sum, 10 * sum}));
    }
  }
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

// The communicators end while their collective waits on the streams: the sums arrive.
TEST(NcclOnDriver, ACommunicatorMayEndBeforeItsCollective) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
    Ranks ranks(2);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (std::size_t rank : {0U, 1U}) EXPECT_EQ(ranks.all_reduce(rank), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
    ranks.wait();
    for (ncclComm_t comm : ranks.comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    for (std::size_t rank : {0U, 1U}) EXPECT_EQ(ranks.found(rank), (std::vector<int>{3, 30}));
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  }
}

// A stream writes 5, 50 for a collective on another stream. With an event between them every sum is
// 10, 100; without one some seed has another sum.
TEST(NcclOnDriver, ACollectiveOnAnotherStreamNeedsAnEvent) {
  for (const bool has_event : {true, false}) {
    int right = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
      Ranks ranks(2);
      int* pinned = nullptr;
      ASSERT_EQ(cudaMallocHost(&pinned, 2 * sizeof(int)), cudaSuccess);
      pinned[0] = 5;
      pinned[1] = 50;
      for (std::size_t rank : {0U, 1U}) {
        EXPECT_EQ(cudaStreamSynchronize(ranks.streams[rank]), cudaSuccess);  // The first values.
        const cudaStream_t writer = make_stream(static_cast<int>(rank));
        const cudaEvent_t event = make_event(static_cast<int>(rank));
        EXPECT_EQ(cudaMemcpyAsync(ranks.data[rank], pinned, 2 * sizeof(int), cudaMemcpyHostToDevice,
                                  writer),
                  cudaSuccess);
        if (!has_event) continue;
        EXPECT_EQ(cudaEventRecord(event, writer), cudaSuccess);
        EXPECT_EQ(cudaStreamWaitEvent(ranks.streams[rank], event, 0), cudaSuccess);
      }
      ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      for (std::size_t rank : {0U, 1U}) EXPECT_EQ(ranks.all_reduce(rank), ncclSuccess);
      EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
      right += ranks.found(0) == std::vector<int>{10, 100};
    }
    EXPECT_EQ(right == 20, has_event) << right;
  }
}

TEST(NcclOnDriver, ChecksRanksThatJoin) {
  const sim::SimulatedDriver machine({.gpus = 1});
  ncclUniqueId id{};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t first = nullptr;
  ncclComm_t second = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&first, 2, id, 0, &config), ncclInProgress);
  EXPECT_EQ(ncclCommInitRankConfig(&second, 3, id, 1, &config), ncclInvalidUsage);
  EXPECT_EQ(ncclCommInitRankConfig(&second, 2, id, 0, &config), ncclInvalidUsage);
  EXPECT_NE(last_report(machine).find("rank 0 joins twice"), std::string::npos);
  EXPECT_EQ(ncclCommInitRankConfig(&second, 2, id, 1, &config), ncclInProgress);
  EXPECT_NE(last_report(machine).find("are both on GPU 0"), std::string::npos);
}

TEST(NcclOnDriver, TellsOfAllocationsInsideAGroup) {
  const sim::SimulatedDriver machine({.gpus = 1});
  cudaStream_t stream = make_stream();
  cudaMemPool_t pool = make_pool();
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  static_cast<void>(allocate(pool, stream, 1));
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(last_report(machine), "memory is allocated inside an NCCL group");
}

TEST(NcclOnDriver, AnEventMayBeCreatedInsideAGroup) {
  const sim::SimulatedDriver machine({.gpus = 1});
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  const cudaEvent_t event = make_event();
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

}  // namespace
}  // namespace belfry::driver::nccl_test
