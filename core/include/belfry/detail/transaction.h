// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/round_members.h"
#include "belfry/detail/strategy_core.h"

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace belfry::detail {

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

/// Calls `fn`. If `fn` throws, in whichever process, restores all variables: those of all processes
/// keep their new components, or none does (SEM-236).
template <class F>
auto restoring_on_failure(StrategyCore& core, const F& fn, CallSite site) {
  const std::unique_ptr<MembersTransaction> common = core.members().begin_transaction(site);
  const std::vector<std::function<void()>> undo = core.snapshots();
  try {
    return call_and(fn, [&common] { common->commit(); });
  } catch (...) {
    for (const std::function<void()>& one : undo) one();
    common->fail(std::current_exception());
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
