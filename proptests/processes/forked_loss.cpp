// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A process of two to four on the machine is lost in a sum. With BELFRY_ON_GPU all processes share
// a GPU, and the sums are NCCL's; else each process has the backend of the host. The suites have
// the sums without a loss: suites_forked.
#include "belfry/belfry.h"
#include "processes/forked_processes.h"
#include "processes/own_host.h"

#ifdef BELFRY_ON_GPU
#include "belfry/cuda/backend.h"
#endif

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

constexpr std::chrono::milliseconds kDeadline{20'000};

#ifdef BELFRY_ON_GPU
struct OwnBackend {
  cuda::Backend backend{{.devices = {0}, .deadline = kDeadline}};
};
#else
struct OwnBackend {
  HostBackend backend{1};
};
#endif

constexpr std::int64_t kCount = 1000;

// The sum of ones.
void check_sum(MultiWorkerMirroredStrategy& strategy) {
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    return replica.all_reduce(ReduceOp::kSum, Tensor<float>::full({kCount}, 1.0F)).to_host();
  });
  const std::vector<float> expected(kCount, static_cast<float>(strategy.num_replicas()));
  if (*sums.begin() != expected) throw std::runtime_error("a wrong sum");
}

/// Process 1 of the group ends after some exchanges, without a word.
class EndingGroup final : public ProcessGroup {
 public:
  explicit EndingGroup(ProcessGroup& group) : group_(group) {}

  int left = -1;  ///< Exchanges before the end.

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    auto all = group_.gather(bytes);
    if (left > 0 && --left == 0) ::_exit(0);
    return all;
  }
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override {
    return group_.broadcast(bytes, from);
  }
  GroupHealth health() override { return group_.health(); }

 private:
  ProcessGroup& group_;
};

// Process 1 ends between the comparison of a sum and the sum.
int lose(ProcessGroup& whole) {
  EndingGroup group(whole);
  name_own_host(group.rank());
  OwnBackend own;
  MultiWorkerMirroredStrategy strategy{own.backend, group};
  check_sum(strategy);
  if (group.rank() == 1) group.left = 1;
  try {
    check_sum(strategy);
  } catch (const ProcessLostError&) {
    return 0;
  }
  // In host memory the bytes of process 1 have arrived: the end of the run finds the loss.
  throw std::runtime_error("a sum without process 1");
}

}  // namespace
}  // namespace belfry::testing

int main() {
  using namespace belfry::testing;
  bool fine = true;
  for (int processes = 2; processes <= 4; ++processes) {
    const std::vector<int> statuses = run_forked(processes, kDeadline, lose);
    for (std::size_t process = 0; process < statuses.size(); ++process) {
      if (statuses[process] == 0) continue;
      std::printf("process %zu of %d ended with %d\n", process, processes, statuses[process]);
      fine = false;
    }
  }
  std::printf(fine ? "all processes agree\n" : "FAILED\n");
  return fine ? 0 : 1;
}
