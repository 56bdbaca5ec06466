// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Accesses of 32 bytes, which a verdict names, keep the bodies from a certificate whose replicas
// make the accesses, and no other body of the program.
#include <belfry/belfry.h>
#include <belfry/sim/explore.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

void add_eight(float* to, const float* from);
void double_eight();
void add_one(float* to, const float* from);

namespace {

using belfry::sim::VerdictLevel;

// Of each replica.
struct alignas(32) Eight {
  std::array<float, 8> numbers{};
};
using Numbers = std::array<Eight, 2>;

template <class Replica, class Merge>
belfry::sim::Verdict judged(const Replica& replica, const Merge& merge) {
  return belfry::sim::explore({.devices = 2}, [&](belfry::sim::Backend& backend) {
    belfry::MirroredStrategy strategy{backend};
    Numbers numbers{};
    Numbers ones{};
    ones[1].numbers[0] = 1;
    strategy.run([&](belfry::ReplicaContext& context) {
      const auto id = static_cast<std::size_t>(context.replica_id());
      replica(numbers[id].numbers.data(), ones[id].numbers.data());
      context.merge_call([&](belfry::CrossReplicaContext&) {
        merge(numbers[0].numbers.data(), ones[0].numbers.data());
      });
    });
    return numbers[1].numbers[0];
  });
}

// Whether the verdict has the level, and names accesses in `function`; empty: in none.
bool is_as(const belfry::sim::Verdict& verdict, VerdictLevel level, const std::string& function) {
  const std::string text = explain(verdict);
  const std::string sentence = "accesses to vectors of 32 bytes or more in ";
  const bool is_named = text.find(sentence + function) != text.npos;
  const bool same = verdict.level() == level && is_named == !function.empty();
  if (!same) std::printf("wanted: accesses in '%s'\n%s\n", function.c_str(), text.c_str());
  return same;
}

void nothing(float*, const float*) {}
void double_once(float*, const float* from) {
  if (*from > 0) double_eight();
}

}  // namespace

int main() {
  const bool in_replicas = is_as(judged(add_eight, nothing), VerdictLevel::kSampled, "add_eight");
  const bool of_a_variable =
      is_as(judged(double_once, nothing), VerdictLevel::kSampled, "(anonymous namespace)::twice");
  const bool beside = is_as(judged(add_one, nothing), VerdictLevel::kCertified, "");
  const bool in_merges = is_as(judged(add_one, add_eight), VerdictLevel::kCertified, "");
  return in_replicas && of_a_variable && beside && in_merges ? 0 : 1;
}
