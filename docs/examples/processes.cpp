// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The program of the page on several hosts, with all hosts in one process: as a simulated cluster,
// and as threads.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/cluster.h>
#include <belfry/sim/timeline.h>
#include <belfry/testing/thread_group.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace belfry;

namespace {

// [train]
std::string train(Backend& backend, ProcessGroup& group) {
  MultiWorkerMirroredStrategy strategy{backend, group};
  const PerReplica<double> sums = strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, 1.0 + replica.replica_id());
  });
  std::ostringstream text;
  text << "process " << group.rank();
  for (const double sum : sums) text << ", sum " << sum;  // Of the replicas of this process.
  return text.str();
}
// [train]

void run_hosts() {
  std::cout << "== hosts\n";
  // [hosts]
  std::vector<std::string> texts(3);
  sim::Cluster cluster{{.devices_of = {2, 1, 1}, .seed = 7}};
  cluster.run(
      [&](sim::Host& host) { texts[host.group().rank()] = train(host.backend(), host.group()); });
  for (const std::string& text : texts) std::cout << text << '\n';
  // [hosts]
}

void stop_a_host() {
  std::cout << "== fault\n";
  // [fault]
  sim::Cluster cluster{{.hosts = 3, .seed = 7, .faults = {{.host = 1, .call = 2}}}};
  try {
    cluster.run([](sim::Host& host) { train(host.backend(), host.group()); });
  } catch (const ProcessLostError& error) {
    std::cout << error.what() << '\n';
  }
  // [fault]
}

void stop_a_host_at_each_call() {
  std::cout << "== calls\n";
  // [calls]
  bool is_lost = true;
  for (int call = 1; is_lost; ++call) {
    sim::Cluster cluster{{.hosts = 3, .seed = 7, .faults = {{.host = 1, .call = call}}}};
    int sums = 0;
    is_lost = false;
    try {
      cluster.run([&](sim::Host& host) {
        train(host.backend(), host.group());
        ++sums;  // Not reached by a host that stops or throws.
      });
    } catch (const ProcessLostError&) {
      is_lost = true;
    }
    if (sums != (is_lost ? 0 : 3)) std::cout << "call " << call << ": " << sums << " sums\n";
  }
  std::cout << "all hosts have the sum, or none has\n";
  // [calls]
}

void show_the_log() {
  std::cout << "== log\n";
  // [log]
  TraceFile trace{"hosts.jsonl"};
  sim::Cluster cluster{{.hosts = 2, .schedule = sim::Schedule::fixed()}, trace};
  cluster.run([](sim::Host& host) { train(host.backend(), host.group()); });
  std::cout << sim::timeline(trace, {.max_rows = 14});
  // [log]
}

}  // namespace

int main() {
  run_hosts();
  stop_a_host();
  stop_a_host_at_each_call();
  show_the_log();
  std::cout << "== threads\n";
  // [processes]
  std::vector<std::string> texts(2);
  belfry::testing::run_processes(2, [&](ProcessGroup& group) {
    sim::Backend backend{{.devices = 2}};
    texts[group.rank()] = train(backend, group);
  });
  for (const std::string& text : texts) std::cout << text << '\n';
  // [processes]
}
