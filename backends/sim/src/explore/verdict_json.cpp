// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/verdict_json.h"

#include "belfry/detail/json.h"

#include <concepts>
#include <string>
#include <vector>

namespace belfry::sim {
namespace {

std::string json_of(const std::string& text) { return belfry::detail::json_string(text); }
std::string json_of(bool value) { return value ? "true" : "false"; }
template <std::integral T>
std::string json_of(T value) {
  return std::to_string(value);
}

// The members of an object, in the order of the calls.
class Object {
 public:
  Object& with(const char* name, const std::string& json) {
    text_ += (text_.empty() ? "\"" : ",\"") + std::string(name) + "\":" + json;
    return *this;
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

std::string json_of(const ScheduleOutcome& outcome);
std::string json_of(const Condition& condition);
std::string json_of(const RaceSide& side);
std::string json_of(const Race& race);

template <class T>
std::string json_of(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += (text.size() > 1 ? "," : "") + json_of(value);
  return text + "]";
}

std::string json_of(const ScheduleOutcome& outcome) {
  return Object()
      .with("outcome", json_of(outcome.outcome))
      .with("token", json_of(outcome.token))
      .with("departures", json_of(outcome.departures))
      .with("threw", json_of(outcome.threw))
      .text();
}

std::string json_of(const Condition& condition) {
  return Object()
      .with("name", json_of(condition.name))
      .with("holds", json_of(condition.holds))
      .with("evidence", json_of(condition.evidence))
      .text();
}

std::string json_of(const RaceSide& side) {
  return Object()
      .with("agent", json_of(side.agent))
      .with("operation", json_of(side.operation))
      .with("writes", json_of(side.writes))
      .with("begin", json_of(side.begin))
      .with("end", json_of(side.end))
      .with("place", json_of(side.place))
      .text();
}

std::string json_of(const Race& race) {
  return Object()
      .with("subject", json_of(race.subject))
      .with("missing", json_of(race.missing))
      .with("first", json_of(race.first))
      .with("second", json_of(race.second))
      .text();
}

}  // namespace

std::string verdict_json(std::string_view name, const Verdict& verdict) {
  const VerdictReport& report = verdict.report();
  return Object()
      .with("name", json_of(std::string(name)))
      .with("level", json_of(std::string(to_string(report.level))))
      .with("schedules", json_of(report.schedules))
      .with("difference", json_of(report.difference))
      .with("notes", json_of(report.notes))
      .with("outcomes", json_of(report.outcomes))
      .with("conditions", json_of(report.conditions))
      .with("races", json_of(report.races))
      .text();
}

}  // namespace belfry::sim
