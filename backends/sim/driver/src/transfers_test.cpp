// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Sends and receives, and events whose times nobody measures.
#include "support_test.h"

#include <nccl.h>

#include <string>
#include <vector>

namespace belfry::driver::transfers_test {
namespace {

using test::allocate;
using test::last_report;
using test::make_pool;
using test::make_stream;
using test::read;
using test::write;

/// Ranks of one thread, each on a GPU with a stream and two integers: 1, 10 on rank 0, 2, 20 on
/// rank 1, ... Every rank has a second pair for what it receives.
struct Ranks {
  explicit Ranks(int size) : comms(static_cast<std::size_t>(size)) {
    EXPECT_EQ(ncclCommInitAll(comms.data(), size, nullptr), ncclSuccess);
    for (int rank = 0; rank < size; ++rank) {
      streams.push_back(make_stream(rank));
      own.push_back(allocate(make_pool(rank), streams.back(), 2));
      got.push_back(allocate(make_pool(rank), streams.back(), 2));
      EXPECT_EQ(write(own.back(), {1 + rank, 10 * (1 + rank)}, streams.back()), cudaSuccess);
    }
  }

  ncclResult_t send(std::size_t rank, int peer, std::size_t first = 0, std::size_t count = 2) {
    return ncclSend(own[rank] + first, count, ncclInt32, peer, comms[rank], streams[rank]);
  }
  ncclResult_t receive(std::size_t rank, int peer, std::size_t first = 0, std::size_t count = 2) {
    return ncclRecv(got[rank] + first, count, ncclInt32, peer, comms[rank], streams[rank]);
  }
  std::vector<int> received(std::size_t rank) {
    std::vector<int> values(2);
    EXPECT_EQ(read(values, got[rank], streams[rank]), cudaSuccess);
    return values;
  }

  std::vector<cudaStream_t> streams;
  std::vector<int*> own;
  std::vector<int*> got;
  std::vector<ncclComm_t> comms;
};

// Without transfers at once, every rank would wait for its neighbour.
TEST(Transfers, OfAGroupGoRoundARing) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 3, .seed = seed});
    Ranks ranks(3);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank : {0, 1, 2}) {
      EXPECT_EQ(ranks.send(static_cast<std::size_t>(rank), (rank + 1) % 3), ncclSuccess);
      EXPECT_EQ(ranks.receive(static_cast<std::size_t>(rank), (rank + 2) % 3), ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(ranks.received(0), (std::vector<int>{3, 30}));
    EXPECT_EQ(ranks.received(1), (std::vector<int>{1, 10}));
    EXPECT_EQ(ranks.received(2), (std::vector<int>{2, 20}));
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  }
}

TEST(Transfers, WithoutAGroupOfARingAreADeadlock) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Ranks ranks(2);
  for (int rank : {0, 1}) {
    EXPECT_EQ(ranks.send(static_cast<std::size_t>(rank), 1 - rank), ncclSuccess);
    EXPECT_EQ(ranks.receive(static_cast<std::size_t>(rank), 1 - rank), ncclSuccess);
  }
  EXPECT_EQ(cudaStreamSynchronize(ranks.streams[0]), cudaErrorLaunchFailure);
  EXPECT_NE(last_report(machine).find("GPU 0, rank 0 sends to rank 1"), std::string::npos)
      << last_report(machine);
  EXPECT_NE(last_report(machine).find("GPU 1, rank 1 sends to rank 0"), std::string::npos)
      << last_report(machine);
}

// Element 1 is sent first, and received first, as element 0.
TEST(Transfers, BetweenTwoRanksMeetInTheOrderOfCalls) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 2, .seed = seed});
    Ranks ranks(2);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ranks.send(0, 1, 1, 1), ncclSuccess);
    EXPECT_EQ(ranks.send(0, 1, 0, 1), ncclSuccess);
    EXPECT_EQ(ranks.receive(1, 0, 0, 1), ncclSuccess);
    EXPECT_EQ(ranks.receive(1, 0, 1, 1), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(ranks.received(1), (std::vector<int>{10, 1}));
  }
}

// The bytes arrive here, as at a small scale of NCCL. Each rank has the group in turn.
TEST(Transfers, InAGroupOfOneRankAloneAreReported) {
  for (const int grouping : {0, 1}) {
    const sim::SimulatedDriver machine({.gpus = 2});
    Ranks ranks(2);
    for (const int rank : {0, 1}) {
      if (rank == grouping) {
        ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      }
      EXPECT_EQ(ranks.send(static_cast<std::size_t>(rank), 1 - rank), ncclSuccess);
      EXPECT_EQ(ranks.receive(static_cast<std::size_t>(rank), 1 - rank), ncclSuccess);
      if (rank == grouping) {
        ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
      }
    }
    EXPECT_EQ(ranks.received(0), (std::vector<int>{2, 20}));
    EXPECT_EQ(ranks.received(1), (std::vector<int>{1, 10}));
    const std::string own = std::to_string(grouping), other = std::to_string(1 - grouping);
    ASSERT_EQ(machine.reports().size(), 1U);
    EXPECT_NE(
        last_report(machine).find("rank " + own + " sends to and receives from rank " + other +
                                  " in one group, and rank " + other + " in calls of their own"),
        std::string::npos)
        << last_report(machine);
  }
}

TEST(Transfers, OfARankToItselfNeedAGroup) {
  const sim::SimulatedDriver machine({.gpus = 1});
  Ranks ranks(1);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ranks.send(0, 0), ncclSuccess);
  EXPECT_EQ(ranks.receive(0, 0), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(ranks.received(0), (std::vector<int>{1, 10}));
  EXPECT_EQ(ranks.send(0, 0), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(ranks.streams[0]), cudaErrorLaunchFailure);
}

// A stream goes on after its transfers: the second send has the first one's bytes.
TEST(Transfers, ComeBeforeLaterWorkOfTheirStream) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const sim::SimulatedDriver machine({.gpus = 3, .seed = seed});
    Ranks ranks(3);
    EXPECT_EQ(ranks.send(0, 1), ncclSuccess);
    EXPECT_EQ(ranks.receive(1, 0), ncclSuccess);
    EXPECT_EQ(ncclSend(ranks.got[1], 2, ncclInt32, 2, ranks.comms[1], ranks.streams[1]),
              ncclSuccess);
    EXPECT_EQ(ranks.receive(2, 1), ncclSuccess);
    EXPECT_EQ(ranks.received(2), (std::vector<int>{1, 10}));
  }
}

TEST(Transfers, ThatDifferAreReportedWithBothCalls) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Ranks ranks(2);
  EXPECT_EQ(ranks.send(0, 1), ncclSuccess);
  EXPECT_EQ(ranks.receive(1, 0, 0, 1), ncclInvalidUsage);
  const std::string text = ncclGetLastError(nullptr);
  EXPECT_NE(text.find("rank 0 calls send of 2 elements of type 2, peer 1; rank 1 calls receive of "
                      "1 elements of type 2, peer 0"),
            std::string::npos)
      << text;
  EXPECT_EQ(cudaStreamSynchronize(ranks.streams[0]), cudaErrorLaunchFailure);
}

// A third rank waits for a send, and the first two ranks differ.
TEST(Transfers, ThatDifferFailAllCallsOfAllRanks) {
  const sim::SimulatedDriver machine({.gpus = 3});
  Ranks ranks(3);
  EXPECT_EQ(ranks.receive(2, 0), ncclSuccess);
  EXPECT_EQ(ranks.send(0, 1), ncclSuccess);
  EXPECT_EQ(ranks.receive(1, 0, 0, 1), ncclInvalidUsage);
  EXPECT_EQ(cudaStreamSynchronize(ranks.streams[2]), cudaErrorLaunchFailure);
  const std::string told = cudaGetErrorString(cudaErrorLaunchFailure);
  EXPECT_NE(told.find("a send and its receive differ"), std::string::npos) << told;
  EXPECT_EQ(ranks.send(2, 0), ncclInvalidUsage);
}

TEST(Transfers, OfAnAbortedCommunicatorAreGivenUp) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Ranks ranks(2);
  EXPECT_EQ(ranks.send(0, 1), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(ranks.comms[0]), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(ranks.streams[0]), cudaErrorLaunchFailure);
  EXPECT_NE(last_report(machine).find("a communicator was aborted"), std::string::npos)
      << last_report(machine);
}

TEST(Transfers, RefuseRanksAndMemoryThatDoNotExist) {
  const sim::SimulatedDriver machine({.gpus = 2});
  EXPECT_EQ(Ranks(2).send(0, 2), ncclInvalidArgument);
  EXPECT_EQ(Ranks(2).receive(0, 1, 1, 2), ncclInvalidArgument);
}

// Programs that measure link and run, and get no number.
TEST(TimingEvents, OrderWorkAndHaveNoTimes) {
  const sim::SimulatedDriver machine({.gpus = 1});
  const cudaStream_t stream = make_stream();
  cudaEvent_t start = nullptr;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(start, stream), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(start), cudaSuccess);
  float ms = 5;
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, start), cudaErrorNotSupported);
  EXPECT_EQ(ms, 0);
  EXPECT_NE(last_report(machine).find("simulated GPUs have no time"), std::string::npos);
  EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, start), cudaErrorInvalidResourceHandle);
}

TEST(DriverOptions, PrintCodeThatCompiles) {
  EXPECT_EQ(::testing::PrintToString(sim::DriverOptions{}), "{}");
  EXPECT_EQ(::testing::PrintToString(sim::DriverOptions{.gpus = 2, .seed = 7, .polls = 3}),
            "{.gpus = 2, .seed = 7, .polls = 3}");
}

}  // namespace
}  // namespace belfry::driver::transfers_test
