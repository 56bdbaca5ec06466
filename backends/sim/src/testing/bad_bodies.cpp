// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "testing/bad_bodies.h"

#include "belfry/belfry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>

namespace belfry::sim::testing {
namespace {

using enum VerdictLevel;
using Clock = std::chrono::steady_clock;

constexpr const char* kNewAnswer = "has a new answer in each run";

// A run of two replicas, with the result of replica 1.
template <class Replica>
double run(Backend& backend, const Replica& replica) {
  MirroredStrategy strategy{backend};
  return strategy.run([&](ReplicaContext& context) -> double { return replica(context); })[1];
}

double id_of(ReplicaContext& replica) { return replica.replica_id(); }

double returns_a_time(Backend& backend) {
  return run(backend, id_of) + static_cast<double>(Clock::now().time_since_epoch().count());
}

// The outcome depends on the clock in one of very many runs.
double stops_after_an_hour(Backend& backend) {
  const Clock::time_point begin = Clock::now();
  const double value = run(backend, id_of);
  return Clock::now() - begin > std::chrono::hours(1) ? -1 : value;
}

// The program logs the longest time.
double measures_a_time(Backend& backend) {
  const Clock::time_point begin = Clock::now();
  const double value = run(backend, id_of);
  static Clock::duration longest;
  longest = std::max(longest, Clock::now() - begin);
  return value;
}

double reads_a_clock_in_replicas(Backend& backend) {
  return run(backend, [](ReplicaContext& replica) {
    return Clock::now() == Clock::time_point() ? -1 : id_of(replica);
  });
}

double counts_its_runs(Backend& backend) {
  static std::atomic<int> runs = 0;
  return run(backend, id_of) + ++runs;
}

double merges_more_often_in_each_run(Backend& backend) {
  static std::atomic<int> runs = 0;
  const int merges = ++runs;
  return run(backend, [&](ReplicaContext& replica) {
    for (int i = 0; i < merges; ++i) replica.merge_call([](CrossReplicaContext&) {});
    return id_of(replica);
  });
}

double changes_the_environment(Backend& backend) {
  static std::atomic<int> runs = 0;
  ::setenv("BELFRY_BAD_BODY", std::to_string(++runs).c_str(), 1);
  return run(backend, [](ReplicaContext&) { return std::atof(std::getenv("BELFRY_BAD_BODY")); });
}

double draws_and_ignores(Backend& backend) {
  std::random_device device;
  return run(backend, id_of) + (device() < device.min() ? 1 : 0);
}

double draws_in_replicas(Backend& backend) {
  return run(backend,
             [](ReplicaContext& replica) { return std::rand() < 0 ? -1 : id_of(replica); });
}

double locks(Backend& backend) {
  std::mutex mutex;
  double sum = 0;
  run(backend, [&](ReplicaContext& replica) {
    const std::lock_guard lock(mutex);
    sum += replica.replica_id();
    return 0;
  });
  return sum;
}

double adds_atomically(Backend& backend) {
  std::atomic<int> sum = 0;
  run(backend, [&](ReplicaContext& replica) {
    sum += replica.replica_id();
    return 0;
  });
  return sum;
}

double leaves_work(Backend& backend) {
  const auto stream = backend.device(0).create_stream();
  const float one = 1;
  stream->write(view_of(backend.device(0).allocate(4, *stream), DType::kFloat32), &one);
  return 1;
}

double leaves_work_that_fails(Backend& backend) {
  Device& device = backend.device(0);
  const auto stream = device.create_stream();
  const BufferView never_written = view_of(device.allocate(4, *stream), DType::kFloat32);
  stream->copy(view_of(device.allocate(4, *stream), DType::kFloat32), never_written);
  return 1;
}

double throws_a_number(Backend& backend) {
  return run(backend, [](ReplicaContext& replica) {
    if (replica.replica_id() == 1) throw 7;
    return id_of(replica);
  });
}

double keeps_tensors(Backend& backend) {
  static std::array<Tensor<float>, 2> kept;
  MirroredStrategy strategy{backend};
  const auto values = strategy.run([&](ReplicaContext& replica) {
    auto& mine = kept[static_cast<std::size_t>(replica.replica_id())];
    mine = Tensor<float>::full(Shape{2}, 3.0F);
    return static_cast<double>(mine.to_host()[1]);
  });
  return values[1];
}

double uses_an_address(Backend& backend) {
  static std::atomic<int> runs = 0;
  const std::unique_ptr<char[]> other(new char[1000 + 500 * static_cast<std::size_t>(++runs)]);
  return run(backend, id_of) + static_cast<double>(reinterpret_cast<std::uintptr_t>(other.get()));
}

}  // namespace

std::vector<BadBody> bodies_without_repeats() {
  return {
      {"returns a time", returns_a_time, kNone, kNone, "the outcomes are", "the outcomes are"},
      {"stops after an hour", stops_after_an_hour, kNone, kSampled, "the outcomes are"},
      {"measures a time", measures_a_time, kCertified, kSampled, "the clock std::chrono::steady"},
      {"reads a clock in replicas", reads_a_clock_in_replicas, kCertified, kSampled,
       "the clock std::chrono::steady"},
      {"counts its runs", counts_its_runs, kNone, kNone, "the outcomes are", "the outcomes are"},
      {"merges more often in each run", merges_more_often_in_each_run, kNone, kNone,
       "two runs of one schedule differ: operation 6 differs",
       "two runs of one schedule differ: operation 6 differs"},
      {"changes the environment", changes_the_environment, kNone, kNone,
       "two runs of one schedule differ", "two runs of one schedule differ"},
      {"uses an address", uses_an_address, kNone, kNone, "the outcomes are", "the outcomes are"},
      {"draws and ignores the value", draws_and_ignores, kSampled, kSampled, kNewAnswer},
      {"draws in replicas", draws_in_replicas, kSampled, kSampled, "rand"},
      {"locks", locks, kRacy, kSampled, "a replica uses a lock"},
      {"adds atomically", adds_atomically, kSampled, kSampled, "atomic object"},
  };
}

std::vector<BadBody> bodies_with_mistakes() {
  return {
      {"leaves work", leaves_work, kCertified, kSampled, "every schedule has this outcome"},
      {"leaves work that fails", leaves_work_that_fails, kSampled, kSampled, "failed",
       "no device work fails"},
      {"throws a number", throws_a_number, kCertified, kSampled, "an exception of a type without",
       "an exception of a type without"},
      {"keeps tensors", keeps_tensors, kCertified, kSampled, "every schedule has this outcome"},
  };
}

}  // namespace belfry::sim::testing
