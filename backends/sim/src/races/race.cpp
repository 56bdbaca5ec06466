// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/race.h"

namespace belfry::sim {

std::string to_string(const RaceSide& side) {
  std::string text = side.agent + ": " + side.operation + (side.writes ? " writes" : " reads");
  if (side.end != 0) {
    text += " bytes " + std::to_string(side.begin) + " to " + std::to_string(side.end);
  }
  return side.place.empty() ? text : text + ", " + side.place;
}

std::string to_string(const Race& race) {
  return "race for " + race.subject + ":\n  " + to_string(race.first) + "\n  " +
         to_string(race.second) + "\n  " + race.missing;
}

}  // namespace belfry::sim
