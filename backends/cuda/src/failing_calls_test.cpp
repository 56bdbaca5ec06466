// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/belfry.h"
#include "belfry/cuda/backend.h"
#include "belfry/sim/driver.h"
#include "support_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

// Every call into CUDA and NCCL may fail. The test repeats a program with a failure of each call in
// turn: the program must end with an error that names the call, and leave nothing behind. The next
// program on the simulated machine must be right.
namespace belfry::cuda::failing_calls_test {
namespace {

using test::kLaunchFailure;
using test::kSystemError;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::uint64_t kSeeds[] = {0, 5, 7};

// Communicators warm up with this seed only, and their calls fail in a single order. The program
// after a failure does not warm up: the additions over megabytes are most of the time of the test.
constexpr std::uint64_t kWarm = 0;
constexpr std::uint64_t kCold = 5;

enum class Told : std::uint8_t {
  kAlways,
  kUnlessEnding,  ///< Destructors call the function too, and cannot report.
  kNever,         ///< Only destructors call the function, or its failure changes nothing.
};

struct Function {
  const char* name;
  Told told = Told::kAlways;
  ErrorCode code = ErrorCode::kDeviceLost;
  const char* text = nullptr;  ///< Text of the error; null: the name of the function.
  std::size_t lost = 0;        ///< Objects left over after the failure, at most.
};

constexpr Function kFunctions[] = {
    {"cudaGetDeviceCount", Told::kAlways, ErrorCode::kNoDriver, "the driver says"},
    {"cudaDriverGetVersion", Told::kNever},  // Called only for the text of an error.
    {"cudaSetDevice", Told::kUnlessEnding},
    {"cudaDeviceGetStreamPriorityRange"},
    {"cudaDeviceCanAccessPeer"},
    {"cudaMemPoolCreate"},
    {"cudaMemPoolSetAttribute"},
    {"cudaMemPoolSetAccess"},
    {"cudaMemGetInfo"},
    {"cudaHostAlloc", Told::kNever},  // Writes wait instead.
    {"cudaFreeHost", Told::kNever, ErrorCode::kInternal, nullptr, 1},
    {"cudaMallocFromPoolAsync"},
    {"cudaStreamCreateWithPriority"},
    {"cudaStreamSynchronize", Told::kUnlessEnding},
    {"cudaStreamWaitEvent"},
    {"cudaEventCreateWithFlags"},
    {"cudaEventRecord"},
    {"cudaEventQuery"},
    {"cudaMemcpyAsync"},
    {"cudaMemcpyPeerAsync"},
    // A launch returns no code: the next call returns the error.
    {"launch", Told::kAlways, ErrorCode::kDeviceLost, "cudaGetLastError"},
    {"ncclGetUniqueId"},
    {"ncclCommInitRankConfig"},
    {"ncclCommGetAsyncError", Told::kUnlessEnding},
    {"ncclGroupStart", Told::kUnlessEnding},
    {"ncclGroupEnd", Told::kUnlessEnding},
    {"ncclAllReduce"},
    {"ncclAllGather"},
    {"cudaEventSynchronize", Told::kNever},
    {"cudaEventDestroy", Told::kNever, ErrorCode::kInternal, nullptr, 1},
    {"cudaStreamDestroy", Told::kNever, ErrorCode::kInternal, nullptr, 1},
    {"cudaMemPoolDestroy", Told::kNever, ErrorCode::kInternal, nullptr, 1},
    {"cudaFreeAsync", Told::kNever, ErrorCode::kInternal, nullptr, 1},
    {"ncclCommFinalize", Told::kNever},
    {"ncclCommDestroy", Told::kNever, ErrorCode::kInternal, nullptr, 1},
};

struct Machine {
  const char* name;
  int gpus;
  std::vector<int> devices;
};

void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.name; }

// Replicas contribute their id + 1. With three replicas the variable becomes 10 + 6 + 6.
std::vector<float> train(const Machine& machine, std::uint64_t seed) {
  Backend backend{{.devices = machine.devices,
                   .carrier = Carrier::kFiber,
                   .deadline = std::chrono::milliseconds(2000),
                   .warm_up = seed == kWarm}};
  MirroredStrategy strategy{backend};
  auto weight = strategy.mirrored_variable(Tensor<float>::full({2}, 10.0F, strategy.placement(0)),
                                           {.aggregation = Aggregation::kSum});
  const auto merged = strategy.run([&](ReplicaContext& replica) {
    const float own = static_cast<float>(replica.replica_id()) + 1;
    const auto sum =
        replica.all_reduce(ReduceOp::kSum, Tensor<float>::from({2}, std::vector{own, 2 * own}));
    const auto all = replica.all_gather(Tensor<float>::from({1}, std::vector{own}));
    replica.assign_add(weight, Tensor<float>::from({2}, std::vector{own, own}));
    std::vector<float> seen = sum.to_host();
    for (float value : all.to_host()) seen.push_back(value);
    for (float value : weight.on(replica).to_host()) seen.push_back(value);
    return seen;
  });
  return merged[static_cast<int>(machine.devices.size()) - 1];
}

class FailingCalls : public ::testing::TestWithParam<Machine> {
 protected:
  // The expected results: sums, all values, the variable.
  static std::vector<float> expected(const Machine& machine) {
    const auto count = static_cast<float>(machine.devices.size());
    const float sum = count * (count + 1) / 2;
    std::vector<float> values{sum, 2 * sum};
    for (float own = 1; own <= count; ++own) values.push_back(own);
    values.push_back(10 + sum);
    values.push_back(10 + sum);
    return values;
  }

  // In the order of streams that `seed` gives.
  void fail(const Function& function, std::uint64_t which, std::uint64_t seed) {
    const Machine& on = GetParam();
    const bool nccl = function.name[0] == 'n';
    sim::SimulatedDriver machine({.gpus = on.gpus, .seed = seed});
    machine.fail(function.name, which, nccl ? kSystemError : kLaunchFailure);
    bool told = false;
    try {
      EXPECT_EQ(train(on, seed), expected(on));
    } catch (const DeviceError& error) {
      told = true;
      EXPECT_EQ(error.code(), function.code);
      EXPECT_THAT(error.what(),
                  HasSubstr(function.text != nullptr ? function.text : function.name));
    }
    EXPECT_TRUE(told || function.told != Told::kAlways);
    EXPECT_TRUE(!told || function.told != Told::kNever);
    EXPECT_THAT(machine.alive(), SizeIs(Le(function.lost)));
    for (const std::string& report : machine.reports()) {
      EXPECT_THAT(report, Not(HasSubstr("after it was freed")));
    }
    ++failed_;
    told_ += told ? 1 : 0;
    EXPECT_EQ(train(on, kCold), expected(on));
  }

  void fail_each_call(const Function& function, std::uint64_t seed) {
    std::uint64_t calls = 0;
    {
      const sim::SimulatedDriver machine({.gpus = GetParam().gpus, .seed = seed});
      ASSERT_EQ(train(GetParam(), seed), expected(GetParam()));
      ASSERT_THAT(machine.reports(), IsEmpty());
      calls = machine.calls(function.name);
    }
    for (std::uint64_t which = 1; which <= calls; ++which) {
      SCOPED_TRACE("call " + std::to_string(which) + " of " + std::to_string(calls));
      fail(function, which, seed);
    }
  }

  std::uint64_t failed_ = 0;
  std::uint64_t told_ = 0;
};

TEST_P(FailingCalls, EndWithTheirNameAndLeaveNothingBehind) {
  for (const std::uint64_t seed : kSeeds) {
    for (const Function& function : kFunctions) {
      SCOPED_TRACE(std::string(function.name) + ", order " + std::to_string(seed));
      fail_each_call(function, seed);
      if (HasFatalFailure()) return;
    }
  }
  // The test must have failed many calls, and many failures must have been reported.
  EXPECT_GT(failed_, 600U);
  EXPECT_GT(told_, failed_ / 3);
}

TEST(FailingQuery, OfAnEventNamesTheCall) {
  sim::SimulatedDriver machine({.gpus = 1});
  Backend backend;
  const auto event = backend.device(0).create_event();
  backend.device(0).compute_stream().record(*event);
  machine.fail("cudaEventQuery", 1, kLaunchFailure);
  try {
    event->query();
    FAIL() << "the failure was not told";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cudaEventQuery failed"));
  }
  event->synchronize();
  EXPECT_TRUE(event->query());
}

INSTANTIATE_TEST_SUITE_P(
    Cliques, FailingCalls,
    ::testing::Values(Machine{"three GPUs", 3, {0, 1, 2}}, Machine{"one GPU", 1, {0, 0, 0}},
                      Machine{"two GPUs, two replicas each", 2, {0, 0, 1, 1}}));

}  // namespace
}  // namespace belfry::cuda::failing_calls_test
