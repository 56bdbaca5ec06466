// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/strategy_factory.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The contracts of every strategy, checked over random cases. Needs no test framework;
/// `belfry/testing/contract_tests.h` makes GoogleTest tests of the contracts.
namespace belfry::testing {

/// The options of a check. More cases and devices find rarer mistakes, and take longer in
/// proportion.
struct ContractOptions {
  /// Random cases for each contract. Without a value: `max_success` of RapidCheck's RC_PARAMS, else
  /// 50.
  std::optional<int> cases{};
  int most_devices = 9;                 ///< The largest number of devices in a case.
  std::optional<std::uint64_t> seed{};  ///< Without a value: from RapidCheck's environment.
};

/// The options as an initializer that compiles, without members of their usual value.
std::string to_string(const ContractOptions& options);

/// The result of a contract.
struct ContractResult {
  std::string id;     ///< `C-run`, ...
  bool kept = false;  ///< Whether the contract was judged, and no case broke the contract.
  /// The broken rule and the shrunk case, or why the contract was not judged; empty if the contract
  /// was kept.
  std::string message;
  /// The unchecked parts, if the strategy has a single replica or inexact values
  /// (StrategyFactory::tolerance); empty if all parts were checked.
  std::string left_out{};
  /// The reason for a contract without a judgement: the id of a broken contract, earlier in the
  /// list. Empty if the contract was judged. A contract without a judgement is not kept.
  std::string not_judged_because{};
};

/// `C-run: kept`, `C-run: broken: ` and the message, or `C-merge: not judged because of C-run`.
std::string to_string(const ContractResult& result);

/// A rule for strategies (docs/strategies.md has the list).
struct Contract {
  std::string_view id;        ///< For example `C-run`.
  std::string_view sentence;  ///< The rule.
  /// The contracts below the contract, all of them earlier in the list.
  std::vector<std::string_view> needs{};
};

/// `C-run: ` and the sentence.
std::string to_string(const Contract& contract);

/// All contracts, in the order of the list.
const std::vector<Contract>& contracts();

/// Checks a contract, also above a broken contract.
/// Throws: InvalidArgumentError (kInvalidArgument) for an unknown id.
ContractResult check_contract(std::string_view id, const StrategyFactory& strategies,
                              const BackendFactory& backends, const ContractOptions& options = {});
/// Checks all contracts, in the order of the list. A root cause is reported once: a contract above
/// a broken contract is not run, and the result names the broken contract.
std::vector<ContractResult> check_contracts(const StrategyFactory& strategies,
                                            const BackendFactory& backends,
                                            const ContractOptions& options = {});

/// The results of single contracts, in any order. A contract above a broken contract is not judged.
class ContractResults {
 public:
  /// The factories outlive the object.
  ContractResults(const StrategyFactory& strategies, const BackendFactory& backends,
                  ContractOptions options = {})
      : strategies_(strategies), backends_(backends), options_(options) {}

  /// The result of the contract. The first call checks the contract and, if the contract is broken,
  /// the contracts below. Throws: the errors of check_contract.
  const ContractResult& of(std::string_view id);

 private:
  // The result of a contract above a broken contract, among the known results or among all.
  std::optional<ContractResult> explained(const Contract& contract, bool known_alone);

  const StrategyFactory& strategies_;
  const BackendFactory& backends_;
  ContractOptions options_;
  std::map<std::string, ContractResult, std::less<>> results_;
};

using belfry::operator<<;

}  // namespace belfry::testing
