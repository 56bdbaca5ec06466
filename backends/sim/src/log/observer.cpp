// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/observer.h"

namespace belfry::sim {

std::string to_string(const Actor& actor) {
  std::string text = to_string(actor.agent);
  if (actor.run != 0) text += " of run " + std::to_string(actor.run);
  if (actor.host != 0) text += " on host " + std::to_string(actor.host);
  return text;
}

std::string to_string(const StreamItem& item) {
  const AgentId stream{AgentId::Kind::kStream, item.stream};
  return "item " + std::to_string(item.item) + " of " + to_string(stream);
}

std::string to_string(const EventName& event) {
  if (event.number == 0) return "no event";
  return "event " + std::to_string(event.number) + " of " + to_string(event.maker);
}

std::string to_string(const Observation& observation) {
  std::string text = to_string(observation.actor) + " " + to_string(observation.kind);
  if (observation.run != 0) text += " " + std::to_string(observation.run);
  if (!observation.name.empty()) text += " " + std::string(observation.name);
  for (const StreamItem& item : observation.items) text += ", " + to_string(item);
  if (observation.record != 0) text += ", record " + std::to_string(observation.record);
  if (observation.event.number != 0) text += ", " + to_string(observation.event);
  if (!observation.site.empty()) text += ", " + to_string(observation.site);
  return observation.failed ? text + ", failed" : text;
}

const char* to_string(Observation::Kind kind) {
  switch (kind) {
    case Observation::Kind::kRunBegan:
      return "run began";
    case Observation::Kind::kRunEnded:
      return "run ended";
    case Observation::Kind::kOperation:
      return "operation";
    case Observation::Kind::kAllocated:
      return "allocated";
    case Observation::Kind::kSubmitted:
      return "submitted";
    case Observation::Kind::kRecorded:
      return "recorded";
    case Observation::Kind::kWaitQueued:
      return "wait queued";
    case Observation::Kind::kArrived:
      return "arrived";
    case Observation::Kind::kTookEffect:
      return "took effect";
    case Observation::Kind::kReached:
      return "reached";
    case Observation::Kind::kPassed:
      return "passed";
    case Observation::Kind::kFinished:
      return "finished";
    case Observation::Kind::kHostWaits:
      return "host waits";
    case Observation::Kind::kHostWaited:
      return "host waited";
    case Observation::Kind::kHostRead:
      return "host read";
    case Observation::Kind::kQueried:
      return "queried";
    case Observation::Kind::kVariableMade:
      return "made a variable";
    case Observation::Kind::kVariableTaken:
      return "took a variable";
    case Observation::Kind::kCopiedOnWrite:
      return "copied on write";
    case Observation::Kind::kForeignMemory:
      return "shared memory of the program";
    case Observation::Kind::kAbandoned:
      return "was abandoned";
  }
  return "?";
}

}  // namespace belfry::sim
