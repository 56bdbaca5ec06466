// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A process is lost between the comparison of a reduction and the collective: the remaining
// processes wait for work of GPUs without an end.
#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "processes/gpu_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kSystemError = 2;  // ncclSystemError

/// A process leaves after a number of exchanges: the remaining processes have the message, and
/// wait.
class LeavingGroup final : public ForwardingGroup {
 public:
  using ForwardingGroup::ForwardingGroup;

  /// After `exchanges` more exchanges `before` is called, and the process makes no more calls.
  void leave_after(int exchanges, std::function<void()> before = [] {}) {
    left_ = exchanges;
    before_ = std::move(before);
  }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    if (left_ == 0) throw std::runtime_error("the power is gone");
    auto all = ForwardingGroup::gather(bytes);
    if (left_ > 0 && --left_ == 0) {
      before_();
      throw std::runtime_error("the power is gone");
    }
    return all;
  }

 private:
  int left_ = -1;
  std::function<void()> before_;
};

using Groups = std::vector<std::unique_ptr<LeavingGroup>>;

WrapGroup leaving(Groups& groups) {
  return [&groups](ProcessGroup& own) -> ProcessGroup& {
    auto& group = groups[static_cast<std::size_t>(own.rank())];
    group = std::make_unique<LeavingGroup>(own);
    return *group;
  };
}

Tensor<float> sum_of_ones(ReplicaContext& replica) {
  return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({4}, 1.0F));
}

// The texts of the errors of processes 0 and 2 if process 1 is lost in the second run, after
// `before` and without a part of the sum.
std::vector<std::string> texts_after_loss(const GpuProcesses& processes,
                                          const std::function<void()>& before) {
  Groups groups(3);
  std::vector<std::string> texts(3, "nothing was thrown");
  const auto body = [&](GpuProcess& process) {
    const auto rank = static_cast<std::size_t>(process.group.rank());
    const auto step = [](ReplicaContext& replica) { return sum_of_ones(replica).to_host()[0]; };
    EXPECT_THAT(process.strategy.run(step), Each(static_cast<float>(processes.replicas())));
    // The round, which has the comparison of the sums.
    if (rank == 1) groups[1]->leave_after(1, before);
    try {
      process.strategy.run(step);
    } catch (const ProcessLostError& error) {
      texts[rank] = error.what();
    }
  };
  try {
    on_gpu_processes(processes, body, leaving(groups));
  } catch (const std::runtime_error& error) {
    texts[1] = error.what();
  }
  return texts;
}

TEST(GpuProcessLoss, NamesAProcessThatLeaves) {
  testing::asserts("SEM-217", "SEM-155");
  for (const cuda::Carrier carrier : {cuda::Carrier::kConcurrent, cuda::Carrier::kFiber}) {
    const sim::SimulatedDriver machine({.gpus = 4});
    const auto texts = texts_after_loss({.gpus = {{0, 1}, {2}, {3}},
                                         .deadline = std::chrono::milliseconds(500),
                                         .carrier = carrier},
                                        [] {});
    EXPECT_EQ(texts[1], "the power is gone");
    EXPECT_THAT(texts[0], HasSubstr("process 1"));
    EXPECT_THAT(texts[2], HasSubstr("process 1"));
    EXPECT_GE(machine.calls("ncclCommAbort"), 3U) << "the GPUs of processes 0 and 2";
  }
}

// Process 1 stays silent until processes 0 and 2 have given up.
TEST(GpuProcessLoss, GivesUpASilentProcess) {
  testing::asserts("SEM-217");
  for (const cuda::Carrier carrier : {cuda::Carrier::kConcurrent, cuda::Carrier::kFiber}) {
    const sim::SimulatedDriver machine({.gpus = 4});
    const auto silent = [&] {
      while (machine.calls("ncclCommAbort") == 0) std::this_thread::yield();
    };
    const auto texts = texts_after_loss({.gpus = {{0, 1}, {2}, {3}},
                                         .deadline = std::chrono::milliseconds(200),
                                         .carrier = carrier},
                                        silent);
    EXPECT_THAT(texts[0], HasSubstr("process 1"));
    EXPECT_THAT(texts[2], HasSubstr("process 1"));
  }
}

// Outside of runs no exchange follows: the wait itself and each later wait name the process.
TEST(GpuProcessLoss, EndsWaitsOutsideOfRuns) {
  testing::asserts("SEM-217");
  const sim::SimulatedDriver machine({.gpus = 2});
  Groups groups(2);
  std::vector<std::string> texts;
  const auto body = [&](GpuProcess& process) {
    const auto ones =
        process.strategy.run([](ReplicaContext&) { return Tensor<float>::full({4}, 1.0F); });
    const auto sum = [&] { return process.strategy.cross_replica().reduce(ReduceOp::kSum, ones); };
    const int own = process.group.rank();
    EXPECT_THAT(sum()[own].to_host(), Each(2.0F));
    if (own == 1) groups[1]->leave_after(1);
    const auto later = sum();
    for (int wait = 0; wait < 2; ++wait) {
      try {
        later[own].to_host();
      } catch (const ProcessLostError& error) {
        texts.emplace_back(error.what());
      }
    }
  };
  EXPECT_THROW(on_gpu_processes({.gpus = {{0}, {1}}, .deadline = std::chrono::milliseconds(500)},
                                body, leaving(groups)),
               std::runtime_error);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_THAT(texts, Each(HasSubstr("process 1 of a communicator is lost")));
}

// A process fails, and the second process waits until the deadline. Both answer afterwards: the
// next run makes the communicator.
TEST(GpuProcessLoss, KeepsTheStrategyIfACommunicatorCannotBeMade) {
  testing::asserts("SEM-217");
  sim::SimulatedDriver machine({.gpus = 2});
  std::mutex mutex;
  int failures = 0;
  machine.fail("ncclCommInitRankConfig", 1, kSystemError);
  on_gpu_processes(
      {.gpus = {{0}, {1}}, .deadline = std::chrono::milliseconds(300)}, [&](GpuProcess& process) {
        const auto step = [](ReplicaContext& replica) { return sum_of_ones(replica).to_host()[0]; };
        try {
          process.strategy.run(step);
        } catch (const Error& error) {
          EXPECT_TRUE(error.code() == ErrorCode::kDeviceLost ||
                      error.code() == ErrorCode::kPeerFailed)
              << error.what();
          const std::lock_guard lock(mutex);
          failures += 1;
        }
        EXPECT_THAT(process.strategy.run(step), Each(2.0F));
      });
  EXPECT_EQ(failures, 2);
}

}  // namespace
}  // namespace belfry::testing
