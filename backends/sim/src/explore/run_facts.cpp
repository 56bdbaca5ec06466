// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/run_facts.h"

namespace belfry::sim {
namespace {

using Kind = Observation::Kind;

void note(RunFacts::First& first, const Observation& seen, std::string subject) {
  if (first) return;
  first = std::move(subject) + " by " + to_string(seen.actor);
  if (!seen.site.empty()) *first += ", " + to_string(seen.site);
}

bool is_of_group(const Operation& operation) {
  return operation.kind == OperationKind::kMerge && operation.members != 0;
}

// The number of a buffer has its device above (Allocation::resource).
std::int64_t device_of(const Footprint& whole) {
  return static_cast<std::int64_t>(whole.resource >> 40) - 1;
}

}  // namespace

void RunFacts::add(const Observation& seen) {
  switch (seen.kind) {
    case Kind::kRunBegan:
      ++runs;
      break;
    case Kind::kOperation:
      ++steps;
      if (is_of_group(*seen.operation)) note(grouped, seen, std::string(seen.operation->name));
      break;
    case Kind::kAllocated:
      for (const Footprint& whole : seen.footprints) allocated[device_of(whole)] += whole.end;
      break;
    case Kind::kSubmitted:
      ++work;
      break;
    case Kind::kRecorded:
    case Kind::kWaitQueued:
      ++event_uses;
      break;
    case Kind::kFinished:
      if (seen.failed) note(failed, seen, "work");
      break;
    case Kind::kHostWaited:
      if (seen.failed) note(failed, seen, "a wait");
      break;
    case Kind::kHostRead:
      if (seen.failed) ++failed_reads;
      break;
    case Kind::kQueried:
      note(asked, seen, seen.name.empty() ? "a query" : "a look at the " + std::string(seen.name));
      break;
    case Kind::kForeignMemory:
      if (!seen.done) note(foreign, seen, "a buffer");
      break;
    case Kind::kAbandoned:
      note(abandoned, seen, "a cancellation is swallowed again and again");
      break;
    default:
      break;
  }
}

}  // namespace belfry::sim
