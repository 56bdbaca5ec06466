// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/process_contracts.h"
#include "belfry/testing/process_place.h"

#include <rapidcheck.h>

#include <functional>
#include <string>
#include <vector>

namespace belfry::testing {

/// The numbers of devices of so many processes: up to 4 each, as the options say. At least one
/// process has a device. Counts shrink towards a device for each process.
rc::Gen<std::vector<int>> device_counts(int processes, const ContractOptions& options);

/// A case in one process. Draws its values before the first call of the group.
using ProcessCase = std::function<void(const ProcessPlace& place)>;
/// Runs a case in some processes with a backend each. All processes draw the same values.
using RunInProcesses =
    std::function<void(const ContractOptions& options, const ProcessCase& run_case)>;

/// The contracts in cases of `run`. `places` are the kind of processes, for messages.
std::vector<ContractResult> check_contracts_in_cases(const ProcessStrategies& strategies,
                                                     const ContractOptions& options,
                                                     const std::string& places,
                                                     const RunInProcesses& run);

}  // namespace belfry::testing
