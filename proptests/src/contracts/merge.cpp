// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-merge: a merge runs once, after the last arrival and before any replica goes on.
#include "belfry/current.h"
#include "contracts/contract_case.h"

#include <numeric>
#include <thread>
#include <tuple>

namespace belfry::testing {
namespace {

// The round of each replica of this process. Replicas write their own slot; merges read while no
// replica runs.
struct Progress {
  explicit Progress(std::size_t replicas) : arrived(replicas), resumed(replicas) {}

  // Called at the start of the merge of `round`.
  void enter(int round, CrossReplicaContext& cross) {
    ++merged;
    const std::string which = "the merge of round " + std::to_string(round);
    for (int one : arrived) {
      if (one != round) note = which + " ran before all had arrived";
    }
    for (int one : resumed) {
      if (one != round - 1) note = which + " ran after a replica had gone on";
    }
    if (merged != round) note = which + " was merge " + std::to_string(merged);
    if (std::this_thread::get_id() != caller) note = which + " left the thread that called run";
    if (current_cross_replica() != &cross) note = which + " was not in cross-replica context";
  }

  std::vector<int> arrived;
  std::vector<int> resumed;
  int merged = 0;
  std::string note;
  std::thread::id caller = std::this_thread::get_id();
};

// The sum of the values of all replicas. A merge without a reduction in a single process: C-reduce
// has the reductions. Several processes have no runs in merges.
int sum_in_merge(CrossReplicaContext& cross, const PerReplica<int>& values, bool is_one_of_several,
                 std::string& note) {
  if (is_one_of_several) return cross.reduce(ReduceOp::kSum, values).value();
  const auto inner = cross.run(
      [](ReplicaContext& again, int brought) {
        return again.merge_call(
            [](CrossReplicaContext&, const PerReplica<int>& all_brought) {
              return std::accumulate(all_brought.begin(), all_brought.end(), 0);
            },
            brought);
      },
      values);
  for (const int sum : inner) {
    if (sum != inner[0]) note = "a run inside a merge gave replicas different sums";
  }
  return inner[0];
}

}  // namespace

void check_merge(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const int rounds = *rc::gen::inRange(1, 4).as("rounds");
  const std::uint64_t seed = draw_seed();
  ContractFixture fixture(subject, setting);
  Strategy& strategy = fixture.strategy();
  const int replicas = fixture.replicas();
  const std::vector<int>& own = fixture.own();
  const bool is_one_of_several = fixture.is_one_of_several();
  Progress progress(own.size());
  const auto value = [&](int round, int id) {
    return static_cast<int>(mixed_bits(seed, static_cast<std::uint64_t>(round), id) % 1000);
  };
  const auto notes = strategy.run([&](ReplicaContext& replica) -> std::string {
    const int id = replica.replica_id();
    const auto index = static_cast<std::size_t>(id - own.front());
    for (int round = 1; round <= rounds; ++round) {
      // Some replicas wait for their devices before they arrive.
      if (id % 3 == 1) Tensor<float>::full({2}, 1.0F).to_host();
      progress.arrived[index] = round;
      const auto [mine, all, same, sum] = replica.merge_call(
          [&](CrossReplicaContext& cross, const PerReplica<int>& values) {
            progress.enter(round, cross);
            return std::tuple(values, std::vector<int>(values.begin(), values.end()),
                              cross.broadcast(round),
                              sum_in_merge(cross, values, is_one_of_several, progress.note));
          },
          value(round, id));
      progress.resumed[index] = round;
      const std::string who = replica_text(id) + " in round " + std::to_string(round);
      if (current_replica() != &replica || current_cross_replica() != nullptr) {
        return who + " was not the current replica after the merge";
      }
      int expected = 0;
      for (int other = 0; other < replicas; ++other) expected += value(round, other);
      if (all.size() != own.size()) return "the merge got another number of values than replicas";
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (all[i] != value(round, own[i])) {
          return "the merge did not get the replicas' values in replica order";
        }
      }
      if (mine != value(round, id)) return who + " got another replica's part of the result";
      if (same != round) return who + " got another mirrored result";
      if (sum != expected) return who + " got another sum from the merge";
    }
    return {};
  });
  demand(progress.note.empty(), progress.note);
  // A process without replicas listens: the merge function is called in the others.
  demand(progress.merged == (own.empty() ? 0 : rounds),
         std::to_string(progress.merged) + " merges ran in " + std::to_string(rounds) + " rounds");
  demand_nothing(notes);
}

}  // namespace belfry::testing
