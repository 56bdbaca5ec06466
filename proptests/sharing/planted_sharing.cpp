// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A mistake of a user: replicas write the same number without a handle of belfry. With `own` each
// replica writes a number of its own, which is correct. For ThreadSanitizer.
//
// usage: planted_sharing fiber|baton|concurrent shared|own
#include "belfry/sim/backend.h"
#include "belfry/strategies.h"

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

using namespace belfry;

int main(int count, char** words) {
  if (count != 3) return 2;
  const std::string carrier = words[1];
  const bool shared = std::string(words[2]) == "shared";
  sim::Options options{.devices = 2};
  options.carrier = carrier == "fiber"   ? sim::Carrier::kFiber
                    : carrier == "baton" ? sim::Carrier::kBaton
                                         : sim::Carrier::kConcurrent;
  sim::Backend backend{options};
  MirroredStrategy strategy{backend};
  std::vector<int> written(64);
  // Waits until two replicas are inside. Threads that run at once may still come one after the
  // other, with belfry's locks between them. The counter itself orders nothing.
  std::atomic<int> inside{0};
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    // 32 numbers apart. Different numbers on the same cache line would be no mistake either.
    int& number = written[shared ? 0 : static_cast<std::size_t>(32 * replica.replica_id())];
    int sum = 0;
    for (int round = 1; round <= 4; ++round) {
      inside.fetch_add(1, std::memory_order_relaxed);
      while (options.carrier == sim::Carrier::kConcurrent &&
             inside.load(std::memory_order_relaxed) < 2 * round) {
        std::this_thread::yield();
      }
      number += 1;
      sum += replica.all_reduce(ReduceOp::kSum, 1);
    }
    return sum;
  });
  std::printf("%d sums of %d\n", sums.size(), sums[0]);
  return sums[0] == 8 ? 0 : 1;
}
