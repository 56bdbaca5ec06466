// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "contracts/program_outcomes.h"

#include <algorithm>
#include <utility>

namespace belfry::testing {
namespace {

// The first difference between two outcomes.
std::string difference(const Outcome& got, const Outcome& wanted) {
  const auto ended = [](const Outcome& outcome) {
    return outcome.failed ? "failed with " + to_string(outcome.code) : std::string("ended well");
  };
  if (got.failed != wanted.failed || got.code != wanted.code) {
    return "the program " + ended(got) + ", where the model " + ended(wanted);
  }
  if (got.thrower != wanted.thrower) return "the exception of another replica came out";
  if (got.places != wanted.places) return "the report names other places";
  if (got.merge_sites != wanted.merge_sites) {
    return "the merges at lines " + text_of(got.merge_sites) + " ran, where the model runs " +
           text_of(wanted.merge_sites);
  }
  for (std::size_t id = 0; id < wanted.replicas.size(); ++id) {
    if (got.replicas[id] == wanted.replicas[id]) continue;
    return replica_text(static_cast<int>(id)) + " computed something else than the model";
  }
  if (!got.mirrored.agree) return "the components of a mirrored variable differ";
  return "a mirrored variable holds something else than in the model";
}

// An outcome with zeros for all values, for strategies without exact values.
Outcome without_values(Outcome outcome) {
  const auto clear = [](std::vector<float>& row) { std::ranges::fill(row, 0.0F); };
  for (ReplicaTrace& trace : outcome.replicas) {
    std::ranges::for_each(trace.rows, clear);
    clear(trace.local);
  }
  MirroredValues& mirrored = outcome.mirrored;
  for (auto* row : {&mirrored.host, &mirrored.tensor, &mirrored.by_sum, &mirrored.by_mean,
                    &mirrored.by_first}) {
    clear(*row);
  }
  return outcome;
}

}  // namespace

void demand_outcome(const ContractSubject& subject, Outcome got, Outcome wanted,
                    const std::string& when) {
  if (subject.tolerance() > 0) {
    got = without_values(std::move(got));
    wanted = without_values(std::move(wanted));
  }
  demand(got == wanted, when + ": " + difference(got, wanted));
}

}  // namespace belfry::testing
