// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "lessons.h"

#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/timeline.h"
#include "belfry/strategies.h"
#include "digits.h"
#include "shuffle.h"
#include "trainer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <span>

namespace belfry::demo {
namespace {

constexpr int kReplicas = 2;
constexpr std::uint64_t kSeed = 7;

// A file for a trace, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile() {
    const int file = mkstemp(path_.data());
    if (file >= 0) close(file);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "belfry_XXXXXX").string();
};

void print_block(tool::Console& console, const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    console.line("  " + text.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

std::vector<int> reference_example(Backend& backend) {
  MirroredStrategy strategy(backend);
  const PerReplica<int> results = strategy.run(
      [](ReplicaContext& replica, int three) {
        const int v = three + replica.replica_id();
        const int sum = replica.merge_call(
            [](CrossReplicaContext&, const PerReplica<int>& values) {
              return std::accumulate(values.begin(), values.end(), 0);
            },
            v);
        return sum + v;
      },
      3);
  return {results.begin(), results.end()};
}

std::string broken_step(Backend& backend) {
  MirroredStrategy strategy(backend);
  try {
    strategy.run([](ReplicaContext& replica) {
      const int images = replica.replica_id() == 0 ? 1 : 0;
      if (images == 0) return 0;
      return replica.all_reduce(ReduceOp::kSum, images);
    });
  } catch (const MergeMismatchError& error) {
    return describe(error.report());
  }
  return "no error";
}

void trace_first_step(const DemoOptions& options, int replicas, TraceFile& trace) {
  const Digits digits = read_digits(options.file);
  const Split parts = split(digits.count(), options.seed);
  const auto batch = std::min(parts.training.size(), static_cast<std::size_t>(options.batch));
  sim::Backend backend({.devices = replicas, .schedule = sim::Schedule::fixed()},
                       sim::Attachments{.trace = &trace});
  MirroredStrategy strategy(backend);
  Trainer trainer(strategy, digits,
                  {.seed = options.seed,
                   .rate = static_cast<float>(options.rate),
                   .dropped_replica = options.dropped_replica});
  trainer.step_alone(std::span(parts.training).first(batch));
}

void show_lessons(const DemoOptions& options, tool::Console& console) {
  if (console.quiet()) return;
  const DemoBackend demo = make_demo_backend(options.backend, kReplicas, kSeed);

  console.heading("The reference example: v = 3 + id; each returns merge_call(sum of all v) + v");
  console.line(fmt::format("  {} replicas: {}", kReplicas,
                           fmt::join(reference_example(*demo.backend), " ")));

  console.heading("A mistake: replica 1 has no image left and returns before the all_reduce");
  print_block(console, broken_step(*demo.backend));
  console.line(fmt::format("The same devices afterwards: {}",
                           fmt::join(reference_example(*demo.backend), " ")));

  console.heading("The first step of the training on 2 simulated devices, time running down");
  const TemporaryFile file;
  TraceFile trace(file.path());
  trace_first_step(options, kReplicas, trace);
  print_block(console,
              sim::timeline(trace, {.streams = false, .max_elements = 1, .max_width = 25}));
}

}  // namespace belfry::demo
