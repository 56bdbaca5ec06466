// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/belfry.h"
#include "belfry/sim/explore.h"
#include "testing/bad_bodies.h"
#include "testing/worker.h"

#include <memory>
#include <thread>

namespace belfry::sim::testing {
namespace {

using enum VerdictLevel;

const Options kOne{.devices = 1, .seed = 3};

double reduced(Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, replica.replica_id() + 1.5);
  })[0];
}

// Two streams write a number without an order.
double racy(Backend& backend) {
  Stream& first = backend.device(0).compute_stream();
  const auto second = backend.device(0).create_stream();
  const BufferView view = view_of(backend.device(0).allocate(4, first), DType::kFloat32);
  const float one = 1;
  const float two = 2;
  first.write(view, &one);
  second->write(view, &two);
  first.synchronize();
  float value = 0;
  second->read(&value, view);
  return value;
}

double makes_a_backend_in_a_thread(Backend& backend) {
  double value = 0;
  std::thread thread([&] {
    Backend own(kOne);
    value = racy(own);
  });
  thread.join();
  return value + reduced(backend);
}

double has_work_done(Backend& backend) {
  double value = 0;
  worker().does([&] {
    Backend own(kOne);
    value = racy(own);
  });
  return value + reduced(backend);
}

double uses_the_backend_in_a_thread(Backend& backend) {
  double value = 0;
  worker().does([&] { value = reduced(backend); });
  return value;
}

double has_a_thread_beside(Backend& backend) {
  double value = 0;
  std::thread thread([&] { value = 1; });
  const double sum = reduced(backend);
  thread.join();
  return value + sum;
}

double has_a_thread_in_a_replica(Backend& backend) {
  MirroredStrategy strategy{backend};
  return strategy.run([](ReplicaContext& replica) {
    double value = 0;
    std::thread thread([&] { value = replica.replica_id(); });
    thread.join();
    return value;
  })[1];
}

double has_a_worker_beside(Backend& backend) {
  double value = 0;
  worker().starts([&] { value = 1; });
  const double sum = reduced(backend);
  worker().waits();
  return value + sum;
}

// A captured variable is shared: the exploration of the thread must not take the watch away.
double explores_in_a_thread(Backend& backend) {
  worker().does([] { (void)explore(kOne, reduced); });
  double total = 0;
  MirroredStrategy strategy{backend};
  strategy.run([&](ReplicaContext&) { total += 1; });
  return total;
}

}  // namespace

std::vector<BadBody> bodies_with_machines() {
  constexpr const char* kBackend = "a second backend";
  constexpr const char* kThread = "a second thread";
  constexpr const char* kAlone = "not met: the body uses its backend alone";
  return {
      {"makes a backend in a thread", makes_a_backend_in_a_thread, kSampled, kSampled, kBackend,
       kBackend},
      {"has work done", has_work_done, kSampled, kSampled, kBackend, kBackend},
      {"uses the backend in a thread", uses_the_backend_in_a_thread, kSampled, kSampled, kBackend,
       kBackend},
      {"has a thread beside", has_a_thread_beside, kSampled, kSampled, kThread},
      {"has a thread in a replica", has_a_thread_in_a_replica, kSampled, kSampled, kThread},
      {"has a worker beside", has_a_worker_beside, kSampled, kSampled, kThread},
      // The exploration of the thread may begin after the body: the thread is noticed in any case.
      {"explores in a thread", explores_in_a_thread, kRacy, kSampled, kAlone, nullptr},
  };
}

}  // namespace belfry::sim::testing
