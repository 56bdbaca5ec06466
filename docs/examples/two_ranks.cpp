// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// [program]
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(code));
  std::exit(1);
}

void check(ncclResult_t code) {
  if (code == ncclSuccess) return;
  std::fprintf(stderr, "%s\n", ncclGetLastError(nullptr));
  std::exit(1);
}

// The thread of a rank, on a GPU of its own.
void run(int ranks, int rank, const ncclUniqueId& id, float& sum) {
  check(cudaSetDevice(rank));
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  float* data = nullptr;
  check(cudaMalloc(&data, sizeof(float)));

  const float mine = 1.0F + static_cast<float>(rank);
  check(cudaMemcpyAsync(data, &mine, sizeof mine, cudaMemcpyHostToDevice, stream));
  check(ncclAllReduce(data, data, 1, ncclFloat, ncclSum, comm, stream));
  check(cudaMemcpyAsync(&sum, data, sizeof sum, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));

  check(cudaFree(data));
  check(cudaStreamDestroy(stream));
  check(ncclCommDestroy(comm));
}

}  // namespace

int main() {
  constexpr int kRanks = 2;
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  std::vector<float> sums(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] { run(kRanks, rank, id, sums[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%g %g\n", sums[0], sums[1]);
}
// [program]
