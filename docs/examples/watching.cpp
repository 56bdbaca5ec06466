// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The observations of a simulated run.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>

// [observer]
/// Prints who submits work, from which line, and which bytes the work will read and write.
class Printer final : public belfry::sim::Observer {
 public:
  explicit Printer(int first_line) : first_line_(first_line) {}

  void observe(const belfry::sim::Observation& seen) override {
    if (seen.kind != belfry::sim::Observation::Kind::kSubmitted) return;
    std::cout << to_string(seen.actor) << ", line " << seen.site.line - first_line_ << ": "
              << seen.name;
    for (const belfry::Footprint& bytes : seen.footprints) {
      const bool writes = bytes.mode == belfry::AccessMode::kWrite;
      std::cout << (writes ? ", writes " : ", reads ") << bytes.end - bytes.begin << " bytes";
    }
    std::cout << '\n';
  }

 private:
  int first_line_;
};
// [observer]

int main() {
  // clang-format off
  // [use]
  Printer printer(__LINE__);
  belfry::sim::Backend backend({.devices = 2, .schedule = belfry::sim::Schedule::fixed()},
                               belfry::sim::Attachments{.observer = &printer});
  belfry::MirroredStrategy strategy(backend);
  strategy.run([](belfry::ReplicaContext& replica) {
    auto x = belfry::Tensor<float>::full(belfry::Shape{3}, 1.0F);  // Line 5.
    return replica.all_reduce(belfry::ReduceOp::kSum, x);          // Line 6.
  });
  // [use]
  // clang-format on
}
