// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/function_call.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/body_result.h"
#include "belfry/sim/verdict.h"
#include "belfry/sim/watch_compiler.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

namespace belfry::sim {
namespace detail {

/// `compiler` is the compiler of the watched code; a random judged schedule is drawn from
/// `judged_seed`.
Verdict explore(const Options& options, const std::function<BodyResult(Backend&)>& body,
                TraceFile* trace, const CallSite& site, WatchCompiler compiler,
                std::uint64_t judged_seed = 0);

/// Calls its argument once, and refuses draws meanwhile.
using AroundBody = void (*)(const std::function<void()>& call);
/// Called around each run of a body. Null, unless a library for random values has set the function
/// before main.
extern constinit AroundBody around_body;
/// Notes that the running body has drawn a value from `library`. Outside of bodies nothing happens.
void note_draw(std::string_view library);

}  // namespace detail

/// Answers whether a program has the same outcome in every schedule of its replicas and streams
/// (SEM-190 to SEM-195).
///
///     const sim::Verdict verdict = sim::explore({.devices = 2}, [](sim::Backend& backend) {
///       MirroredStrategy strategy{backend};
///       return strategy.run([](ReplicaContext& replica) { return replica.replica_id(); })[1];
///     });
///     std::cout << explain(verdict);
///
/// `body` runs a few times, on a fresh backend each. Its outcome is the value or the exception, and
/// the operations of each agent with their data. Numbers and containers of numbers are compared bit
/// by bit, values of further types by `==`; a body may return nothing. Exceptions of `body` are
/// outcomes, and do not leave `explore`.
/// `body` uses the given backend alone, and does the same in each run: without clocks, without
/// random numbers that no seed decides, without state of earlier runs. Accesses of replicas to host
/// memory are seen in code that `belfry_watch(target)` compiled; without such code no verdict is
/// kCertified.
///
/// Of the options, `devices`, `memory_limit_bytes`, `links`, `stack_bytes`, `functions_of` and
/// `audit_watch` hold in every run. `schedule` names the judged schedule, unless it is random.
/// `seed`, `record`, `digests` and `check_kernels` have no effect (SEM-225): everything is
/// recorded, with all data, and bodies of kernels are checked, so that they run several times, also
/// in replays with `check_kernels`. Replicas run on fibers. `record_limit` counts if it is not the
/// default, which is raised here: a longer run is no base of a certificate.
/// `trace`, if not null, gets a further run, with the verdict: of kRefuted the schedule with
/// departures from the serial schedule, else the judged schedule. It gets nothing if the level is
/// kNone, if the schedule has no token, or if the body must not run twice.
/// Order: blocks the caller for 7 runs with a certificate, at most 24 without, and at most 75 if
/// two schedules differ, for the shortest story about the difference (SEM-195).
/// Throws: InvalidArgumentError, as the constructor of Backend.
template <class Body>
Verdict explore(const Options& options, Body&& body, TraceFile* trace = nullptr,
                CallSite site = CallSite::here()) {
  using Call = belfry::detail::FunctionCall<std::remove_reference_t<Body>, Backend&>;
  static_assert(!Call::refuses(),
                "explore calls body(backend): write [&](sim::Backend& backend) {...}");
  if constexpr (!Call::fits()) {
    return Verdict(VerdictReport{});
  } else if constexpr (std::is_void_v<belfry::detail::ResultOf<Call>>) {
    return detail::explore(
        options,
        [&](Backend& backend) {
          body(backend);
          return BodyResult{.text = "nothing"};
        },
        trace, site, detail::kWatchCompiler);
  } else {
    using Result = std::decay_t<belfry::detail::ResultOf<Call>>;
    constexpr bool kCompared = detail::has_bits<Result>() || std::equality_comparable<Result>;
    static_assert(kCompared,
                  "the result of the body is compared between schedules: return numbers, for "
                  "example tensor.to_host(), a type with ==, or nothing");
    if constexpr (kCompared) {
      return detail::explore(
          options, [&](Backend& backend) { return detail::result_of<Result>(body(backend)); },
          trace, site, detail::kWatchCompiler);
    } else {
      return Verdict(VerdictReport{});
    }
  }
}

}  // namespace belfry::sim
