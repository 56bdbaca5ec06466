// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"

#include <exception>

namespace belfry {

/// A run of all replicas, or the merge for which all replicas have met. The strategy must carry out
/// the step exactly once, before or after any other work (SEM-115, SEM-116).
class StrategyStep {
 public:
  /// `what` is a literal: `run`, `merge_call`, `all_reduce`, `all_gather`, `assign` or `scatter`.
  StrategyStep(const char* what, CallSite site, bool nested, detail::FunctionRef<void()> work)
      : what_(what), site_(site), nested_(nested), work_(work) {}
  StrategyStep(const StrategyStep&) = delete;
  StrategyStep& operator=(const StrategyStep&) = delete;

  const char* what() const { return what_; }
  /// The call in the user's program.
  CallSite site() const { return site_; }
  /// Whether the step belongs to a run started by code of the same strategy's run.
  bool nested() const { return nested_; }

  /// Carries out the step. Order: a run blocks until all replicas have ended.
  /// Throws: the failure of the run or merge; `run` throws the failure even if the strategy catches
  /// it (SEM-117). StrategyError (kStrategyContract) at the second call.
  void carry_out() {
    if (carried_out_) refuse("twice");
    carried_out_ = true;
    try {
      work_();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }

  /// For belfry itself: throws the failure, if the step failed.
  void rethrow_failure() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }
  /// For belfry itself: as rethrow_failure; throws StrategyError (kStrategyContract) if the step
  /// has not been carried out.
  void finish() const {
    rethrow_failure();
    if (!carried_out_) refuse("not at all");
  }

 private:
  [[noreturn]] void refuse(const char* what) const;

  const char* what_;
  CallSite site_;
  bool nested_;
  bool carried_out_ = false;
  detail::FunctionRef<void()> work_;
  std::exception_ptr failure_{};
};

}  // namespace belfry
