// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "bug.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace belfry::bugs {

std::string to_string(Effect effect) {
  switch (effect) {
    case Effect::kDiverges:
      return "diverges";
    case Effect::kRace:
      return "race";
    case Effect::kError:
      return "error";
    case Effect::kValue:
      return "value";
  }
  return "?";
}

std::vector<Bug> all_bugs() {
  std::vector<Bug> all;
  const auto add = [&all](const char* file, std::vector<Bug> bugs) {
    for (Bug& bug : bugs) {
      bug.file = file;
      all.push_back(std::move(bug));
    }
  };
  add("captured_bugs.cpp", captured_bugs());
  add("decision_bugs.cpp", decision_bugs());
  add("stream_bugs.cpp", stream_bugs());
  add("memory_bugs.cpp", memory_bugs());
  add("matching_bugs.cpp", matching_bugs());
  add("value_bugs.cpp", value_bugs());
  std::ranges::sort(all, {}, &Bug::number);
  return all;
}

std::vector<ExcludedBug> excluded_bugs() {
  const std::string all_parts = "a collective is a single call with the parts of all members";
  const std::string no_wait = "work never waits for a place in a queue or on a device";
  return {
      {11, "a call on a group without the caller", all_parts},
      {12, "members of a group in different orders",
       "a communicator is made once, for all members"},
      {13, "two communicators in opposite orders", no_wait},
      {15, "a launch for several devices without a group", all_parts},
      {16, "a host wait between the launches of a group", all_parts},
      {17, "sends before receives on both sides", "the interface has no sends and receives"},
      {19, "a collective behind a full queue", no_wait},
      {20, "a replica that never goes on", "a run without an end has no outcome to compare"},
      {38, "a count beyond 32 bits", "sizes have 64 bits, and gigabytes of data exceed a test"},
      {58, "a replica dies inside a collective",
       "devices of the simulator do not fail by themselves"},
      {59, "a communicator destroyed in use", "enqueued work outlives its communicator"},
      {60, "a lock around a collective",
       "replicas are fibers of a thread: the lock stops the thread"},
  };
}

}  // namespace belfry::bugs
