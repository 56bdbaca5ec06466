// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/leaving_run.h"

#include "words/with_report.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace belfry::detail {
namespace {

bool names_a_place(const ErrorReport& report) {
  return !report.site.empty() ||
         std::ranges::any_of(report.replicas,
                             [](const ReplicaReport& replica) { return !replica.site.empty(); });
}

// A token of many choices is long: each failed run encodes a single token.
std::exception_ptr with_origin(const std::exception_ptr& thrown, ErrorReport* last,
                               const RunSettings& settings, CallSite site) {
  std::optional<ErrorReport> report = error_report(thrown);
  std::optional<ScheduleReport> schedule;
  if (settings.schedules != nullptr && (report || last != nullptr)) {
    schedule = settings.schedules->schedule();
  }
  if (last != nullptr && schedule) last->schedule = schedule;
  if (!report || (names_a_place(*report) && !schedule)) return thrown;
  if (!names_a_place(*report)) report->site = site;
  if (schedule) report->schedule = std::move(schedule);
  return with_report(thrown, *report);
}

}  // namespace

std::exception_ptr leaving_run(const std::exception_ptr& thrown, ErrorReport* last,
                               const RunSettings& settings, CallSite site) noexcept {
  try {
    return with_origin(thrown, last, settings, site);
  } catch (...) {
    if (last != nullptr) last->schedule.reset();
    return thrown;
  }
}

}  // namespace belfry::detail
