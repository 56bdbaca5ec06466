// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/strategy_core.h"

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

namespace belfry::detail {

// The verb that a listening process understands.
inline constexpr const char* kBeginTransaction = "transaction: the begin";

/// A transaction of all processes: the variables of all processes keep their new components, or of
/// none (SEM-236).
class ProcessTransaction {
 public:
  /// Order: blocks the host if some process listens. Throws: as ProcessExchange::values.
  ProcessTransaction(StrategyCore& core, CallSite site);
  ProcessTransaction(const ProcessTransaction&) = delete;
  ProcessTransaction& operator=(const ProcessTransaction&) = delete;
  ~ProcessTransaction();

  /// The function has returned. Order: blocks the host until the function has ended in all
  /// processes. Throws: PeerFailedError if the function has thrown in another process;
  /// MergeMismatchError, ProcessLostError.
  void commit();
  /// The function, or `commit`, has thrown. Order: as commit.
  void fail(const std::exception_ptr& thrown) noexcept;

 private:
  ProcessExchange& processes_;
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
  std::optional<ProcessTransaction> common;
  if (core.processes() != nullptr) [[unlikely]] {
    common.emplace(core, site);
  }
  const std::vector<std::function<void()>> undo = core.snapshots();
  try {
    return call_and(fn, [&common] {
      if (common) common->commit();
    });
  } catch (...) {
    for (const std::function<void()>& one : undo) one();
    if (common) common->fail(std::current_exception());
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
