// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs whose body breaks a condition in a single way.
#include "belfry/sim/explore.h"
#include "testing/condition_pair.h"

#include <random>
#include <thread>

namespace belfry::sim::testing {
namespace {

double reduced(Backend& backend) {
  return on_two(backend, [](ReplicaContext& replica, int id) {
    return replica.all_reduce(ReduceOp::kSum, id + 1.5);
  });
}

double captured(Backend& backend) {
  double total = 0;
  (void)on_two(backend, [&](ReplicaContext&, int id) {
    total = 10 * total + id + 1;
    return 0;
  });
  return total;
}

// Writes of two streams without an order. Host memory has no part in the result.
double two_streams(Backend& backend) {
  Stream& first = backend.device(0).compute_stream();
  const auto second = backend.device(0).create_stream();
  const BufferView view = view_of(backend.device(0).allocate(4, first), DType::kInt32);
  const int one = 1;
  const int two = 2;
  first.write(view, &one);
  second->write(view, &two);
  first.synchronize();
  int value = 0;
  second->read(&value, view);
  return value;
}

// The schedule of a backend with the seed of the body's.
double on_own_backend(Backend& backend) {
  Backend own{{.devices = 1, .seed = backend.options().seed}};
  return two_streams(own);
}

// A write, by the thread of the body or by a second thread.
double written(Backend& backend, bool by_second_thread) {
  Stream& stream = backend.device(0).compute_stream();
  const BufferView view = view_of(backend.device(0).allocate(4, stream), DType::kInt32);
  const int one = 1;
  const auto write = [&] { stream.write(view, &one); };
  if (by_second_thread) {
    std::thread(write).join();
  } else {
    write();
  }
  int value = 0;
  stream.read(&value, view);
  return value;
}

// The answer 1, unless the device draws one number of very many.
double drawn(bool draws) {
  const unsigned number = draws ? std::random_device()() : 0;
  return number == 7 ? 2 : 1;
}

}  // namespace

ConditionPair body_pair_of(Breach breach) {
  switch (breach) {
    case Breach::kUnrecorded: {
      ConditionPair pair{.name = "Unrecorded",
                         .broken = reduced,
                         .near = reduced,
                         .single_outcome = "hashes cover the operations that are not kept"};
      pair.options.record_limit = 3;
      return pair;
    }
    case Breach::kNewAnswers:
      return {.name = "NewAnswers",
              .broken = [](Backend&) { return drawn(true); },
              .near = [](Backend&) { return drawn(false); },
              .single_outcome = "the outcome is another in one run of very many"};
    case Breach::kInnerExploration:
      return {.name = "InnerExploration", .broken = captured, .near = reduced, .in_a_body = true};
    case Breach::kSecondBackend:
      return {.name = "SecondBackend", .broken = on_own_backend, .near = reduced};
    case Breach::kSecondThread:
      return {.name = "SecondThread",
              .broken = [](Backend& backend) { return written(backend, true); },
              .near = [](Backend& backend) { return written(backend, false); },
              .single_outcome = "the threads of a process have no schedule"};
    case Breach::kDraw:
      return {.name = "Draw",
              .broken =
                  [](Backend&) {
                    detail::note_draw("a library");
                    return 1;
                  },
              .near = [](Backend&) { return 1; },
              .single_outcome = "libraries refuse draws in every schedule"};
    default:
      return {};
  }
}

}  // namespace belfry::sim::testing
