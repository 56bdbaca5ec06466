// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

/// CUDA on integers, with the calls of a program.
namespace belfry::driver::test {

inline cudaStream_t make_stream(int gpu = 0) {
  EXPECT_EQ(cudaSetDevice(gpu), cudaSuccess);
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0), cudaSuccess);
  return stream;
}

inline cudaEvent_t make_event(int gpu = 0) {
  EXPECT_EQ(cudaSetDevice(gpu), cudaSuccess);
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  return event;
}

inline cudaMemPool_t make_pool(int gpu = 0) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, gpu};
  cudaMemPool_t pool = nullptr;
  EXPECT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  return pool;
}

inline int* allocate(cudaMemPool_t pool, cudaStream_t stream, std::size_t count) {
  void* address = nullptr;
  EXPECT_EQ(cudaMallocFromPoolAsync(&address, count * sizeof(int), pool, stream), cudaSuccess);
  return static_cast<int*>(address);
}

inline cudaError_t write(int* to, const std::vector<int>& from, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from.data(), from.size() * sizeof(int), cudaMemcpyHostToDevice,
                         stream);
}

inline cudaError_t read(std::vector<int>& to, const int* from, cudaStream_t stream) {
  return cudaMemcpyAsync(to.data(), from, to.size() * sizeof(int), cudaMemcpyDeviceToHost, stream);
}

}  // namespace belfry::driver::test
