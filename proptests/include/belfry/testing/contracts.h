// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/testing/backend_factory.h"
#include "belfry/testing/strategy_factory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The contracts of every strategy, checked over random cases. Needs no test framework;
/// `belfry/testing/contract_tests.h` makes GoogleTest tests of the contracts.
namespace belfry::testing {

/// Options of a check.
struct ContractOptions {
  /// Random cases for each contract. Without a value: `max_success` of RapidCheck's RC_PARAMS, else
  /// 50.
  std::optional<int> cases{};
  int most_devices = 9;                 ///< The largest number of devices in a case.
  std::optional<std::uint64_t> seed{};  ///< Without a value: from RapidCheck's environment.
};

/// The result of a contract.
struct ContractResult {
  std::string id;       ///< `C-run`, ...
  bool kept = false;    ///< Whether no case broke the contract.
  std::string message;  ///< The broken rule and the shrunk case; empty if the contract was kept.
  /// The parts that were not checked, since a strategy with a single replica cannot show them;
  /// empty if all parts were checked.
  std::string left_out{};
};

/// A rule for strategies (docs/strategies.md has the list).
struct Contract {
  std::string_view id;        ///< For example `C-run`.
  std::string_view sentence;  ///< The rule.
};

/// All contracts, in the order of the list.
const std::vector<Contract>& contracts();

/// Checks a contract. Throws: InvalidArgumentError (kInvalidArgument) for an unknown id.
ContractResult check_contract(std::string_view id, const StrategyFactory& strategies,
                              const BackendFactory& backends, const ContractOptions& options = {});
/// Checks all contracts, in the order of the list.
std::vector<ContractResult> check_contracts(const StrategyFactory& strategies,
                                            const BackendFactory& backends,
                                            const ContractOptions& options = {});

}  // namespace belfry::testing
