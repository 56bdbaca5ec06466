// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of docs/verdicts.md: a loss that depends on the order of replicas, the verdict about
// it, a copy that depends on the order of streams, and a program with several backends.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/explore.h>
#include <belfry/sim/explore_program.h>
#include <belfry/tensor_ops.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

using namespace belfry;

// [last]
// Every replica writes its loss to a captured variable.
double last_loss(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  double loss = 0;
  strategy.run([&](ReplicaContext& replica) { loss = 0.5 + replica.replica_id(); });
  return loss;
}
// [last]

// [mean]
// Every replica returns the mean of all losses.
double mean_loss(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  const auto means = strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kMean, 0.5 + replica.replica_id());
  });
  return means[0];
}
// [mean]

// [print]
void print(const sim::Verdict& verdict) {
  std::cout << to_string(verdict) << '\n';
  for (const sim::ScheduleOutcome& schedule : verdict.report().outcomes) {
    std::cout << "result " << schedule.outcome << '\n';
    for (const std::string& departure : schedule.departures) std::cout << departure << '\n';
  }
  for (const sim::Condition& condition : verdict.report().conditions) {
    if (!condition.holds) std::cout << to_string(condition) << '\n';
  }
}
// [print]

// [body]
// A second stream reads the tensor; `waits` decides whether the stream waits for the fill.
float last_of_copy(sim::Backend& backend, bool waits) {
  Device& device = backend.device(0);
  const auto second = device.create_stream();
  const BufferView from = view_of(device.allocate(4, *second), DType::kFloat32);
  const BufferView to = view_of(device.allocate(4, *second), DType::kFloat32);
  const float old = 1.0F;
  const float fresh = 2.0F;
  device.compute_stream().write(from, &old);
  device.compute_stream().synchronize();
  device.compute_stream().write(from, &fresh);
  const auto event = device.create_event();
  device.compute_stream().record(*event);
  if (waits) second->wait(*event);
  second->copy(to, from);
  float value = 0;
  second->read(&value, to);
  return value;
}
// [body]

// [program]
std::vector<double> program() {
  std::vector<double> sums;
  for (const int devices : {2, 3}) {
    sim::Backend backend{{.devices = devices}};
    MirroredStrategy strategy{backend};
    const auto sum = strategy.run(
        [](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 0.5); });
    sums.push_back(sum[0]);
  }
  return sums;
}
// [program]

int main() {
  std::cout << "== seeds\n";
  // [seeds]
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    sim::Backend backend{{.devices = 2, .seed = seed}};
    std::cout << "seed " << seed << ": " << last_loss(backend) << '\n';
  }
  // [seeds]

  std::cout << "== refuted\n";
  // [refuted]
  print(sim::explore({.devices = 2}, last_loss));
  // [refuted]

  std::cout << "== sampled\n";
  // [sampled]
  print(sim::explore({.devices = 2}, mean_loss));
  // [sampled]

  std::cout << "== race\n";
  // [race]
  for (const bool waits : {false, true}) {
    const sim::Verdict verdict = sim::explore(
        {.devices = 1}, [waits](sim::Backend& backend) { return last_of_copy(backend, waits); });
    std::cout << (waits ? "with the wait: " : "without: ") << to_string(verdict) << '\n';
    for (const sim::Race& race : verdict.report().races) std::cout << to_string(race) << '\n';
  }
  // [race]

  std::cout << "== judge\n";
  // [judge]
  for (const sim::JudgedBackend& judged : sim::explore_program(program)) {
    std::cout << judged.options.devices << " devices: " << to_string(judged.verdict) << " of "
              << judged.verdict.report().outcomes[0].outcome << '\n';
  }
  // [judge]
}
