// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"

#include <exception>

namespace belfry {

/// Something that a strategy must let happen exactly once, before or after whatever else it does:
/// all replicas of a run, or the merge they have met for (SEM-115, SEM-116).
class StrategyStep {
 public:
  /// `what` is a literal: `run`, `merge_call`, `all_reduce`, `all_gather`, `assign` or `scatter`.
  StrategyStep(const char* what, CallSite site, bool nested, detail::FunctionRef<void()> work)
      : what_(what), site_(site), nested_(nested), work_(work) {}
  StrategyStep(const StrategyStep&) = delete;
  StrategyStep& operator=(const StrategyStep&) = delete;

  const char* what() const { return what_; }
  /// Where the program called it.
  CallSite site() const { return site_; }
  /// Whether it belongs to a run that code of the same strategy's run started.
  bool nested() const { return nested_; }

  /// Lets it happen. Order: a run blocks until all replicas have ended.
  /// Throws: the failure of the run or the merge, which comes out in the end whether or not the
  /// strategy lets it pass (SEM-117); StrategyError (kStrategyContract) the second time.
  void carry_out();

  /// For belfry itself: throws the failure if there was one.
  void rethrow_failure() const;
  /// For belfry itself: the same; StrategyError (kStrategyContract) when it has not been carried
  /// out.
  void finish() const;

 private:
  const char* what_;
  CallSite site_;
  bool nested_;
  bool carried_out_ = false;
  detail::FunctionRef<void()> work_;
  std::exception_ptr failure_{};
};

}  // namespace belfry
