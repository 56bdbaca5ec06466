// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The extra lab, the answer: docs/labs/one_in_eight.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/explore.h>

#include <iostream>

using namespace belfry;
namespace {

// [report]
/// Reports the loss of replica 0 in three rounds, and returns the latest report.
double last_report(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  const PerReplica<double> reports = strategy.run([](ReplicaContext& replica) {
    double report = 0;
    for (int round = 0; round < 3; ++round) {
      const double loss = replica.replica_id() == 0 ? 0.5 : 0;
      report = replica.all_reduce(ReduceOp::kSum, loss);
    }
    return report;
  });
  return reports[0];
}
// [report]

}  // namespace

int main() {
  const sim::Verdict verdict = sim::explore({.devices = 2}, last_report);
  std::cout << to_string(verdict) << '\n';
  for (const sim::ScheduleOutcome& schedule : verdict.report().outcomes) {
    std::cout << "report " << schedule.outcome << '\n';
  }
}
