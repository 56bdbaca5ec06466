// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "replicas.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

Row shared_owner() {
  const auto shared = std::make_shared<int>(3);
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) {
    const std::shared_ptr<int> mine = shared;
    got[id] = *mine;
  };
  return {text(watched(1, body)), ""};
}

Row count_of_owners() {
  const auto shared = std::make_shared<int>(3);
  std::vector<long> got(2);
  const Body body = [&](std::size_t id, int) {
    const std::shared_ptr<int> mine = shared;
    got[id] = mine.use_count();
  };
  return {text(watched(1, body)), "atomics"};
}

Row last_owner() {
  auto shared = std::make_shared<int>(3);
  std::vector<std::shared_ptr<int>> owners{shared, shared};
  shared.reset();
  const Body body = [&](std::size_t id, int) { owners[id].reset(); };
  return {text(watched(1, body)), "last owner"};
}

Row shared_atomic() {
  std::atomic<int> next{0};
  const Body body = [&](std::size_t, int) { next.fetch_add(1); };
  return {text(watched(1, body)), "atomics"};
}

// With the order of memory of libstdc++'s counts of owners.
Row ticket() {
  std::atomic<int> next{0};
  std::vector<int> got(2);
  const Body body = [&](std::size_t id, int) {
    got[id] = next.fetch_add(1, std::memory_order_acq_rel);
  };
  return {text(watched(1, body)), "atomics"};
}

// clang calls libatomic.
#if defined(__x86_64__) && !defined(__clang__)
struct Wide {
  long low = 0;
  long high = 0;
};

Row wide_atomic() {
  std::atomic<Wide> shared;
  std::vector<long> got(2);
  const Body body = [&](std::size_t id, int) {
    if (id == 0) shared = Wide{1, 2};
    if (id == 1) got[id] = shared.load().high;
  };
  std::string seen = text(watched(1, body));
  return {seen + (got[1] == 2 ? "" : ", other bytes"), "atomics"};
}
#endif

Row atomic_of_one() {
  std::atomic<int> next{0};
  const Body body = [&](std::size_t id, int) {
    if (id == 1) next.fetch_add(1);
  };
  return {text(watched(1, body)), ""};
}

Row mutex() {
  std::mutex mutex;
  const Body body = [&](std::size_t, int) { const std::lock_guard lock(mutex); };
  return {text(watched(1, body)), "locks"};
}

}  // namespace

std::vector<Case> owner_cases() {
  return {{"a shared owner", shared_owner},
          {"a count of owners", count_of_owners},
          {"the last owner", last_owner},
          {"a shared atomic object", shared_atomic},
          {"a ticket", ticket},
#if defined(__x86_64__) && !defined(__clang__)
          {"an atomic object of 16 bytes", wide_atomic},
#endif
          {"an atomic object of one replica", atomic_of_one},
          {"a mutex", mutex}};
}
