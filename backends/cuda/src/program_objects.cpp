// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "program_objects.h"

#include "belfry/error.h"
#include "check.h"
#include "current_gpu.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace belfry::cuda {
namespace {

[[noreturn]] void throw_unfit(const std::string& summary, const char* hint) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, summary, hint);
}

std::string device_name(std::size_t index, int gpu) {
  return "device " + std::to_string(index) + " on GPU " + std::to_string(gpu);
}

template <class Object>
void require_one_each(const std::vector<Object>& objects, const std::string& member,
                      std::size_t devices) {
  if (objects.empty() || objects.size() == devices) return;
  throw_unfit("Options::" + member + " has " + std::to_string(objects.size()) + " entries for " +
                  std::to_string(devices) + " devices",
              "give one for each device, in the order of the devices, or none at all");
}

template <class Object>
void require_distinct(const std::vector<Object>& objects, const std::string& member) {
  for (auto object = objects.begin(); object != objects.end(); ++object) {
    const auto first = std::find(objects.begin(), object, *object);
    if (first == object) continue;
    throw_unfit("Options::" + member + " has the same entry for devices " +
                    std::to_string(first - objects.begin()) + " and " +
                    std::to_string(object - objects.begin()),
                "give each device one of its own");
  }
}

// CUDA records an event on streams of the event's GPU alone.
void require_stream(cudaStream_t stream, std::size_t index, int gpu) {
  // The handles of the default streams are 0, 1 and 2.
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) {
    throw_unfit(
        "Options::compute_streams has a default stream of CUDA for " + device_name(index, gpu),
        "make a stream with cudaStreamCreateWithFlags and cudaStreamNonBlocking");
  }
  const CurrentGpu current(gpu);
  cudaEvent_t event = nullptr;
  BELFRY_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  const cudaError_t code = cudaEventRecord(event, stream);
  ignore_failure(cudaEventDestroy(event));
  if (code != cudaErrorInvalidResourceHandle) {
    check_call(code, "cudaEventRecord(event, stream)", {__FILE__, __LINE__});
    return;
  }
  ignore_failure(code);
  throw_unfit("the compute stream of " + device_name(index, gpu) + " is not a stream of that GPU",
              "make the stream with the GPU of the device current");
}

// The GPU of the memory that a pool gives on a stream of `gpu`; -1 if CUDA refuses the pair.
int gpu_of_memory(cudaMemPool_t pool, cudaStream_t stream) {
  void* address = nullptr;
  const cudaError_t code = cudaMallocFromPoolAsync(&address, 1, pool, stream);
  if (code == cudaErrorInvalidValue) {
    ignore_failure(code);
    return -1;
  }
  check_call(code, "cudaMallocFromPoolAsync(&address, 1, pool, stream)", {__FILE__, __LINE__});
  cudaPointerAttributes attributes{};
  const cudaError_t asked = cudaPointerGetAttributes(&attributes, address);
  ignore_failure(cudaFreeAsync(address, stream));
  check_call(asked, "cudaPointerGetAttributes(&attributes, address)", {__FILE__, __LINE__});
  return attributes.device;
}

void require_pool(cudaMemPool_t pool, std::size_t index, int gpu) {
  const CurrentGpu current(gpu);
  cudaStream_t stream = nullptr;
  BELFRY_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int owner = -1;
  try {
    owner = gpu_of_memory(pool, stream);
  } catch (...) {
    ignore_failure(cudaStreamDestroy(stream));
    throw;
  }
  ignore_failure(cudaStreamSynchronize(stream));
  ignore_failure(cudaStreamDestroy(stream));
  if (owner == gpu) return;
  throw_unfit("the memory pool of " + device_name(index, gpu) + " is a pool of another GPU",
              "make the pool with the GPU of the device as its location");
}

void require_communicators(const Options& options, const std::vector<int>& gpus) {
  const std::vector<ncclComm_t>& communicators = options.communicators;
  if (communicators.empty()) return;
  const NcclRanks ranks = ranks_of(communicators);
  for (std::size_t index = 0; index < communicators.size(); ++index) {
    int gpu = -1;
    int rank = -1;
    int size = 0;
    BELFRY_NCCL_TRY(ncclCommCuDevice(communicators[index], &gpu));
    BELFRY_NCCL_TRY(ncclCommUserRank(communicators[index], &rank));
    BELFRY_NCCL_TRY(ncclCommCount(communicators[index], &size));
    if (gpu != gpus[index]) {
      throw_unfit("the communicator of " + device_name(index, gpus[index]) + " is on GPU " +
                      std::to_string(gpu),
                  "give the communicators in the order of the devices");
    }
    const int expected = ranks.first + static_cast<int>(index);
    if (rank != expected || size != ranks.size) {
      throw_unfit("the communicator of " + device_name(index, gpu) + " is rank " +
                      std::to_string(rank) + " of " + std::to_string(size) + ", where rank " +
                      std::to_string(expected) + " of " + std::to_string(ranks.size) +
                      " follows the device before",
                  "make the communicators with ranks in the order of the devices");
    }
  }
}

void require_memory_source(const Options& options, const std::vector<int>& gpus) {
  const bool allocates = static_cast<bool>(options.allocator.allocate);
  if (allocates != static_cast<bool>(options.allocator.free)) {
    throw_unfit("Options::allocator has one of its two functions",
                "give both allocate and free, or neither");
  }
  if (allocates && !options.memory_pools.empty()) {
    throw_unfit("both Options::allocator and Options::memory_pools are given",
                "memory has one source: leave out one of them");
  }
  for (std::size_t index = 0; index < options.memory_pools.size(); ++index) {
    require_pool(options.memory_pools[index], index, gpus[index]);
  }
}

std::vector<int> gpus_of(const SharedState& shared, const std::vector<Device*>& devices) {
  if (shared.options.launches_block && devices.size() > 1) {
    throw UnsupportedError(ErrorCode::kUnsupported,
                           "CUDA_LAUNCH_BLOCKING=1 with several GPUs in one process",
                           "the first GPU's kernel would wait for ever for the second's, which is "
                           "launched after it: unset it, or use one GPU");
  }
  std::vector<int> gpus;
  gpus.reserve(devices.size());
  for (const Device* device : devices) gpus.push_back(device->gpu());
  return gpus;
}

// The program's communicators are of all devices of the backend, in order.
bool are_all(const SharedState& shared, const std::vector<Device*>& devices) {
  if (devices.size() != shared.options.communicators.size()) return false;
  int next = 0;
  return std::ranges::all_of(devices, [&](const Device* one) { return one->index() == next++; });
}

}  // namespace

void require_fitting(const Options& options, const std::vector<int>& gpus) {
  require_one_each(options.compute_streams, "compute_streams", gpus.size());
  require_one_each(options.communicators, "communicators", gpus.size());
  require_one_each(options.memory_pools, "memory_pools", gpus.size());
  require_distinct(options.compute_streams, "compute_streams");
  require_distinct(options.communicators, "communicators");
  for (std::size_t index = 0; index < options.compute_streams.size(); ++index) {
    require_stream(options.compute_streams[index], index, gpus[index]);
  }
  require_communicators(options, gpus);
  require_memory_source(options, gpus);
}

NcclRanks ranks_of(const std::vector<ncclComm_t>& communicators) {
  NcclRanks ranks;
  BELFRY_NCCL_TRY(ncclCommCount(communicators.front(), &ranks.size));
  BELFRY_NCCL_TRY(ncclCommUserRank(communicators.front(), &ranks.first));
  return ranks;
}

NcclCommunicators communicators_of(const SharedState& shared, const std::vector<Device*>& devices,
                                   const std::optional<NcclSpan>& span) {
  std::vector<int> gpus = gpus_of(shared, devices);
  const Options& options = shared.options;
  if (are_all(shared, devices)) {
    const NcclRanks ranks = ranks_of(options.communicators);
    const int size = span ? span->size : static_cast<int>(devices.size());
    const int first = span ? span->first : 0;
    if (ranks.size == size && ranks.first == first) {
      return NcclCommunicators(std::move(gpus), options.deadline, span, options.communicators);
    }
    if (span) {
      throw InvalidArgumentError(
          ErrorCode::kInvalidArgument,
          "the program's first communicator is rank " + std::to_string(ranks.first) + " of " +
              std::to_string(ranks.size) + ", where the device is rank " + std::to_string(first) +
              " of " + std::to_string(size),
          "give ranks in the order of the processes of the group, and of their devices");
    }
  }
  return NcclCommunicators(std::move(gpus), options.deadline, span);
}

}  // namespace belfry::cuda
