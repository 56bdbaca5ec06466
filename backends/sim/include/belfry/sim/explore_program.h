// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_call.h"
#include "belfry/detail/prints.h"
#include "belfry/sim/body_result.h"
#include "belfry/sim/options.h"
#include "belfry/sim/verdict.h"
#include "belfry/sim/watch_compiler.h"

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace belfry::sim {

/// A backend that an explored program has made, and the verdict about its schedules.
struct JudgedBackend {
  CallSite site{};      ///< The line that makes the backend.
  Options options{};    ///< The options of the constructor.
  Verdict verdict{{}};  ///< About all schedules of the backend.
};

/// `train.cpp:12: CERTIFIED`.
std::string to_string(const JudgedBackend& judged);

namespace detail {

std::vector<JudgedBackend> explore_program(const std::function<BodyResult()>& program,
                                           WatchCompiler compiler);

}  // namespace detail

/// Answers for a program that makes its backends itself, for example a whole test, whether each
/// backend has the same outcome in every schedule (SEM-198).
///
///     for (const sim::JudgedBackend& judged : sim::explore_program(train_on_two_backends)) {
///       std::cout << to_string(judged.site) << ": " << to_string(judged.verdict) << '\n';
///     }
///
/// The verdict about a backend is that of `explore` with the options of its constructor, for the
/// program as the body; all further backends keep their own schedules meanwhile. The verdicts are
/// in the order of the making. If every verdict is kCertified, the program has the same outcome
/// whatever the schedules of all its backends.
/// The program makes the same backends on the calling thread in each run. A backend with a Chooser
/// or an observer of the program's own has the level kNone.
/// Order: blocks the caller for a run, and for the runs of an `explore` for each backend.
/// Throws: nothing of the program: its exceptions are outcomes.
template <class Program>
std::vector<JudgedBackend> explore_program(Program&& program) {
  using Call = belfry::detail::FunctionCall<std::remove_reference_t<Program>>;
  static_assert(!Call::refuses(), "explore_program calls program(): write [&] {...}");
  if constexpr (!Call::fits()) {
    return std::vector<JudgedBackend>();
  } else if constexpr (std::is_void_v<belfry::detail::ResultOf<Call>>) {
    return detail::explore_program(
        [&] {
          program();
          return BodyResult{.text = "nothing"};
        },
        detail::kWatchCompiler);
  } else {
    using Result = std::decay_t<belfry::detail::ResultOf<Call>>;
    static_assert(detail::has_bits<Result>() || std::equality_comparable<Result>,
                  "the result of the program is compared between schedules: return numbers, texts, "
                  "a type with ==, or nothing");
    return detail::explore_program([&] { return detail::result_of<Result>(program()); },
                                   detail::kWatchCompiler);
  }
}

using belfry::operator<<;

}  // namespace belfry::sim
