// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Sums over two to four processes of the machine. With BELFRY_ON_GPU all processes share a GPU, and
// the sums are NCCL's; else each process has the backend of the host.
//
//   forked_reductions [cases]    the number of sums for each number of processes, 20 by default
#include "belfry/belfry.h"
#include "processes/forked_processes.h"
#include "processes/own_host.h"

#ifdef BELFRY_ON_GPU
#include "belfry/cuda/backend.h"
#endif

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

constexpr std::chrono::milliseconds kDeadline{20'000};

#ifdef BELFRY_ON_GPU
struct OwnBackend {
  cuda::Backend backend{{.devices = {0}, .deadline = kDeadline}};
  std::uint64_t collectives() const { return backend.statistics().nccl_collectives; }
};
#else
struct OwnBackend {
  HostBackend backend{1};
  std::uint64_t collectives() const { return 0; }
};
#endif

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("wrong: " + what);
}

// Small whole numbers: sums are exact in every type and order.
int element(int replica, std::int64_t index) {
  return static_cast<int>((index * 7 + replica * 13) % 11);
}

template <class T>
void check_sum(MultiWorkerMirroredStrategy& strategy, std::int64_t count) {
  const auto sums = strategy.run([&](ReplicaContext& replica) {
    std::vector<T> own;
    for (std::int64_t i = 0; i < count; ++i) {
      own.push_back(static_cast<T>(static_cast<float>(element(replica.replica_id(), i))));
    }
    return replica.all_reduce(ReduceOp::kSum, Tensor<T>::from({count}, own)).to_host();
  });
  for (std::int64_t i = 0; i < count; ++i) {
    int sum = 0;
    for (int replica = 0; replica < strategy.num_replicas(); ++replica) sum += element(replica, i);
    const auto own = static_cast<float>((*sums.begin())[static_cast<std::size_t>(i)]);
    require(own == static_cast<float>(sum), "element " + std::to_string(i));
  }
}

// All processes draw the same cases.
void check_sums(MultiWorkerMirroredStrategy& strategy, int cases) {
  std::mt19937 random(1);
  for (int i = 0; i < cases; ++i) {
    const auto count =
        static_cast<std::int64_t>(random() % 4 == 0 ? random() % 300'000 : random() % 100);
    switch (random() % 5) {
      case 0:
        check_sum<float>(strategy, count);
        break;
      case 1:
        check_sum<double>(strategy, count);
        break;
      case 2:
        check_sum<std::int32_t>(strategy, count);
        break;
      case 3:
        check_sum<std::int64_t>(strategy, count);
        break;
      default:
        check_sum<BFloat16>(strategy, count);
        break;
    }
  }
}

int add(ProcessGroup& group, int cases) {
  name_own_host(group.rank());
  OwnBackend own;
  MultiWorkerMirroredStrategy strategy{own.backend, group};
  check_sums(strategy, cases);
#ifdef BELFRY_ON_GPU
  require(own.collectives() >= static_cast<std::uint64_t>(cases), "sums outside of NCCL");
#endif
  return 0;
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
  check_sums(strategy, 1);
  if (group.rank() == 1) group.left = 1;
  try {
    check_sum<float>(strategy, 1000);
  } catch (const ProcessLostError&) {
    return 0;
  }
  // In host memory the bytes of process 1 have arrived: the end of the run finds the loss.
  throw std::runtime_error("a sum without process 1");
}

bool all_zero(const char* what, const std::vector<int>& statuses) {
  bool fine = true;
  for (std::size_t process = 0; process < statuses.size(); ++process) {
    if (statuses[process] == 0) continue;
    std::printf("%s: process %zu of %zu ended with %d\n", what, process, statuses.size(),
                statuses[process]);
    fine = false;
  }
  return fine;
}

}  // namespace
}  // namespace belfry::testing

int main(int argc, char** argv) {
  using namespace belfry::testing;
  const int cases = argc > 1 ? std::atoi(argv[1]) : 20;
  bool fine = true;
  for (int processes = 2; processes <= 4; ++processes) {
    const auto sums = [cases](belfry::ProcessGroup& group) { return add(group, cases); };
    fine = all_zero("sums", run_forked(processes, kDeadline, sums)) && fine;
    fine = all_zero("a lost process", run_forked(processes, kDeadline, lose)) && fine;
  }
  std::printf(fine ? "all processes agree\n" : "FAILED\n");
  return fine ? 0 : 1;
}
