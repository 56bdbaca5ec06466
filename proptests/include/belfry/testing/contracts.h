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

/// What every strategy must keep, checked over random cases. Needs no test framework;
/// `belfry/testing/contract_tests.h` makes GoogleTest tests of it.
namespace belfry::testing {

struct ContractOptions {
  /// Random cases for each contract. None: `max_success` of RapidCheck's RC_PARAMS, else 50.
  std::optional<int> cases{};
  int most_devices = 9;                 ///< Of a case.
  std::optional<std::uint64_t> seed{};  ///< None: as RapidCheck's environment says.
};

/// What came of one contract.
struct ContractResult {
  std::string id;  ///< `C-run`, ...
  bool kept = false;
  std::string message;  ///< What was broken and by which case, shrunk; empty when it was kept.
  /// What was not checked, since strategies of one replica cannot show it; empty when nothing.
  std::string left_out{};
};

/// One thing that a strategy must keep (docs/strategies.md has the list).
struct Contract {
  std::string_view id;
  std::string_view sentence;
};

/// All contracts, in the order of the list.
const std::vector<Contract>& contracts();

/// Checks one contract. Throws: InvalidArgumentError (kInvalidArgument) for an id that is none.
ContractResult check_contract(std::string_view id, const StrategyFactory& strategies,
                              const BackendFactory& backends, const ContractOptions& options = {});
/// Checks all of them, in the order of the list.
std::vector<ContractResult> check_contracts(const StrategyFactory& strategies,
                                            const BackendFactory& backends,
                                            const ContractOptions& options = {});

}  // namespace belfry::testing
