// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl_clique.h"

#include "belfry/cuda/backend.h"
#include "belfry/error.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gtest/gtest.h>

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

TEST(NcclClique, AllocatesNothingInTheSteadyState) {
  const sim::SimulatedDriver machine({.gpus = 4});
  Backend backend;
  const auto clique = backend.communicator(first_ranks(4));
  Members members(backend);
  const auto run = [&] {
    clique->all_reduce(ReduceOp::kMean, members.parts);
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
  clique->all_reduce(ReduceOp::kSum, members.parts);
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
  const auto sum = [&] { clique->all_reduce(ReduceOp::kSum, members.parts); };
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
  const auto sum = [&] { clique->all_reduce(ReduceOp::kSum, members.parts); };
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
      const auto sum = [&](Members& of) { clique->all_reduce(ReduceOp::kSum, of.parts); };
      if (code_of([&] { sum(spoilt); }) == ErrorCode::kInternal) continue;
      if (code_of([&] { sum(members); }) == ErrorCode::kDeviceLost) continue;
      EXPECT_EQ(members.value(0), 3.0F);
      EXPECT_EQ(members.value(1), 3.0F);
    }
  }
}

TEST(NcclClique, EndsInOrder) {
  const sim::SimulatedDriver machine({.gpus = 3});
  {
    Backend backend;
    const auto clique = backend.communicator(first_ranks(3));
    Members members(backend);
    clique->all_reduce(ReduceOp::kSum, members.parts);
  }
  EXPECT_EQ(machine.calls("ncclCommFinalize"), 3U);
  EXPECT_EQ(machine.calls("ncclCommDestroy"), 3U);
  EXPECT_EQ(machine.calls("ncclCommAbort"), 0U);
  EXPECT_EQ(machine.alive(), std::vector<std::string>{});
  EXPECT_EQ(machine.reports(), std::vector<std::string>{});
}

}  // namespace
}  // namespace belfry::cuda::nccl_clique_test
