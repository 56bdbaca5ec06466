// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The extra lab, the starter: docs/labs/one_in_eight.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/explore.h>

#include <array>
#include <cstdint>
#include <iostream>

using namespace belfry;
namespace {

// [report]
/// Reports the loss of replica 0 in three rounds, and returns the latest report. The replica that
/// comes first in a round reports, and replica 1 has nothing to report.
double last_report(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  std::array<bool, 3> is_reported{};
  double report = 0;
  strategy.run([&](ReplicaContext& replica) {
    for (bool& is_done : is_reported) {
      const bool is_first = !is_done;
      is_done = true;
      if (is_first && replica.replica_id() == 0) report = 0.5;
      replica.all_reduce(ReduceOp::kSum, 1);
    }
  });
  return report;
}
// [report]

}  // namespace

int main() {
  std::cout << "== seeds\n";
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    sim::Backend backend{{.devices = 2, .seed = seed}};
    std::cout << (seed > 1 ? " " : "") << last_report(backend);
  }
  std::cout << "\n== verdict\n";
  const sim::Verdict verdict = sim::explore({.devices = 2}, last_report);
  std::cout << to_string(verdict) << '\n';
  for (const sim::ScheduleOutcome& schedule : verdict.report().outcomes) {
    std::cout << "report " << schedule.outcome << '\n';
    for (const std::string& departure : schedule.departures) std::cout << departure << '\n';
  }
}
