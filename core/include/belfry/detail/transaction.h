// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/round_members.h"
#include "belfry/detail/strategy_core.h"

#include <exception>
#include <functional>
#include <type_traits>
#include <vector>

namespace belfry::detail {

/// A transaction of all members: the variables of all processes keep their new components, or of
/// none (SEM-236).
class Transaction {
 public:
  /// Order, Throws: as RoundMembers::begin_transaction.
  Transaction(RoundMembers& members, CallSite site) : members_(members), site_(site) {
    members_.begin_transaction(site_);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() { members_.leave_transaction(); }

  /// The function has returned. Order, Throws: as RoundMembers::end_transaction.
  void commit() { members_.end_transaction(site_); }
  /// The function, or `commit`, has thrown. Order: as commit.
  void fail(const std::exception_ptr& thrown) noexcept {
    members_.end_failed_transaction(thrown, site_);
  }

 private:
  RoundMembers& members_;
  CallSite site_;
};

/// Calls `fn`, and then `end`.
template <class F, class End>
auto call_and(const F& fn, [[maybe_unused]] const End& end) {
  using Result = decltype(fn());
  if constexpr (std::is_void_v<Result>) {
    fn();
    end();
  } else if constexpr (std::is_move_constructible_v<std::remove_cvref_t<Result>>) {
    auto result = fn();
    end();
    return result;
  } else {
    return fn();
  }
}

/// Calls `fn`. If `fn` throws, in whichever process, restores all variables.
template <class F>
auto restoring_on_failure(StrategyCore& core, const F& fn, CallSite site) {
  Transaction common(core.members(), site);
  const std::vector<std::function<void()>> undo = core.snapshots();
  try {
    return call_and(fn, [&common] { common.commit(); });
  } catch (...) {
    for (const std::function<void()>& one : undo) one();
    common.fail(std::current_exception());
    throw;
  }
}

/// The same for the function of a user, which is tested first.
template <class F>
auto transact(StrategyCore& core, const F& fn, CallSite site) {
  using Call = FunctionCall<const F>;
  static_assert(!Call::refuses(), "transaction calls fn(): write [&] {...}");
  if constexpr (Call::fits()) {
    return restoring_on_failure(core, fn, site);
  } else {
    return Call::no_result();
  }
}

}  // namespace belfry::detail
