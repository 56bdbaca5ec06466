// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs with a mistake, and the tools that find the mistake: docs/debugging.md.
#include <belfry/belfry.h>
#include <belfry/sim/backend.h>
#include <belfry/sim/log.h>
#include <belfry/sim/timeline.h>
#include <belfry/tensor_ops.h>
#include <belfry/trace.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>

using namespace belfry;

namespace {

// [program]
double last_loss(sim::Backend& backend) {
  MirroredStrategy strategy{backend};
  double last = 0;
  strategy.run([&](ReplicaContext& replica) {
    const double loss = 1.0 + replica.replica_id();
    last = loss;  // The mistake: both replicas write, and the later one counts.
    replica.all_reduce(ReduceOp::kSum, loss);
  });
  return last;
}
// [program]

std::string search() {
  // [search]
  for (std::uint64_t seed = 0;; ++seed) {
    sim::Backend backend{{.devices = 2, .seed = seed}};
    if (last_loss(backend) == 2) continue;
    std::cout << "seed " << seed << ": " << backend.replay_token() << '\n';
    return backend.replay_token();
  }
  // [search]
}

void replay(const std::string& token) {
  // [replay]
  sim::Backend backend{
      {.devices = 2, .schedule = sim::Schedule::replay(token), .carrier = sim::Carrier::kBaton}};
  std::cout << "the last loss is " << last_loss(backend) << '\n';
  // [replay]
}

// [step]
void step(sim::Backend& backend, float rate) {
  MirroredStrategy strategy{backend};
  auto weight =
      strategy.mirrored_variable([] { return Tensor<float>::full({2}, 1.0F); }, {.name = "weight"});
  strategy.run([&](ReplicaContext& replica) {
    const auto gradient = multiply(weight.on(replica), 1.0F + replica.replica_id());
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients) {
          const auto mean = cross.reduce(ReduceOp::kMean, gradients);
          cross.update(
              weight,
              [&](Tensor<float>& w, const Tensor<float>& g) { w = subtract(w, multiply(g, rate)); },
              mean);
        },
        gradient);
  });
  strategy.read(weight).to_host();
}
// [step]

void compare_logs() {
  // [compare]
  sim::Backend before{{.devices = 2}};
  step(before, 0.5F);
  sim::Backend after{{.devices = 2}};
  step(after, 0.25F);
  if (const auto difference = compare(before.log(), after.log())) std::cout << difference->text;
  // [compare]
}

void look() {
  // [look]
  TraceFile trace{"step.jsonl"};
  sim::Backend backend{{.devices = 2, .schedule = sim::Schedule::fixed()},
                       sim::Attachments{.trace = &trace}};
  step(backend, 0.5F);
  std::cout << sim::timeline(trace);
  // In a shell: belfry explain step.jsonl, belfry view step.jsonl
  // [look]
}

// Lines of the program are `debugging.cpp:12` here, wherever the program was compiled.
void print_lines(const std::string& path) {
  std::ifstream in(path);
  const std::string folder = std::string(__FILE__).substr(0, std::string(__FILE__).rfind('/') + 1);
  for (std::string line; std::getline(in, line);) {
    for (std::size_t at = line.find(folder); at != std::string::npos; at = line.find(folder)) {
      line.erase(at, folder.size());
    }
    std::cout << line << '\n';
  }
}

void write_trace() {
  // [trace]
  TraceFile trace{"sum.jsonl", {.program = "sum"}};
  {
    sim::Backend backend{{.devices = 2, .schedule = sim::Schedule::fixed()},
                         sim::Attachments{.trace = &trace}};
    MirroredStrategy strategy{backend};
    const auto sums = strategy.run([](ReplicaContext& replica) {
      const auto x = Tensor<float>::full({2}, 1.5F + replica.replica_id());
      return replica.all_reduce(ReduceOp::kSum, x);
    });
    sums[0].to_host();
  }
  trace.close();
  // [trace]
  print_lines(trace.path());
}

void race(const std::string& carrier) {
  sim::Options options{.devices = 2};
  if (carrier == "concurrent") options.carrier = sim::Carrier::kConcurrent;
  sim::Backend backend{options};
  last_loss(backend);
}

void stall() {
  // [stall]
  sim::Backend backend{{.devices = 2, .carrier = sim::Carrier::kBaton}};
  MirroredStrategy strategy{backend};
  std::mutex mutex;
  strategy.run([&](ReplicaContext& replica) {
    const std::scoped_lock lock{mutex};
    replica.all_reduce(ReduceOp::kSum, 1.0);  // The mistake: this replica still has the lock.
  });
  // [stall]
}

}  // namespace

// Without arguments every part of the page runs that ends; with a replay token the failing case
// alone, on threads; with `stall` the program that stands still; with the name of a carrier the
// program with the race, once.
int main(int argc, char** argv) {
  const std::string argument = argc > 1 ? argv[1] : "";
  if (argument.starts_with("bf1.")) {
    replay(argument);
  } else if (argument == "stall") {
    stall();
  } else if (!argument.empty()) {
    race(argument);
  } else {
    std::cout << "== search\n";
    const std::string token = search();
    std::cout << "== replay\n";
    replay(token);
    std::cout << "== compare\n";
    compare_logs();
    std::cout << "== look\n";
    look();
    std::cout << "== trace\n";
    write_trace();
  }
}
