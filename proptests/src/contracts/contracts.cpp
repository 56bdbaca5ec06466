// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/contracts.h"

#include "belfry/error.h"
#include "contracts/contract_case.h"
#include "contracts/entries.h"
#include "contracts/judgement.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::testing {
const std::vector<ContractEntry>& contract_entries() {
  static const std::vector<ContractEntry> all = {
      {{"C-run", "the function runs once on each replica, on its device, as that replica"},
       &check_run},
      {{"C-merge",
        "a merge runs once, after all have arrived, with their values in order",
        {"C-run"}},
       &check_merge,
       "that all have arrived, and the order of their values"},
      {{"C-reduce",
        "a reduction is the left fold by replica id, or in the order asked for",
        {"C-merge"}},
       &check_reduce,
       "sums of more than one value, and their order",
       "the order of additions, and the values of nests"},
      {{"C-input",
        "what is meant for a replica reaches it, and what it returns comes back",
        {"C-reduce"}},
       &check_input},
      {{"C-bcast", "a broadcast puts the bits of its source on every replica", {"C-merge"}},
       &check_broadcast,
       "replicas on other devices than the source"},
      {{"C-init",
        "the initialiser runs once, and all components start with the same bits",
        {"C-bcast"}},
       &check_initial_values,
       "that components are equal"},
      {{"C-upd",
        "an update gives every component the same value, or changes none",
        {"C-reduce", "C-init"}},
       &check_update,
       "that components stay equal"},
      {{"C-local",
        "a replica-local component is its replica's own until it is read",
        {"C-reduce", "C-init"}},
       &check_replica_local,
       "that components are independent, and how a total is split"},
      {{"C-dest",
        "variables live where the strategy says, and replicas see them where they run",
        {"C-init"}},
       &check_destinations},
      {{"C-prog",
        "whole programs do what a sequential model says, under every schedule",
        {"C-upd", "C-local"}},
       &check_programs,
       "",
       "the values that programs compute"},
      {{"C-fail",
        "a failure is reported where it happens, and the strategy is usable after it",
        {"C-prog"}},
       &check_failures,
       "replicas that do not meet, or that bring what does not belong together",
       "the values that programs compute"},
  };
  return all;
}

namespace {

std::string left_out(const ContractEntry& entry, const ContractSubject& subject) {
  std::string text;
  if (subject.has_one_replica()) text = entry.of_several;
  if (subject.tolerance() > 0 && !entry.of_values.empty()) {
    text += (text.empty() ? "" : "; ") + std::string(entry.of_values);
  }
  return text;
}

[[noreturn]] void throw_unknown(std::string_view id) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, "there is no contract " + std::string(id),
                             "contracts() lists them");
}

}  // namespace

const std::vector<Contract>& contracts() {
  static const std::vector<Contract> all = [] {
    std::vector<Contract> list;
    for (const ContractEntry& entry : contract_entries()) list.push_back(entry.contract);
    return list;
  }();
  return all;
}

ContractResult check_contract(std::string_view id, const StrategyFactory& strategies,
                              const BackendFactory& backends, const ContractOptions& options) {
  for (const ContractEntry& entry : contract_entries()) {
    if (entry.contract.id != id) continue;
    std::string own_mistake;
    const ContractSubject subject{strategies, backends, options.most_devices, own_mistake};
    const auto property = [&] {
      own_mistake.clear();
      entry.check(subject);
      demand(own_mistake.empty(), "its own work went wrong: " + own_mistake);
    };
    const std::string name(id);
    const std::string mistake = mistake_of(property, name, options);
    if (mistake.empty()) return {name, true, {}, left_out(entry, subject)};
    return {name,
            false,
            name + " is broken by " + std::string(strategies.name()) + " on " +
                std::string(backends.name()) + ": " + mistake +
                "\n  wanted: " + std::string(entry.contract.sentence),
            {}};
  }
  throw_unknown(id);
}

std::optional<ContractResult> ContractResults::explained(const Contract& contract,
                                                         bool known_alone) {
  for (const std::string_view need : contract.needs) {
    const auto known = results_.find(need);
    if (known == results_.end() && known_alone) continue;
    const ContractResult& needed = known == results_.end() ? of(need) : known->second;
    if (needed.kept) continue;
    ContractResult result;
    result.id = contract.id;
    result.not_judged_because =
        needed.not_judged_because.empty() ? needed.id : needed.not_judged_because;
    result.message = result.id + " was not judged, because " + result.not_judged_because +
                     " is broken by " + std::string(strategies_.name()) + " on " +
                     std::string(backends_.name());
    return result;
  }
  return std::nullopt;
}

const ContractResult& ContractResults::of(std::string_view id) {
  const auto known = results_.find(id);
  if (known != results_.end()) return known->second;
  const auto& all = contracts();
  const auto contract = std::ranges::find(all, id, &Contract::id);
  if (contract == all.end()) throw_unknown(id);
  std::optional<ContractResult> result = explained(*contract, true);
  if (!result) {
    result = check_contract(id, strategies_, backends_, options_);
    // A kept contract needs no explanation.
    if (!result->kept) result = explained(*contract, false).value_or(*std::move(result));
  }
  return results_.emplace(std::string(id), *std::move(result)).first->second;
}

std::vector<ContractResult> check_contracts(const StrategyFactory& strategies,
                                            const BackendFactory& backends,
                                            const ContractOptions& options) {
  ContractResults all(strategies, backends, options);
  std::vector<ContractResult> results;
  for (const Contract& contract : contracts()) results.push_back(all.of(contract.id));
  return results;
}

std::vector<ContractResult> results_of_contracts(
    const std::function<ContractResult(const ContractEntry& entry)>& check,
    std::string_view broken_by) {
  std::vector<ContractResult> results;
  for (const ContractEntry& entry : contract_entries()) {
    // The contracts below are earlier in the list.
    const auto cause = std::ranges::find_if(results, [&](const ContractResult& result) {
      return !result.kept &&
             std::ranges::find(entry.contract.needs, result.id) != entry.contract.needs.end();
    });
    if (cause == results.end()) {
      results.push_back(check(entry));
      continue;
    }
    ContractResult result;
    result.id = std::string(entry.contract.id);
    result.not_judged_because =
        cause->not_judged_because.empty() ? cause->id : cause->not_judged_because;
    result.message = result.id + " was not judged, because " + result.not_judged_because +
                     " is broken by " + std::string(broken_by);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace belfry::testing
