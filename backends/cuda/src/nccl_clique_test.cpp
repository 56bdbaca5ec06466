// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl_clique.h"

#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::cuda::nccl_clique_test {
namespace {

using test::code_of;
using test::first_ranks;
using test::kLaunchFailure;
using test::kSystemError;
using test::Members;

constexpr int kUnhandledCudaError = 1;
constexpr int kRemoteError = 6;

TEST(NcclClique, WarmsUpWhenItIsMade) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Backend backend;
  const auto clique = backend.communicator(first_ranks(2));
  EXPECT_EQ(machine.calls("ncclAllReduce"), 4U) << "a small and a large one on each GPU";
}

TEST(NcclClique, IsNotUsedForASingleDevice) {
  const sim::SimulatedDriver machine({.gpus = 2});
  Backend backend;
  const auto clique = backend.communicator(std::vector<int>{1});
  EXPECT_EQ(clique->order(), ReductionOrder::kReplicaOrder);
  EXPECT_EQ(machine.calls("ncclCommInitRankConfig"), 0U);
}

// NCCL gives 1 and any zero. On several GPUs, with one and with several devices each.
TEST(NcclClique, ExtremesOfFloatsSpreadNaNAndOrderZeros) {
  for (const std::vector<int>& gpus : {std::vector<int>{0, 1, 2}, std::vector<int>{0, 0, 1}}) {
    const sim::SimulatedDriver machine({.gpus = 3});
    Backend backend{{.devices = gpus, .carrier = Carrier::kFiber, .warm_up = false}};
    MirroredStrategy strategy{backend};
    const auto reduced = [&](ReduceOp op, float odd, float other, int at) {
      return strategy.run([&](ReplicaContext& replica) {
        const float own = replica.replica_id() == at ? odd : other;
        return replica.all_reduce(op, Tensor<float>::full({5}, own)).to_host()[4];
      })[0];
    };
    for (int at = 0; at < 3; ++at) {
      for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
        EXPECT_TRUE(std::isnan(reduced(op, std::nanf(""), 1, at))) << to_string(op) << at;
      }
      EXPECT_FALSE(std::signbit(reduced(ReduceOp::kMax, 0.0F, -0.0F, at)));
      EXPECT_TRUE(std::signbit(reduced(ReduceOp::kMin, -0.0F, 0.0F, at)));
      EXPECT_EQ(reduced(ReduceOp::kProd, 5, -2, at), 20);
    }
    EXPECT_EQ(machine.reports(), std::vector<std::string>{});
  }
}

// Integers go through NCCL's own operators, without memory for the inputs of all ranks.
TEST(NcclClique, ExtremesOfIntegersAreNccls) {
  const sim::SimulatedDriver machine({.gpus = 3});
  Backend backend{{.devices = {0, 1, 2}, .carrier = Carrier::kFiber, .warm_up = false}};
  MirroredStrategy strategy{backend};
  const auto reduced = [&](ReduceOp op) {
    return strategy.run([&](ReplicaContext& replica) {
      const auto own = static_cast<std::int8_t>(100 - 120 * replica.replica_id());
      return replica.all_reduce(op, Tensor<std::int8_t>::full({1}, own)).item();
    })[0];
  };
  EXPECT_EQ(reduced(ReduceOp::kMax), 116) << "of 100, -20 and -140 = 116 modulo 256";
  EXPECT_EQ(reduced(ReduceOp::kMin), -20);
  EXPECT_EQ(reduced(ReduceOp::kProd), -64) << "-232000 = -907 * 256 + 192";
  EXPECT_EQ(machine.calls("ncclAllGather"), 0U);
}

TEST(NcclClique, AllocatesNothingInTheSteadyState) {
  const sim::SimulatedDriver machine({.gpus = 4});
  Backend backend;
  const auto clique = backend.communicator(first_ranks(4));
  Members members(backend);
  const auto run = [&] {
    clique->run(
        {.kind = CollectiveKind::kAllReduce, .parts = members.parts, .op = ReduceOp::kMean});
    for (std::size_t rank = 0; rank < 4; ++rank) static_cast<void>(members.value(rank));
  };
  run();
  const std::uint64_t allocations = machine.calls("cudaMallocFromPoolAsync");
  const std::uint64_t events = machine.calls("cudaEventCreateWithFlags");
  const std::uint64_t groups = machine.calls("ncclGroupStart");
  for (int step = 0; step < 5; ++step) run();
  EXPECT_EQ(machine.calls("cudaMallocFromPoolAsync"), allocations);
  EXPECT_EQ(machine.calls("cudaEventCreateWithFlags"), events);
  EXPECT_EQ(machine.calls("ncclGroupStart"), groups + 5);
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

TEST(NcclClique, ReportsAsynchronousErrors) {
  sim::SimulatedDriver machine({.gpus = 2});
  Backend backend;
  auto clique = backend.communicator(first_ranks(2));
  Members members(backend);
  clique->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
  clique->check_health();
  machine.fail("ncclCommGetAsyncError", 2, kRemoteError);
  try {
    clique->check_health();
    FAIL() << "the second communicator had an error";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDeviceLost);
    EXPECT_NE(std::string(error.what()).find("ncclCommGetAsyncError failed: ncclRemoteError (6)"),
              std::string::npos)
        << error.what();
  }
  const std::uint64_t waits = machine.calls("cudaEventSynchronize");
  clique.reset();
  EXPECT_EQ(machine.calls("cudaEventSynchronize"), waits) << "after an error nothing is waited for";
  EXPECT_EQ(machine.calls("ncclCommAbort"), 2U);
}

TEST(NcclClique, GivesUpAtItsDeadline) {
  const sim::SimulatedDriver machine({.gpus = 2, .polls = 1'000'000'000});
  Backend backend{{.deadline = std::chrono::milliseconds(20)}};
  try {
    static_cast<void>(backend.communicator(first_ranks(2)));
    FAIL() << "the communicators were never ready";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("did not end within 20 ms: rank 0 on GPU 0"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(machine.calls("ncclCommAbort"), 2U);
}

// Groups are opened to finalize, then to destroy, and to abort if either fails.
TEST(NcclClique, ClosesNoGroupThatItDidNotOpen) {
  const std::vector<std::vector<std::uint64_t>> plans = {{1}, {2}, {1, 2}, {2, 3}};
  for (const auto& failing : plans) {
    sim::SimulatedDriver machine({.gpus = 2});
    Backend backend;
    auto clique = backend.communicator(first_ranks(2));
    for (const std::uint64_t which : failing) machine.fail("ncclGroupStart", which, kSystemError);
    clique.reset();
    EXPECT_EQ(machine.calls("ncclGroupEnd") + failing.size(), machine.calls("ncclGroupStart"));
    EXPECT_EQ(machine.reports(),
              std::vector<std::string>(failing.size(), "ncclGroupStart: a planned failure"));
  }
}

// Only the first member got the collective: its stream would wait for ever.
TEST(NcclClique, IsGivenUpWhenACallFails) {
  sim::SimulatedDriver machine({.gpus = 2});
  Backend backend;
  const auto clique = backend.communicator(first_ranks(2));
  Members members(backend);
  machine.fail("ncclAllReduce", 2, kUnhandledCudaError);
  const auto sum = [&] {
    clique->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
  };
  EXPECT_EQ(code_of(sum), ErrorCode::kDeviceLost);
  EXPECT_EQ(machine.calls("ncclGroupEnd"), machine.calls("ncclGroupStart"));
  EXPECT_EQ(machine.calls("ncclCommAbort"), 2U) << "at once";
  EXPECT_EQ(code_of(sum), ErrorCode::kDeviceLost);
  EXPECT_EQ(code_of([&] { clique->check_health(); }), ErrorCode::kDeviceLost);
}

// No member got a call. The next call gives 1 + 2.
TEST(NcclClique, IsKeptWhenNoGroupOpens) {
  sim::SimulatedDriver machine({.gpus = 2});
  Backend backend;
  const auto clique = backend.communicator(first_ranks(2));
  Members members(backend);
  machine.fail("ncclGroupStart", 1, kSystemError);
  const auto sum = [&] {
    clique->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
  };
  EXPECT_EQ(code_of(sum), ErrorCode::kDeviceLost);
  EXPECT_EQ(machine.calls("ncclCommAbort"), 0U);
  clique->check_health();
  sum();
  EXPECT_EQ(members.value(0), 3.0F);
  EXPECT_EQ(members.value(1), 3.0F);
}

// A successful call gives 1 + 2. A call after a failure gives 1 + 2 too, or throws.
TEST(NcclClique, NeverAddsPartsOfDifferentCalls) {
  for (const char* function : {"cudaGetDevice", "cudaSetDevice", "cudaEventRecord"}) {
    for (std::uint64_t which = 1; which <= 20; ++which) {
      SCOPED_TRACE(std::string(function) + " " + std::to_string(which));
      sim::SimulatedDriver machine({.gpus = 2, .polls = 0});
      Backend backend;
      const auto clique = backend.communicator(first_ranks(2));
      Members spoilt(backend, 100.0F);
      Members members(backend);
      machine.fail(function, which, kLaunchFailure);
      const auto sum = [&](Members& of) {
        clique->run({.kind = CollectiveKind::kAllReduce, .parts = of.parts});
      };
      if (code_of([&] { sum(spoilt); }) == ErrorCode::kInternal) continue;
      if (code_of([&] { sum(members); }) == ErrorCode::kDeviceLost) continue;
      EXPECT_EQ(members.value(0), 3.0F);
      EXPECT_EQ(members.value(1), 3.0F);
    }
  }
}

// Two ranks with 1 and 2 send the floats to each other. Then rank 0 gets 1 + 2 as the only slice,
// by a reduction to rank 0, because the slices are of several sizes.
TEST(NcclClique, CountsExchangesAndReduceScatters) {
  const sim::SimulatedDriver machine({.gpus = 2, .polls = 0});
  Backend backend;
  const auto clique = backend.communicator(first_ranks(2));
  Members sent(backend);
  const Members received(backend);
  const std::uint64_t groups = backend.statistics().nccl_collectives;
  const std::vector<Transfer> transfers{{0, 1, sent.parts[0].input, received.parts[1].output},
                                        {1, 0, sent.parts[1].input, received.parts[0].output}};
  clique->run({.kind = CollectiveKind::kExchange, .parts = sent.parts, .transfers = transfers});
  EXPECT_EQ(received.value(0), 2.0F);
  EXPECT_EQ(received.value(1), 1.0F);
  EXPECT_EQ(machine.calls("ncclSend"), 2U);
  EXPECT_EQ(machine.calls("ncclRecv"), 2U);

  const std::vector<std::size_t> counts{1, 0};
  sent.parts[1].output.count = 0;
  clique->run({.kind = CollectiveKind::kReduceScatter, .parts = sent.parts, .counts = counts});
  EXPECT_EQ(sent.value(0), 3.0F);
  EXPECT_EQ(machine.calls("ncclReduce"), 2U) << "none for the empty slice";

  const Statistics found = backend.statistics();
  EXPECT_EQ(found.exchange, (VerbCounts{.calls = 1, .bytes = 8}));
  EXPECT_EQ(found.reduce_scatter, (VerbCounts{.calls = 1, .bytes = 8}));
  EXPECT_EQ(found.nccl_collectives, groups + 2) << "a group each";

  // 3 times 2, by NCCL. NCCL's own maximum drops NaN: ranks exchange slices, and kernels reduce.
  clique->run({.kind = CollectiveKind::kReduceScatter,
               .parts = sent.parts,
               .op = ReduceOp::kProd,
               .counts = counts});
  EXPECT_EQ(sent.value(0), 6.0F);
  EXPECT_EQ(machine.calls("ncclReduce"), 4U);
  clique->run({.kind = CollectiveKind::kReduceScatter,
               .parts = sent.parts,
               .op = ReduceOp::kMax,
               .counts = counts});
  EXPECT_EQ(sent.value(0), 6.0F);
  EXPECT_EQ(machine.calls("ncclReduce"), 4U);
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

TEST(NcclClique, EndsInOrder) {
  const sim::SimulatedDriver machine({.gpus = 3});
  {
    Backend backend;
    const auto clique = backend.communicator(first_ranks(3));
    Members members(backend);
    clique->run({.kind = CollectiveKind::kAllReduce, .parts = members.parts});
  }
  EXPECT_EQ(machine.calls("ncclCommFinalize"), 3U);
  EXPECT_EQ(machine.calls("ncclCommDestroy"), 3U);
  EXPECT_EQ(machine.calls("ncclCommAbort"), 0U);
  EXPECT_EQ(machine.alive(), std::vector<std::string>{});
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

}  // namespace
}  // namespace belfry::cuda::nccl_clique_test
