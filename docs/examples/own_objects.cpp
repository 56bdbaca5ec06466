// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A backend over streams, communicators and an allocator of the program's own: docs/gpus.md. Here
// on the simulated driver.
#include <belfry/belfry.h>
#include <belfry/cuda/backend.h>
#include <belfry/tensor_ops.h>

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <iostream>
#include <vector>

using namespace belfry;

int main() {
  // [make]
  const std::vector<int> gpus{0, 1};
  std::vector<cudaStream_t> streams(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    cudaSetDevice(gpus[i]);
    cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
  }
  std::vector<ncclComm_t> communicators(gpus.size());
  ncclCommInitAll(communicators.data(), 2, gpus.data());

  std::size_t given = 0;
  const cuda::Allocator allocator{
      .allocate = [&](std::size_t bytes, int /*gpu*/, cudaStream_t stream) -> void* {
        void* memory = nullptr;
        if (cudaMallocAsync(&memory, bytes, stream) != cudaSuccess) return nullptr;
        given += bytes;
        return memory;
      },
      .free = [](void* memory, std::size_t /*bytes*/, int /*gpu*/,
                 cudaStream_t stream) { cudaFreeAsync(memory, stream); }};
  // [make]
  {
    // [use]
    cuda::Backend backend{{.devices = gpus,
                           .carrier = cuda::Carrier::kFiber,
                           .warm_up = false,
                           .compute_streams = streams,
                           .communicators = communicators,
                           .allocator = allocator}};
    MirroredStrategy strategy{backend};
    const auto sums = strategy.run([](ReplicaContext& replica) {
      const float id = static_cast<float>(replica.replica_id());
      return replica.all_reduce(ReduceOp::kSum, Tensor<float>::from({2}, {1, id}));
    });
    for (const float sum : sums[0].to_host()) std::cout << sum << ' ';
    std::cout << '\n' << backend.statistics().all_reduce << '\n';
    // [use]
  }
  std::cout << given << " bytes given\n";
  // [end]
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    ncclCommDestroy(communicators[i]);
    cudaStreamDestroy(streams[i]);
  }
  // [end]
}
