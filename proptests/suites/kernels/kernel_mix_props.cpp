// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Random programs of kernels of users with everything else that uses devices give the numbers of
// vectors, and a fault at any step ends the run and nothing else.
#include "belfry/launch.h"
#include "belfry/testing/asserts.h"
#include "suites/kernels/kernel_mix_machine.h"
#include "suites/property.h"
#include "suites/throwing/fault_sweep.h"

#ifdef BELFRY_USER_KERNELS_ON_GPUS
#include <cuda_runtime.h>
#endif

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace belfry::testing::kernel_mix_props {
namespace {

using kernel_mix::Machine;
using kernel_mix::Outcome;
using kernel_mix::predict;
using kernel_mix::Program;
using kernel_mix::Vector;

enum class Fault : std::uint8_t { kReplicaThrows, kBodyThrows, kCheckThrows, kCancelled };

struct FailingBody {
  void on_host(std::span<std::int32_t> y) const {
    y[0] = -1;
    throw InjectedFault{1};
  }
#ifdef BELFRY_USER_KERNELS_ON_GPUS
  void on_cuda(cudaStream_t, std::span<std::int32_t>) const { throw InjectedFault{1}; }
#endif
};

struct FailingCheck {
  bool check(const Shape&) const { throw InjectedFault{1}; }
  void on_host(std::span<std::int32_t>) const {}
#ifdef BELFRY_USER_KERNELS_ON_GPUS
  void on_cuda(cudaStream_t, std::span<std::int32_t>) const {}
#endif
};

void inject(Fault fault, int length) {
  auto own = Vector::full({length}, 3);
  if (fault == Fault::kReplicaThrows) throw InjectedFault{1};
  if (fault == Fault::kCancelled) throw ReplicaCancelled{};
  if (fault == Fault::kBodyThrows) return launch(FailingBody(), updates(own));
  launch(FailingCheck(), updates(own));
}

class KernelMixes : public Property {
 protected:
  static Outcome outcome_of(Strategy& strategy, const Program& drawn) {
    Machine machine(strategy, drawn.length);
    Outcome outcome = machine.run(drawn);
    hear_of_failures(strategy.backend());
    RC_ASSERT(machine.is_released());
    return machine.with_memories(std::move(outcome));
  }

  // The exception of a program with a fault before step `at` of replica `who`.
  static std::string failure_of(Strategy& strategy, const Program& drawn, Fault fault,
                                std::size_t at, int who) {
    Machine machine(strategy, drawn.length);
    std::string failure = "none";
    try {
      machine.run(drawn, [&](ReplicaContext& replica, std::size_t index) {
        if (index == at && replica.replica_id() == who) inject(fault, drawn.length);
      });
    } catch (const InjectedFault&) {
      failure = "injected";
    } catch (const ContextError& error) {
      failure = to_string(error.code());
    }
    hear_of_failures(strategy.backend());
    RC_ASSERT(machine.is_released());
    return failure;
  }
};

TEST_F(KernelMixes, GiveTheNumbersOfVectors) {
  testing::asserts("SEM-170", "SEM-171", "SEM-180", "SEM-181");
  holds([this] {
    const Program drawn = *kernel_mix::program();
    Bench bench(*this, drawn.backend);
    RC_ASSERT(outcome_of(bench.strategy(), drawn) == predict(drawn));
  });
}

TEST_F(KernelMixes, EndByAFaultAnywhereAndReleaseTheirMemory) {
  testing::asserts("SEM-173", "SEM-182");
  holds([this] {
    const Program drawn = *kernel_mix::program();
    const auto at = *rc::gen::inRange<std::size_t>(0, drawn.steps.size() + 1);
    const int who = *rc::gen::inRange(0, drawn.backend.devices);
    const auto fault = static_cast<Fault>(*rc::gen::inRange(0, 4));
    Bench bench(*this, drawn.backend);
    Strategy& strategy = bench.strategy();
    const Outcome right = predict(drawn);
    RC_ASSERT(outcome_of(strategy, drawn) == right);
    const auto level = live_memory(bench.backend());
    const std::string expected = fault == Fault::kCancelled ? "BF-003" : "injected";
    RC_ASSERT(failure_of(strategy, drawn, fault, at, who) == expected);
    RC_ASSERT(live_memory(bench.backend()) == level);
    RC_ASSERT(outcome_of(strategy, drawn) == right);
  });
}

}  // namespace
}  // namespace belfry::testing::kernel_mix_props
