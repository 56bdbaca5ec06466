// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/leaving_run.h"

#include "words/with_report.h"

#include <algorithm>
#include <new>

namespace belfry::detail {
namespace {

bool names_a_place(const ErrorReport& report) {
  return !report.site.empty() ||
         std::ranges::any_of(report.replicas,
                             [](const ReplicaReport& replica) { return !replica.site.empty(); });
}

std::exception_ptr with_origin(const std::exception_ptr& thrown, const RunSettings& settings,
                               CallSite site) {
  std::optional<ErrorReport> report = error_report(thrown);
  if (!report) return thrown;
  const bool has_place = names_a_place(*report);
  if (has_place && settings.schedules == nullptr) return thrown;
  if (!has_place) report->site = site;
  if (settings.schedules != nullptr) report->schedule = settings.schedules->schedule();
  return with_report(thrown, *report);
}

}  // namespace

void add_schedule(const RunSettings& settings, std::optional<ErrorReport>& report) noexcept {
  if (settings.schedules == nullptr || !report) return;
  try {
    report->schedule = settings.schedules->schedule();
  } catch (const std::bad_alloc&) {
    report->schedule.reset();
  }
}

std::exception_ptr leaving_run(const std::exception_ptr& thrown, const RunSettings& settings,
                               CallSite site) noexcept {
  try {
    return with_origin(thrown, settings, site);
  } catch (...) {
    return thrown;
  }
}

}  // namespace belfry::detail
