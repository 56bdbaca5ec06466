// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/verdict_json.h"

#include <nlohmann/json.hpp>

namespace belfry::sim {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ScheduleOutcome& outcome) {
  return {{"outcome", outcome.outcome},
          {"token", outcome.token},
          {"departures", outcome.departures},
          {"threw", outcome.threw}};
}

Json json_of(const Condition& condition) {
  return {{"name", condition.name}, {"holds", condition.holds}, {"evidence", condition.evidence}};
}

Json json_of(const RaceSide& side) {
  return {{"agent", side.agent},   {"operation", side.operation},
          {"writes", side.writes}, {"begin", side.begin},
          {"end", side.end},       {"place", side.place}};
}

Json json_of(const Race& race) {
  return {{"subject", race.subject},
          {"missing", race.missing},
          {"first", json_of(race.first)},
          {"second", json_of(race.second)}};
}

template <class T>
Json list_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}

}  // namespace

std::string verdict_json(std::string_view name, const Verdict& verdict) {
  const VerdictReport& report = verdict.report();
  const Json line = {{"name", std::string(name)},
                     {"level", to_string(report.level)},
                     {"schedules", report.schedules},
                     {"difference", report.difference},
                     {"notes", report.notes},
                     {"outcomes", list_of(report.outcomes)},
                     {"conditions", list_of(report.conditions)},
                     {"races", list_of(report.races)}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace belfry::sim
