// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/testing/arbitrary.h"
#include "belfry/testing/mutations.h"
#include "belfry/testing/replica_programs.h"

#include <vector>

// Properties that strategies with a single replica share with all others (INV-14).
namespace belfry::testing {

/// The error codes of programs with mistakes.
inline std::vector<ErrorCode> codes_of_mistakes(Strategy& strategy) {
  std::vector<ErrorCode> codes;
  const auto refused = [&](const auto& body) {
    ErrorCode code = ErrorCode::kInternal;
    try {
      strategy.run(body);
    } catch (const Error& error) {
      code = error.code();
    }
    codes.push_back(code);
  };
  const auto silent = strategy.mirrored_variable(1.0F);
  refused([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kMean, 1); });
  refused([](ReplicaContext& replica) { replica.all_reduce(ReduceOp::kSum, true); });
  refused([&](ReplicaContext& replica) { replica.assign(silent, 2.0F); });
  refused([&](ReplicaContext&) { strategy.read(silent); });
  refused([&](ReplicaContext& replica) {
    replica.merge_call([&](CrossReplicaContext&) { replica.all_reduce(ReduceOp::kSum, 1); });
  });
  refused([&](ReplicaContext&) { strategy.replica_local_variable(Aggregation::kNone, 1.0F); });
  return codes;
}

/// Whether the outcomes of the program, and of the program with each possible fault of a single
/// replica, are the model's.
inline bool obeys_the_model(Strategy& strategy, const ReplicaProgram& program) {
  if (run_program(strategy, program) != predict(program, 1)) return false;
  for (MutationKind kind : all_mutations()) {
    for (int round = 0; round < static_cast<int>(program.rounds.size()); ++round) {
      const Mutation mutation{kind, 0, round};
      if (!applies(mutation, program, 1)) continue;
      const ReplicaProgram faulty = mutated(program, mutation, 1);
      if (run_program(strategy, faulty) != predict(faulty, 1)) return false;
    }
  }
  return true;
}

}  // namespace belfry::testing
