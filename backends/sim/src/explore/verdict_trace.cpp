// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/verdict_trace.h"

#include "belfry/sim/verdict_json.h"

namespace belfry::sim {
namespace {

// Of two outcomes the schedule with departures from the serial schedule, else the judged schedule.
// Empty if no token repeats the schedule, or if the body must not run again.
std::string shown_schedule(const VerdictReport& report) {
  if (report.outcomes.empty() || report.level == VerdictLevel::kNone) return {};
  if (!report.conditions.empty() && !report.conditions.front().holds) return {};
  const bool is_second = report.outcomes.size() > 1 && report.outcomes[0].departures.empty();
  return report.outcomes[is_second ? 1 : 0].token;
}

}  // namespace

void VerdictTrace::write(const Verdict& verdict, Options options, const ExploredBody& body,
                         const CallSite& site) const {
  const std::string token = shown_schedule(verdict.report());
  const bool fails =
      verdict.level() == VerdictLevel::kRefuted || verdict.level() == VerdictLevel::kRacy;
  const bool asks = trace_ == nullptr && source_ != nullptr && fails;
  if (token.empty() || (trace_ == nullptr && !asks)) return;
  TraceFile* const trace = asks ? source_->next() : trace_;
  if (trace == nullptr) return;
  options.schedule = Schedule::replay(token);
  {
    const BodyRun run(explored(options), {.trace = trace}, body, Scrutiny::kNothing);
  }
  trace->add_verdict(verdict_json(belfry::to_string(site), verdict));
  if (asks) source_->ended(*trace, to_string(options));
}

}  // namespace belfry::sim
