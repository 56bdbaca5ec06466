// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A program with accesses of 32 bytes has no certificate, and a verdict that names the reason.
#include <belfry/belfry.h>
#include <belfry/sim/explore.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

int main() {
  const auto verdict = belfry::sim::explore({.devices = 2}, [](belfry::sim::Backend& backend) {
    belfry::MirroredStrategy strategy{backend};
    std::vector<int> got(2);
    strategy.run([&](belfry::ReplicaContext& replica) {
      got[static_cast<std::size_t>(replica.replica_id())] = 1;
    });
    return got[1];
  });
  const std::string text = explain(verdict);
  std::puts(text.c_str());
  const bool is_named = text.find("accesses to vectors of 32 bytes or more") != text.npos;
  return verdict.level() == belfry::sim::VerdictLevel::kSampled && is_named ? 0 : 1;
}
