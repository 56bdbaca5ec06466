// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <string>
#include <string_view>

namespace belfry {

/// How `run` runs the replicas.
struct RunOptions {
  /// False asks for the serial schedule: replica 0 runs to its next merge, then replica 1, and so
  /// on. Slower with threads, and the same order in each run, for debugging.
  bool concurrent = true;
  /// The call of `run`, for messages.
  CallSite site = CallSite::here();
};

/// `{.concurrent = false}` or `{}`.
std::string to_string(const RunOptions& options);

/// How `update` and `update_each` change the components of a variable.
struct UpdateOptions {
  /// Whether the function changes the components themselves and not copies. A tensor without a
  /// second handle then needs no second memory; but after an exception the variable has no value,
  /// and every use throws (SEM-42).
  bool in_place = false;
  /// Whether the function sets whole components, and reads no old value: the variable may be
  /// without a value, for example after an exception in place.
  bool anew = false;
  /// The call, for messages.
  CallSite site = CallSite::here();
};

/// `{.in_place = true}` or `{}`.
std::string to_string(const UpdateOptions& options);

/// Names a merge, or a variable that replicas make: `replica.all_reduce(MergeTag{name},
/// ReduceOp::kSum, gradient)`. The name takes the place of the call site: merges with equal names
/// meet at any line, and merges with different names never meet (SEM-132). The text is not copied:
/// pass a literal, a string that outlives the call, or a temporary of the same expression.
struct MergeTag {
  std::string_view name{};           ///< Of the merge or the variable.
  CallSite site = CallSite::here();  ///< The call, for messages.
};

/// `"weight"`: the name of the tag, in quotes.
std::string to_string(const MergeTag& tag);

namespace detail {
/// The options of an update at a call site, or with options.
inline const UpdateOptions& update_options(const UpdateOptions& options) { return options; }
inline UpdateOptions update_options(CallSite site) { return {.site = site}; }

template <>
inline constexpr bool kPrints<MergeTag> = true;
template <>
inline constexpr bool kPrints<RunOptions> = true;
template <>
inline constexpr bool kPrints<UpdateOptions> = true;
}  // namespace detail

}  // namespace belfry
