// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "contracts/judgement.h"

#include "belfry/testing/described.h"
#include "contracts/contract_case.h"

#include <rapidcheck/detail/Configuration.h>

#include <cstdlib>
#include <exception>
#include <sstream>
#include <string_view>

namespace belfry::testing {
namespace {

// RapidCheck's configuration does not tell a default from a setting of the user.
int usual_cases() {
  const char* const asked = std::getenv("RC_PARAMS");
  const bool is_set =
      asked != nullptr && std::string_view(asked).find("max_success") != std::string_view::npos;
  return is_set ? rc::detail::configuration().testParams.maxSuccess : 50;
}

std::string case_text(const rc::detail::Example& example) {
  std::string text;
  for (const auto& [name, value] : example) {
    text.append("\n  with ").append(name).append(": ").append(value);
  }
  return text;
}

}  // namespace

ContractOptions settled(ContractOptions options) {
  options.cases = options.cases.value_or(usual_cases());
  options.seed = options.seed.value_or(rc::detail::configuration().testParams.seed);
  return options;
}

std::string mistake_of(const std::function<void()>& property, const std::string& name,
                       const ContractOptions& options) {
  const auto guarded = [&] {
    try {
      property();
    } catch (const rc::GenerationFailure&) {
      throw;
    } catch (const std::exception& error) {
      fail("it threw " + describe_exception(error));
    }
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  const ContractOptions all = settled(options);
  params.maxSuccess = *all.cases;
  params.seed = *all.seed;
  const auto result =
      rc::detail::checkTestable(guarded, rc::detail::TestMetadata{name, name}, params);
  if (result.is<rc::detail::SuccessResult>()) return {};
  if (result.is<rc::detail::FailureResult>()) {
    const auto& failure = result.get<rc::detail::FailureResult>();
    return failure.description + case_text(failure.counterExample);
  }
  std::ostringstream rest;
  rc::detail::printResultMessage(result, rest);
  return rest.str();
}

}  // namespace belfry::testing
