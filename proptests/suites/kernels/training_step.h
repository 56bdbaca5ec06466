// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "suites/kernels/own_memory.h"
#include "suites/throwing/fault_injector.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace belfry::testing {

/// A fault of a training step.
enum class StepFault : std::uint8_t {
  kNone,
  kThrow,   ///< A function of the user throws, in a replica, a merge or an update.
  kCancel,  ///< The same function throws ReplicaCancelled.
  kCheck,   ///< The `check` of a kernel throws.
  kBody,    ///< The body of a kernel throws.
};
/// `none`, `throw`, ...
const char* to_string(StepFault fault);

/// The fault of one launch. Trivially copyable, as a member of a kernel.
struct LaunchFault {
  int in_check = 0;  ///< The point of the fault, if the check throws.
  int in_body = 0;   ///< The point of the fault, if the body throws.

  /// For the check of a kernel.
  bool check() const {
    if (in_check != 0) throw InjectedFault{in_check};
    return true;
  }
  /// For the body of a kernel.
  void body() const {
    if (in_body != 0) throw InjectedFault{in_body};
  }
};

/// Counts the points of a training step, and injects a fault at a point. Launches are the points of
/// kCheck and kBody; places in functions of the user are the points of the other faults.
class StepPoints {
 public:
  explicit StepPoints(StepFault fault = StepFault::kNone, int at = 0) : fault_(fault), at_(at) {}

  /// A place in a function of the user. Throws: InjectedFault, ReplicaCancelled.
  void place() {
    const int now = ++places_;
    if (now != at_) return;
    if (fault_ == StepFault::kThrow) throw InjectedFault{now};
    if (fault_ == StepFault::kCancel) throw ReplicaCancelled{};
  }
  /// The fault of the next launch.
  LaunchFault launch() {
    const int now = ++launches_;
    if (now != at_) return {};
    return {.in_check = fault_ == StepFault::kCheck ? now : 0,
            .in_body = fault_ == StepFault::kBody ? now : 0};
  }
  /// Whether the fault was injected.
  bool is_reached() const {
    const bool in_launch = fault_ == StepFault::kCheck || fault_ == StepFault::kBody;
    return fault_ != StepFault::kNone && at_ > 0 && (in_launch ? launches_ : places_) >= at_;
  }

 private:
  StepFault fault_;
  int at_;
  std::atomic<int> places_{0};
  std::atomic<int> launches_{0};
};

/// A training step with kernels of users in replicas, in an update and in update_non_slot, and with
/// a tensor over memory of the program on each replica. All numbers are small integers.
class TrainingStep {
 public:
  /// Makes the variable and the memories. Throws: DeviceError (kOutOfMemory).
  explicit TrainingStep(Strategy& strategy);

  /// Throws: the injected fault; a ContextError (kRunFailed) for kCancel; DeviceError
  /// (kOutOfMemory).
  void run(StepPoints& points);
  /// The same in a transaction. The run waits for the work of each device.
  void run_in_transaction(StepPoints& points);

  /// Whether every component of the variable has its first value, or every component the value
  /// after the first step.
  bool is_unchanged() const { return weights_are(kFirstWeight); }
  bool is_trained() const;
  /// Whether every read of a component gives the value from before or after the first step, or
  /// throws the fault of a body.
  bool is_either_or_spoilt() const;
  /// Whether every element of every memory has its first value or the value after the first step.
  bool memory_is_either() const;
  /// The same for the values after the first step alone.
  bool memory_is_trained() const;
  /// Whether no tensor shares an owner of memory. After a host wait for all work.
  bool is_released() const;
  /// Gives the variable and the memories their first values.
  void start_again();

 private:
  static constexpr float kFirstWeight = 2;

  bool weights_are(float value) const;
  float trained_weight() const;
  void work(ReplicaContext& replica, StepPoints& points);
  void merge(CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients,
             StepPoints& points);

  Strategy& strategy_;
  MirroredVariable<Tensor<float>> weights_;
  std::vector<OwnMemory<float>> memories_;  // Of each replica.
};

}  // namespace belfry::testing
