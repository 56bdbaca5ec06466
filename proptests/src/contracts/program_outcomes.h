// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/replica_programs.h"
#include "contracts/contract_case.h"

#include <string>

namespace belfry::testing {

/// Ends the case with the first difference, unless the outcomes are equal. Values are compared for
/// strategies without a tolerance.
void demand_outcome(const ContractSubject& subject, Outcome got, Outcome wanted,
                    const std::string& when);

// The same contracts in one of several processes.
void check_programs_of_processes(const ContractSubject& subject);
void check_failures_of_processes(const ContractSubject& subject);

}  // namespace belfry::testing
