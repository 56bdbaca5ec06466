// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/condition_pair.h"

namespace belfry::sim::testing {

// Without a default: a new breach without a pair does not compile.
ConditionPair pair_of(Breach breach) {
  switch (breach) {
    case Breach::kDeviceRace:
    case Breach::kNestedRun:
    case Breach::kGroup:
    case Breach::kProgramMemory:
    case Breach::kQuestion:
    case Breach::kEventRace:
    case Breach::kFailedWork:
    case Breach::kShortage:
    case Breach::kMemoryLimit:
      return device_pair_of(breach);
    case Breach::kHostRace:
    case Breach::kUnseenCode:
    case Breach::kUnknownOrder:
    case Breach::kLock:
    case Breach::kAtomic:
    case Breach::kLastOwner:
      return host_pair_of(breach);
    case Breach::kUnrecorded:
    case Breach::kNewAnswers:
    case Breach::kInnerExploration:
    case Breach::kSecondBackend:
    case Breach::kSecondThread:
    case Breach::kDraw:
      return body_pair_of(breach);
    case Breach::kUnwatchedProgram:
      return {.name = "UnwatchedProgram",
              .elsewhere = "sim_test UnwatchedPrograms.AreNotCertified"};
    case Breach::kUnwatchedReplicas:
      return {.name = "UnwatchedReplicas",
              .elsewhere = "sim_explore_test Conditions.HostBytesOfReplicasWithoutWatchedCode"};
    case Breach::kDrawnOrder:
      // The reductions of the simulator have a fixed order. Only the simulated driver draws one.
      return {.name = "DrawnOrder", .elsewhere = "no program of the simulator"};
  }
  return {};
}

}  // namespace belfry::sim::testing
