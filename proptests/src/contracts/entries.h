// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/contracts.h"
#include "contracts/contract_case.h"

#include <functional>
#include <string_view>
#include <vector>

namespace belfry::testing {

/// A contract and the check.
struct ContractEntry {
  Contract contract;
  void (*check)(const ContractSubject& subject);
  std::string_view of_several{};  ///< Parts for several replicas alone.
  std::string_view of_values{};   ///< Parts with exact values.
};

/// All contracts, in the order of the list.
const std::vector<ContractEntry>& contract_entries();

/// The results of all contracts by `check`. A contract above a broken contract is not judged.
std::vector<ContractResult> results_of_contracts(
    const std::function<ContractResult(const ContractEntry& entry)>& check,
    std::string_view broken_by);

}  // namespace belfry::testing
