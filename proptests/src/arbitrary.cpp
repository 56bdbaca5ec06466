// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/arbitrary.h"

#include "shrunk_case.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

// The first line of a program's merges; rounds are ten lines apart.
constexpr int kFirstSite = 100;

// Sites follow from the remaining rounds: a shrunk program still has different sites.
ReplicaProgram with_sites(int length, std::vector<Step> rounds) {
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    rounds[i].site = kFirstSite + 10 * static_cast<int>(i);
  }
  return {length, std::move(rounds), {}};
}

// From [0, count), independent of the size of the case: a choice, not an amount.
rc::Gen<int> choice(int count) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, count));
}

// A new case, not a smaller one: the traces of a failing case before are complete.
template <class T>
rc::Gen<T> of_new_case(rc::Gen<T> drawn) {
  return rc::Gen<T>([drawn = std::move(drawn)](const rc::Random& random, int size) {
    end_shrunk_case();
    return drawn(random, size);
  });
}

rc::Gen<Step> step() {
  return rc::gen::map(rc::gen::tuple(choice(kNumStepKinds), choice(2), choice(8)),
                      [](const std::tuple<int, int, int>& drawn) {
                        const auto [kind, residence, amount] = drawn;
                        return Step{static_cast<StepKind>(kind), static_cast<Residence>(residence),
                                    amount};
                      });
}

std::vector<Mutation> mutations_of(const ReplicaProgram& program, int replicas,
                                   const std::vector<MutationKind>& kinds) {
  std::vector<Mutation> all;
  for (int round = 0; round < static_cast<int>(program.rounds.size()); ++round) {
    for (MutationKind kind : kinds) {
      if (applies({kind, 0, round}, program, replicas)) all.push_back({kind, 0, round});
    }
  }
  return all;
}

// The kind is drawn first: rare kinds get an equal share.
rc::Gen<Mutation> any_kind_of(std::vector<Mutation> all, int replicas) {
  std::vector<MutationKind> kinds;
  for (const Mutation& one : all) {
    if (std::ranges::find(kinds, one.kind) == kinds.end()) kinds.push_back(one.kind);
  }
  return rc::gen::mapcat(rc::gen::elementOf(kinds), [all = std::move(all), replicas](auto kind) {
    std::vector<Mutation> some;
    std::copy_if(all.begin(), all.end(), std::back_inserter(some),
                 [&](const Mutation& one) { return one.kind == kind; });
    return rc::gen::map(rc::gen::pair(rc::gen::elementOf(some), choice(replicas)),
                        [](std::pair<Mutation, int> drawn) {
                          drawn.first.replica = drawn.second;
                          return drawn.first;
                        });
  });
}

}  // namespace

rc::Gen<int> device_count(int most) {
  std::vector<int> round_numbers;
  for (int count = 1; count <= most; count *= 2) round_numbers.push_back(count);
  const auto some = rc::gen::weightedOneOf<int>({{6, rc::gen::inRange(1, std::min(most, 6) + 1)},
                                                 {2, rc::gen::inRange(1, std::min(most, 17) + 1)},
                                                 {1, rc::gen::inRange(1, most + 1)},
                                                 {1, rc::gen::elementOf(round_numbers)}});
  // A choice among a few numbers would not shrink by itself.
  return rc::gen::shrink(some, [](int count) { return rc::shrink::towards(count, 1); });
}

rc::Gen<BackendRequest> backend_request(int most_devices) {
  return of_new_case(rc::gen::map(
      rc::gen::tuple(device_count(most_devices), choice(3), choice(8), choice(1 << 20)),
      [](const std::tuple<int, int, int, int>& drawn) {
        const auto [devices, schedule, carrier, seed] = drawn;
        BackendRequest request;
        request.devices = devices;
        request.schedule = schedule == 0 ? ScheduleKind::kFixed : ScheduleKind::kRandom;
        // Threads cost a thousand times as much as fibers.
        const CarrierKind usual = carrier == 6   ? CarrierKind::kBaton
                                  : carrier == 7 ? CarrierKind::kConcurrent
                                                 : CarrierKind::kFiber;
        request.carrier = carrier_of_environment().value_or(usual);
        request.seed = static_cast<std::uint64_t>(seed);
        return request;
      }));
}

rc::Gen<ReplicaProgram> replica_program() {
  return rc::gen::map(
      rc::gen::pair(rc::gen::inRange(1, 6),
                    rc::gen::resize(12, rc::gen::container<std::vector<Step>>(step()))),
      [](std::pair<int, std::vector<Step>> drawn) {
        return with_sites(drawn.first, std::move(drawn.second));
      });
}

std::vector<MutationKind> all_mutations() {
  std::vector<MutationKind> kinds;
  for (int kind = 1; kind < kNumMutationKinds; ++kind) {
    kinds.push_back(static_cast<MutationKind>(kind));
  }
  return kinds;
}

rc::Gen<Mutation> mutation_of(const ReplicaProgram& program, int replicas,
                              const std::vector<MutationKind>& kinds) {
  return any_kind_of(mutations_of(program, replicas, kinds), replicas);
}

rc::Gen<MutatedCase> mutated_case(const std::vector<MutationKind>& kinds, int most_devices) {
  const auto request = rc::gen::suchThat(backend_request(most_devices),
                                         [](const auto& one) { return one.devices > 1; });
  const auto program = rc::gen::suchThat(
      replica_program(), [kinds](const auto& one) { return !mutations_of(one, 2, kinds).empty(); });
  return rc::gen::mapcat(rc::gen::pair(request, program), [kinds](const auto& drawn) {
    const int replicas = drawn.first.devices;
    return rc::gen::map(mutation_of(drawn.second, replicas, kinds),
                        [drawn](const Mutation& mutation) {
                          return MutatedCase{drawn.first, drawn.second, mutation};
                        });
  });
}

void showValue(const BackendRequest& request, std::ostream& out) { out << to_string(request); }
void showValue(const Values& values, std::ostream& out) { out << to_string(values); }
void showValue(const ReplicaProgram& program, std::ostream& out) { out << to_string(program); }
void showValue(const Outcome& outcome, std::ostream& out) { out << to_string(outcome); }
void showValue(const Mutation& mutation, std::ostream& out) { out << to_string(mutation); }
void showValue(const ProgramCase& value, std::ostream& out) {
  out << to_string(value.backend) << '\n' << to_string(value.program);
}
void showValue(const MutatedCase& value, std::ostream& out) {
  out << to_string(value.backend) << '\n'
      << to_string(value.program) << '\n'
      << to_string(value.mutation);
}

}  // namespace belfry::testing

namespace belfry::sim {
void showValue(const Options& options, std::ostream& out) { out << to_string(options); }
}  // namespace belfry::sim

namespace rc {

using belfry::testing::BackendRequest;
using belfry::testing::ProgramCase;
using belfry::testing::Values;

Gen<Values> Arbitrary<Values>::arbitrary() {
  return gen::map(
      gen::resize(kNominalSize, gen::pair(gen::inRange(0, belfry::testing::kNumPatterns),
                                          gen::inRange(0, 1 << 20))),
      [](const std::pair<int, int>& drawn) {
        return Values{static_cast<belfry::testing::Pattern>(drawn.first),
                      static_cast<std::uint64_t>(drawn.second)};
      });
}

Gen<ProgramCase> Arbitrary<ProgramCase>::arbitrary() {
  return gen::map(gen::pair(belfry::testing::backend_request(), belfry::testing::replica_program()),
                  [](std::pair<BackendRequest, belfry::testing::ReplicaProgram> drawn) {
                    return ProgramCase{drawn.first, std::move(drawn.second)};
                  });
}

Gen<belfry::sim::Options> Arbitrary<belfry::sim::Options>::arbitrary() {
  return belfry::testing::of_new_case(gen::map(
      gen::tuple(belfry::testing::device_count(), gen::resize(kNominalSize, gen::inRange(0, 3)),
                 gen::resize(kNominalSize, gen::inRange(0, 1 << 20))),
      [](const std::tuple<int, int, int>& drawn) {
        const auto [devices, schedule, seed] = drawn;
        belfry::sim::Options options;
        options.devices = devices;
        options.schedule =
            schedule == 0 ? belfry::sim::Schedule::fixed() : belfry::sim::Schedule::random();
        options.seed = static_cast<std::uint64_t>(seed);
        options.check_kernels = true;
        return options;
      }));
}

}  // namespace rc
