// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Every schedule of a small program, by depth-first search over the answers of a Chooser.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <vector>

// [chooser]
/// A path through the tree of all answers. Each run follows the path as far as it goes, and then
/// takes the first answer everywhere.
class Path final : public belfry::Chooser {
 public:
  Path() { steps_.reserve(kMost); }

  std::uint32_t choose(belfry::ChoiceKind, std::uint32_t count) override {
    if (taken_ == steps_.size()) steps_.push_back({0, count});
    return steps_[taken_++].answer;
  }

  /// The next path: the last answer that can be raised is raised, and the answers after it are
  /// forgotten. False after the last path.
  bool advance() {
    taken_ = 0;
    while (!steps_.empty() && steps_.back().answer + 1 == steps_.back().count) steps_.pop_back();
    if (steps_.empty()) return false;
    steps_.back().answer += 1;
    return true;
  }

 private:
  struct Step {
    std::uint32_t answer;
    std::uint32_t count;
  };
  static constexpr std::size_t kMost = 1000;  // A Chooser must not throw.

  std::vector<Step> steps_;
  std::size_t taken_ = 0;
};
// [chooser]

// [program]
int two_merges(belfry::Backend& backend) {
  belfry::MirroredStrategy strategy(backend);
  const auto results = strategy.run([](belfry::ReplicaContext& replica) {
    const int sum = replica.all_reduce(belfry::ReduceOp::kSum, replica.replica_id() + 1);
    return replica.all_reduce(belfry::ReduceOp::kSum, sum * (replica.replica_id() + 1));
  });
  return results[0];
}
// [program]

// [explore]
void explore(int replicas) {
  Path path;
  std::set<std::string> schedules;
  std::set<int> results;
  int runs = 0;
  do {
    belfry::sim::Backend backend({.devices = replicas}, belfry::sim::Attachments{.chooser = &path});
    results.insert(two_merges(backend));
    schedules.insert(backend.replay_token());
    runs += 1;
  } while (path.advance());
  std::cout << replicas << " replicas: " << runs << " runs, " << schedules.size()
            << " schedules, result";
  for (const int result : results) std::cout << ' ' << result;
  std::cout << '\n';
}
// [explore]

int main() {
  explore(2);
  explore(3);
}
