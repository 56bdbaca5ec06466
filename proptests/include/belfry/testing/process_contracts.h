// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/process_group.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/contracts.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// The contracts of `belfry/testing/contracts.h` for strategies over several processes. Each
/// process checks the own replicas.
namespace belfry::testing {

/// Makes the strategies under test in each process of a group.
struct ProcessStrategies {
  std::string name;  ///< For messages.
  /// A strategy with a replica on each device of each backend. The strategy obeys the order of the
  /// options. Throws: errors of the constructor.
  std::function<std::unique_ptr<Strategy>(Backend& backend, ProcessGroup& group,
                                          const StrategyOptions& options)>
      make;
};

/// The strategies of a class S with a constructor from a backend, a group and StrategyOptions.
template <class S>
ProcessStrategies process_strategies(std::string name) {
  return {std::move(name),
          [](Backend& backend, ProcessGroup& group, const StrategyOptions& options) {
            return std::make_unique<S>(backend, group, options);
          }};
}

/// Checks all contracts in the processes of `group`, for example the processes of mpirun. All
/// processes make the call and draw the same cases, from the seed of process 0. In a case each
/// process has 0 to 4 devices, at most `options.most_devices`, and at least one process has a
/// device. `backends` is asked for 1 device or more; a process without devices has a
/// `HostBackend(0)`. If a case fails in any process, the
/// case fails in all, and all processes shrink the case alike: the results are equal in all
/// processes. `ContractResult::left_out` names the parts for a single process alone.
/// Order: blocks the host until all processes have called.
/// Throws: ProcessLostError (kProcessLost).
std::vector<ContractResult> check_contracts_over(ProcessGroup& group,
                                                 const ProcessStrategies& strategies,
                                                 const BackendFactory& backends,
                                                 const ContractOptions& options = {});

/// Checks all contracts on simulated clusters of 1 to 5 hosts, under random schedules; the rest is
/// as for `check_contracts_over`. A message has the mistake of the lowest host with a mistake.
std::vector<ContractResult> check_contracts_on_clusters(const ProcessStrategies& strategies,
                                                        const ContractOptions& options = {});

}  // namespace belfry::testing
