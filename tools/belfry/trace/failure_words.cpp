// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/failure_words.h"

#include "trace/step_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace belfry::tool {
namespace {

std::string words_of(const TraceFailure& failure) {
  std::vector<std::string> lines;
  lines.reserve(failure.lines.size());
  for (const std::string& line : failure.lines) lines.push_back(short_line(line));
  std::string text = failure.text.starts_with(failure.code) ? "" : failure.code + " ";
  text += failure.text;
  while (text.ends_with('\n')) text.pop_back();
  const auto at = [](const std::vector<std::string>& texts, std::size_t i) {
    return i < texts.size() && !texts[i].empty() ? "  " + texts[i] : "";
  };
  for (std::size_t i = 0; i < failure.replicas.size(); ++i) {
    text +=
        fmt::format("\n  replica {}{}{}", failure.replicas[i], at(lines, i), at(failure.parts, i));
  }
  if (failure.replicas.empty() && !failure.lines.empty()) text += "\n  at " + lines.front();
  if (!failure.hint.empty()) text += "\n  hint: " + failure.hint;
  if (!failure.code.empty()) text += "\n  more: belfry explain-error " + failure.code;
  return text;
}

std::string text_in(const JsonValue& object, std::string_view name) {
  const JsonValue* const member = object.member(name);
  return member == nullptr ? "" : member->text;
}

// `R1 of run 1: copy in S4 writes, train.cpp:5`.
std::string side_of(const JsonValue& race, std::string_view name) {
  const JsonValue* const side = race.member(name);
  if (side == nullptr) return "";
  const std::string place = text_in(*side, "place");
  return fmt::format("\n    {}: {} {}{}", text_in(*side, "agent"), text_in(*side, "operation"),
                     text_in(*side, "writes") == "true" ? "writes" : "reads",
                     place.empty() ? "" : " at " + short_line(place));
}

std::string words_of_verdict(const JsonValue& verdict) {
  const std::string level = text_in(verdict, "level");
  const std::string runs = text_in(verdict, "schedules");
  std::string text = fmt::format(
      "verdict {} after {} schedules: {}", level, runs,
      level == "RACY" ? "two accesses have no order" : "the outcome depends on the schedule");
  if (const JsonValue* const races = verdict.member("races")) {
    for (const JsonValue& race : races->parts) {
      text += "\n  race on " + text_in(race, "subject") + side_of(race, "first") +
              side_of(race, "second");
      if (const std::string missing = text_in(race, "missing"); !missing.empty()) {
        text += "\n    " + missing;
      }
    }
  }
  if (const JsonValue* const outcomes = verdict.member("outcomes")) {
    for (const JsonValue& outcome : outcomes->parts) {
      text += fmt::format("\n  outcome {}, replayed by {}", text_in(outcome, "outcome"),
                          text_in(outcome, "token"));
      const JsonValue* const departures = outcome.member("departures");
      if (departures == nullptr) continue;
      for (const JsonValue& departure : departures->parts) text += "\n    " + departure.text;
    }
  }
  if (const std::string difference = text_in(verdict, "difference"); !difference.empty()) {
    text += "\n  " + difference;
  }
  return text;
}

// A sentence for each failure of a process, behind its owner.
std::vector<std::string> failures_of(const Trace& trace, const std::string& owner) {
  std::vector<std::string> texts;
  if (trace.failure.has_value()) texts.push_back(owner + words_of(*trace.failure));
  if (trace.verdict.has_value()) {
    const std::string level = text_in(*trace.verdict, "level");
    if (level == "RACY" || level == "REFUTED") {
      texts.push_back(owner + words_of_verdict(*trace.verdict));
    }
  }
  for (const TraceStep& step : trace.steps) {
    if (!step.failed || (trace.failure.has_value() && step.failure.has_value())) continue;
    texts.push_back(fmt::format("{}step {}: {}", owner, step.step, step_words(trace, step)));
    break;  // Later failures follow from the first.
  }
  return texts;
}

void add_places(const Trace& trace, const std::string& owner, std::vector<std::string>& lines) {
  std::map<std::pair<std::int64_t, std::int64_t>, const TraceStep*> last;  // By host and index.
  for (const TraceStep& step : trace.steps) {
    const TraceAgent& agent = trace.agent_of(step);
    const bool cancelled = step.kind == StepKind::kThrow && step.error == "cancelled";
    const bool own = agent.kind == TraceAgent::Kind::kReplica && !step.bookkeeping;
    if (own && !cancelled) last[{agent.host, agent.index}] = &step;
  }
  for (const auto& [replica, step] : last) {
    const bool ended = step->kind == StepKind::kEnd;
    const bool waits = step->kind == StepKind::kArrive;
    lines.push_back(
        fmt::format("{}step {}: {}{}", owner, step->step, step_words(trace, *step),
                    ended ? ", and has no further step" : (waits ? ", where it waits" : "")));
  }
}

std::string owner_in(const TraceJob& job, const Trace& trace) {
  return job.processes.size() > 1 ? fmt::format("process {}: ", trace.process) : "";
}

}  // namespace

std::vector<std::string> failure_lines(const TraceJob& job) {
  std::vector<std::string> texts;
  for (const Trace& trace : job.processes) {
    for (std::string& text : failures_of(trace, owner_in(job, trace))) {
      texts.push_back(std::move(text));
    }
  }
  return texts;
}

std::vector<std::string> place_lines(const TraceJob& job) {
  std::vector<std::string> lines;
  for (const Trace& trace : job.processes) {
    const bool stands = !trace.ended || !failures_of(trace, "").empty();
    const bool whole = static_cast<std::int64_t>(trace.steps.size()) == trace.total;
    if (stands && whole) add_places(trace, owner_in(job, trace), lines);
  }
  return lines;
}

}  // namespace belfry::tool
