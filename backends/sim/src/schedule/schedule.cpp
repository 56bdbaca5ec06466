// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/schedule.h"

#include "belfry/sim/replay_token.h"

namespace belfry::sim {
namespace {

const char* name_of(ChoiceKind kind) {
  switch (kind) {
    case ChoiceKind::kAgent:
      return "agent";
    case ChoiceKind::kWork:
      return "work";
    case ChoiceKind::kOrder:
      return "order";
  }
  return "?";
}

}  // namespace

std::string to_string(const Choice& choice) {
  return std::string(name_of(choice.kind)) + " " + std::to_string(choice.value) + " of " +
         std::to_string(choice.count);
}

std::string to_string(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kFixed:
      return "fixed";
    case ScheduleKind::kRandom:
      return "random";
    case ScheduleKind::kReplayed:
      return "replayed";
  }
  return "?";
}

Schedule Schedule::fixed() { return {.kind = ScheduleKind::kFixed, .choices = {}}; }

Schedule Schedule::random() { return {.kind = ScheduleKind::kRandom, .choices = {}}; }

Schedule Schedule::replay(std::string_view token, CallSite site) {
  return {.kind = ScheduleKind::kReplayed, .choices = decode_choices(token, site)};
}

std::string to_string(const Schedule& schedule) {
  std::string text = to_string(schedule.kind);
  if (schedule.kind == ScheduleKind::kReplayed) text += " " + encode_choices(schedule.choices);
  return text;
}

}  // namespace belfry::sim
