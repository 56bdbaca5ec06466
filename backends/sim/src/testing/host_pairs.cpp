// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Programs in watched code that break a condition about host memory in a single way.
#include "belfry/current.h"
#include "belfry/launch.h"
#include "belfry/tensor_ops.h"
#include "testing/condition_pair.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>

namespace belfry::sim::testing {
namespace {

void meet(ReplicaContext& replica) {
  replica.merge_call([](CrossReplicaContext&) {});
}

// Writes memory of the program: cell = 10 * cell + y[0].
struct Note {
  double* cell;
  void on_host(std::span<float> y) const { *cell = 10 * *cell + static_cast<double>(y[0]); }
};

// y = 10 * y.
struct Tenfold {
  void on_host(std::span<float> y) const { y[0] *= 10; }
};

Tensor<float> number(int value) { return Tensor<float>::full(Shape{}, static_cast<float>(value)); }

// A captured variable.
double captured(Backend& backend, bool merges) {
  double total = 0;
  (void)on_two(backend, [&](ReplicaContext& replica, int id) {
    if (merges && id == 1) meet(replica);
    total = 10 * total + id + 1;
    if (merges && id == 0) meet(replica);
    return 0;
  });
  return total;
}

int ascending(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
int descending(const void* a, const void* b) { return ascending(b, a); }

// The C library sorts a captured array, in replicas or in a merge.
double sorted(Backend& backend, bool in_a_merge) {
  std::array<int, 2> numbers{1, 2};
  const auto sort = [&](int id) {
    std::qsort(numbers.data(), numbers.size(), sizeof(int), id == 0 ? ascending : descending);
  };
  (void)on_two(backend, [&](ReplicaContext& replica, int id) {
    if (in_a_merge) {
      replica.merge_call([&](CrossReplicaContext&) { sort(1); });
    } else {
      sort(id);
    }
    return 0;
  });
  return numbers[0];
}

// A replica reads a number that its own kernel writes without a wait; or a number that nobody
// writes.
double read_beside_a_kernel(Backend& backend, bool of_kernel) {
  std::array<std::unique_ptr<double>, 2> cells{std::make_unique<double>(0),
                                               std::make_unique<double>(0)};
  return on_two(backend, [&](ReplicaContext&, int id) {
    double* const cell = cells[static_cast<std::size_t>(id)].get();
    auto y = number(id + 1);
    if (of_kernel) {
      launch(Note{cell}, updates(y));
    } else {
      launch(Tenfold(), updates(y));
    }
    pause(backend, id);
    const double value = *cell;
    (void)y.item();
    return value;
  });
}

// Both replicas try a lock; the replicas of the twin, a lock each.
double tried_locks(Backend& backend, bool in_a_merge) {
  std::mutex mutex;
  int taken = 0;
  const double got = on_two(backend, [&](ReplicaContext& replica, int) {
    if (!in_a_merge) return mutex.try_lock() ? 1 : 0;
    replica.merge_call([&](CrossReplicaContext&) { taken = mutex.try_lock() ? 1 : 0; });
    return 0;
  });
  if (in_a_merge || got != 0) mutex.unlock();
  return got + taken;
}

// The first of two replicas that count gets 0.
double counted(Backend& backend, bool merges) {
  std::atomic<int> count = 0;
  return on_two(backend, [&](ReplicaContext& replica, int id) {
    if (merges && id == 1) meet(replica);
    const int before = count.fetch_add(1);
    if (merges && id == 0) meet(replica);
    return before;
  });
}

// The last owner of a common object notes its number.
double last_owner(Backend& backend, bool merges) {
  const auto last = std::make_unique<int>(-1);
  std::array<std::shared_ptr<int>, 2> owners;
  owners[0] = std::shared_ptr<int>(new int(0), [&](const int* object) {
    *last = current_replica()->replica_id();
    delete object;
  });
  owners[1] = owners[0];
  (void)on_two(backend, [&](ReplicaContext& replica, int id) {
    if (merges && id == 1) meet(replica);
    owners[static_cast<std::size_t>(id)].reset();
    if (merges && id == 0) meet(replica);
    return 0;
  });
  return *last;
}

PairedBody with(double (*program)(Backend&, bool), bool flag) {
  return [=](Backend& backend) { return program(backend, flag); };
}

}  // namespace

ConditionPair host_pair_of(Breach breach) {
  Options checked{.devices = 2, .seed = 7};
  checked.check_kernels = true;
  switch (breach) {
    case Breach::kHostRace:
      return {.name = "HostRace", .broken = with(captured, false), .near = with(captured, true)};
    case Breach::kUnseenCode:
      return {.name = "UnseenCode", .broken = with(sorted, false), .near = with(sorted, true)};
    case Breach::kUnknownOrder:
      return {.name = "UnknownOrder",
              .broken = with(read_beside_a_kernel, true),
              .near = with(read_beside_a_kernel, false),
              .options = checked};
    case Breach::kLock:
      return {.name = "Lock", .broken = with(tried_locks, false), .near = with(tried_locks, true)};
    case Breach::kAtomic:
      return {.name = "Atomic", .broken = with(counted, false), .near = with(counted, true)};
    case Breach::kLastOwner:
      return {
          .name = "LastOwner", .broken = with(last_owner, false), .near = with(last_owner, true)};
    default:
      return {};
  }
}

}  // namespace belfry::sim::testing
