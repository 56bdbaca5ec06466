// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The texts of the options and results of checks.
#include "belfry/detail/options_text.h"
#include "belfry/testing/contracts.h"
#include "belfry/testing/strategy_factory.h"
#include "belfry/testing/watchdog.h"

#include <array>
#include <string>
#include <string_view>

namespace belfry::testing {

using detail::OptionsText;

std::string to_string(const ContractOptions& options) {
  const ContractOptions usual;
  OptionsText text;
  text.add("cases", options.cases, usual.cases);
  text.add("most_devices", options.most_devices, usual.most_devices);
  text.add("seed", options.seed, usual.seed);
  return text.text();
}

std::string to_string(const ContractResult& result) {
  if (result.kept) return result.id + ": kept";
  if (result.not_judged_because.empty()) return result.id + ": broken: " + result.message;
  return result.id + ": not judged because of " + result.not_judged_because;
}

std::string to_string(const Contract& contract) {
  return std::string(contract.id) + ": " + std::string(contract.sentence);
}

std::string to_string(const WatchdogOptions& options) {
  OptionsText text;
  text.add("limit_s", options.limit_s, WatchdogOptions().limit_s);
  return text.text();
}

std::string to_string(ReplicaDevices devices) {
  constexpr std::array<std::string_view, 3> kWords{"each", "first", "own"};
  return detail::word_of(kWords, static_cast<int>(devices));
}

std::string to_string(const StrategyTraits& traits) {
  constexpr std::array<std::string_view, 3> kDevices{"kEach", "kFirst", "kOwn"};
  const StrategyTraits usual;
  OptionsText text;
  text.add("replica_devices", traits.replica_devices, usual.replica_devices,
           {"belfry::testing::ReplicaDevices", kDevices});
  text.add("uses_collectives", traits.uses_collectives, usual.uses_collectives);
  text.add("require_names", traits.require_names, usual.require_names);
  text.add("tolerance", traits.tolerance, usual.tolerance);
  return text.text();
}

}  // namespace belfry::testing
