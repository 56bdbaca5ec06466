// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/strategy_step.h"

#include "belfry/error.h"

#include <string>
#include <utility>

namespace belfry {
namespace {

[[noreturn]] void throw_broken(const StrategyStep& step, const char* what) {
  ErrorReport report;
  report.code = ErrorCode::kStrategyContract;
  report.summary = std::string("a strategy carried out one ") + step.what() + " " + what;
  report.site = step.site();
  report.expected = "StrategyStep::carry_out once in do_run and once in do_merge";
  throw StrategyError(std::move(report));
}

}  // namespace

void StrategyStep::carry_out() {
  if (carried_out_) throw_broken(*this, "twice");
  carried_out_ = true;
  try {
    work_();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

void StrategyStep::rethrow_failure() const {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void StrategyStep::finish() const {
  rethrow_failure();
  if (!carried_out_) throw_broken(*this, "not at all");
}

}  // namespace belfry
