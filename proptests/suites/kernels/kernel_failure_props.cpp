// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A training step with kernels of users fails at each of its points, in each way. The exception
// keeps its type, variables have values from before or after the step, or no value after the
// exception of a body, owners of memory are released, no memory is left over, and the next step is
// right. Not for GPUs: the kernels have bodies for the host alone.
#include "belfry/testing/asserts.h"
#include "suites/kernels/training_step.h"
#include "suites/property.h"
#include "suites/throwing/fault_sweep.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace belfry::testing::kernel_failure_props {
namespace {

class KernelFailures : public Property {
 protected:
  enum class Place : std::uint8_t { kAlone, kInTransaction };

  // Steps with the fault at point 1, 2, 3, ... until all points have failed, on small backends.
  void sweep(StepFault fault, Place place = Place::kAlone) {
    for (const BackendRequest& request : small_backends(7)) {
      SCOPED_TRACE(to_string(request) + ", " + to_string(fault));
      const bool in_launch = fault == StepFault::kCheck || fault == StepFault::kBody;
      // Four launches a replica; five places a replica and one for each update, and two in the
      // merge.
      const int expected = in_launch ? 4 * request.devices : 6 * request.devices + 2;
      EXPECT_EQ(points_of(request, fault, place), expected);
      if (HasFailure()) return;
    }
  }

 private:
  int points_of(const BackendRequest& request, StepFault fault, Place place) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    EXPECT_TRUE(works(strategy));
    const auto level = live_memory(bench.backend());
    for (int at = 1;; ++at) {
      SCOPED_TRACE("point " + std::to_string(at));
      const bool is_reached = fails_at(strategy, fault, at, place);
      EXPECT_EQ(live_memory(bench.backend()), level);
      EXPECT_TRUE(works(strategy));
      if (!is_reached || HasFailure()) return at - 1;
    }
  }

  // Whether the step has the point.
  static bool fails_at(Strategy& strategy, StepFault fault, int at, Place place) {
    TrainingStep step(strategy);
    StepPoints points(fault, at);
    const std::string thrown = failure_of(step, points, at, place);
    hear_of_failures(strategy.backend());
    EXPECT_TRUE(step.is_released());
    if (!points.is_reached()) {
      EXPECT_EQ(thrown, "nothing");
      EXPECT_TRUE(step.is_trained());
      EXPECT_TRUE(step.memory_is_trained());
      return false;
    }
    EXPECT_EQ(thrown, fault == StepFault::kCancel ? "BF-003" : "the fault");
    expect_values(strategy, step, fault, place);
    step.start_again();
    EXPECT_TRUE(step.is_unchanged());
    StepPoints none;
    step.run(none);
    EXPECT_TRUE(step.is_trained());
    EXPECT_TRUE(step.memory_is_trained());
    return true;
  }

  // After the fault.
  static void expect_values(Strategy& strategy, const TrainingStep& step, StepFault fault,
                            Place place) {
    const bool is_simulator = strategy.backend().name() == "sim";
    if (place == Place::kInTransaction) {
      EXPECT_TRUE(step.is_unchanged());
    } else if (fault != StepFault::kBody) {
      EXPECT_TRUE(step.is_unchanged() || step.is_trained());
    } else if (is_simulator) {
      // SEM-173 says no more of other backends than that the outputs are undefined.
      EXPECT_TRUE(step.is_either_or_spoilt());
    }
    if (fault != StepFault::kBody || is_simulator) {
      EXPECT_TRUE(step.memory_is_either());
    }
  }

  static std::string failure_of(TrainingStep& step, StepPoints& points, int at, Place place) {
    try {
      if (place == Place::kInTransaction) {
        step.run_in_transaction(points);
      } else {
        step.run(points);
      }
      return "nothing";
    } catch (const InjectedFault& fault) {
      return fault.point == at ? "the fault" : "another fault";
    } catch (const Error& error) {
      return to_string(error.code());
    }
  }
};

// The end of a step: without memory for the variable, in the step, or well.
enum class Ending : std::uint8_t { kNotMade, kFailed, kPassed };

void expect_no_memory(const DeviceError& error) {
  EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory) << error.what();
}

Ending step_with(Strategy& strategy) {
  std::optional<TrainingStep> step;
  try {
    step.emplace(strategy);
  } catch (const DeviceError& error) {
    expect_no_memory(error);
    return Ending::kNotMade;
  }
  bool has_passed = false;
  try {
    StepPoints none;
    step->run(none);
    has_passed = true;
  } catch (const DeviceError& error) {
    expect_no_memory(error);
  }
  hear_of_failures(strategy.backend());
  EXPECT_TRUE(step->is_released());
  if (has_passed) {
    EXPECT_TRUE(step->is_trained());
    EXPECT_TRUE(step->memory_is_trained());
  } else {
    EXPECT_TRUE(step->is_unchanged() || step->is_trained());
  }
  EXPECT_TRUE(step->memory_is_either());
  return has_passed ? Ending::kPassed : Ending::kFailed;
}

Ending step_without_memory(Backend& backend) {
  Ending ending = Ending::kNotMade;
  {
    const auto strategy = strategy_factory().make(backend, {});
    ending = step_with(*strategy);
    EXPECT_TRUE(works(*strategy, false));
  }
  // Communicators, which may keep memory, have ended with the strategy.
  for (const std::size_t live : live_memory(backend)) EXPECT_EQ(live, 0U);
  return ending;
}

TEST_F(KernelFailures, AtAnyPointLeaveNothingBehind) {
  testing::asserts("SEM-171", "SEM-173", "SEM-182");
  for (const StepFault fault :
       {StepFault::kThrow, StepFault::kCancel, StepFault::kCheck, StepFault::kBody}) {
    sweep(fault);
    if (HasFailure()) return;
  }
}

TEST_F(KernelFailures, InATransactionChangeNoVariable) {
  testing::asserts("SEM-59");
  sweep(StepFault::kBody, Place::kInTransaction);
  sweep(StepFault::kThrow, Place::kInTransaction);
}

// Steps with devices of 1, 2, 3, ... rows, until the memory suffices.
TEST_F(KernelFailures, OfDevicesWithoutMemoryLeaveNothingBehind) {
  testing::asserts("SEM-182");
  constexpr std::size_t kRowBytes = 2 * sizeof(float);
  constexpr std::size_t kMostRows = 1000;
  for (BackendRequest request : small_backends(8)) {
    int failed_steps = 0;
    Ending ending = Ending::kNotMade;
    for (std::size_t rows = 1; ending != Ending::kPassed; ++rows) {
      SCOPED_TRACE(to_string(request) + ", rows " + std::to_string(rows));
      request.memory_limit_bytes = rows * kRowBytes;
      Bench bench(*this, request);
      ending = step_without_memory(bench.backend());
      failed_steps += ending == Ending::kFailed ? 1 : 0;
      ASSERT_LT(rows, kMostRows);
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(failed_steps, 0);
  }
}

}  // namespace
}  // namespace belfry::testing::kernel_failure_props
