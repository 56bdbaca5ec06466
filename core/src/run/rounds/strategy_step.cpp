// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/step_tap.h"
#include "belfry/error.h"
#include "belfry/strategy_hooks.h"

#include <string>
#include <utility>

namespace belfry {

void StrategyStep::refuse(const char* what) const {
  ErrorReport report;
  report.code = ErrorCode::kStrategyContract;
  report.summary = std::string("a strategy carried out one ") + what_ + " " + what;
  report.site = site_;
  report.expected = "StrategyStep::carry_out once in do_run and once in do_merge";
  throw StrategyError(std::move(report));
}

namespace detail {

constinit thread_local StepTap* step_tap = nullptr;

}  // namespace detail
}  // namespace belfry
