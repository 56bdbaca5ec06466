// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "guarded.h"

using belfry::driver::Call;
using belfry::driver::caller_of;
using belfry::driver::guarded_cuda;
using belfry::driver::HostMemoryObject;
using belfry::driver::MemoryObject;
using belfry::driver::misuse;
using belfry::driver::PoolObject;
using belfry::driver::StreamObject;
using belfry::driver::Thread;
using belfry::driver::Touched;
using belfry::engine::AllocationPtr;

namespace {

cudaError_t nothing_allocated(const Call& call) {
  return misuse(call, cudaErrorInvalidValue,
                "nothing is allocated at this address: freed twice, or never allocated");
}

cudaError_t no_pool(const Call& call) {
  return misuse(call, cudaErrorInvalidValue, "no memory pool has this handle");
}

// Frees are commands of their streams, and may not have run yet. A real pool would reuse the memory
// in stream order.
AllocationPtr allocate(const Call& call, int gpu, std::size_t bytes) {
  auto& memory = call.machine.memory(gpu);
  try {
    return memory.allocate(bytes);
  } catch (const belfry::DeviceError&) {
    call.machine.engine().drain();
    return memory.allocate(bytes);
  }
}

cudaError_t make_memory(const Call& call, void** address, std::size_t bytes, int gpu,
                        const std::shared_ptr<PoolObject>& pool) {
  *address = nullptr;  // The result for 0 bytes, and for too many.
  if (bytes == 0) return cudaSuccess;
  auto memory = std::make_shared<MemoryObject>();
  memory->allocation = allocate(call, gpu, bytes);
  memory->pool = pool;
  *address = memory->allocation->data();
  call.machine.memory_handles.insert_as(*address, std::move(memory));
  return cudaSuccess;
}

// Memory in the order of a stream: work of other streams comes after the allocation.
cudaError_t make_memory_on(const Call& call, void** address, std::size_t bytes,
                           const StreamObject& stream, const std::shared_ptr<PoolObject>& pool) {
  const cudaError_t code = make_memory(call, address, bytes, stream.gpu, pool);
  if (code != cudaSuccess || bytes == 0) return code;
  call.machine.races().work(*stream.queue, {.writes = {*call.machine.find(*address, bytes)}},
                            caller_of(call));
  return code;
}

// All bytes of an allocation.
template <class Object>
Touched all_of(const Object& memory) {
  return {.writes = {{memory.allocation, {0, memory.allocation->bytes()}}}, .frees = true};
}

cudaError_t make_host_memory(const Call& call, void** address, std::size_t bytes) {
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  auto memory = std::make_shared<HostMemoryObject>();
  memory->allocation = call.machine.pinned().allocate(bytes);
  memory->allocation->written().insert({0, bytes});
  *address = memory->allocation->data();
  call.machine.host_memory.insert_as(*address, std::move(memory));
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool, const struct cudaMemPoolProps* poolProps) {
  return guarded_cuda(__func__, [&](const Call& call) {
    if (poolProps->allocType != cudaMemAllocationTypePinned ||
        poolProps->location.type != cudaMemLocationTypeDevice) {
      return misuse(call, cudaErrorInvalidValue, "a pool is of pinned memory of a device");
    }
    if (!call.machine.has_gpu(poolProps->location.id)) {
      return misuse(call, cudaErrorInvalidDevice, "a pool of a GPU that is not there");
    }
    auto pool = std::make_shared<PoolObject>();
    pool->gpu = poolProps->location.id;
    *memPool = static_cast<cudaMemPool_t>(call.machine.pools.insert(std::move(pool)));
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto pool = call.machine.pools.erase(memPool);
    if (pool == nullptr) return no_pool(call);
    // Memory without a free, and frees that have not run, keep the pool alive.
    if (pool.use_count() > 1) {
      call.machine.book().report("a memory pool is destroyed before what is to be freed to it");
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void* value) {
  return guarded_cuda(__func__, [&](const Call& call) {
    if (call.machine.pools.find(memPool) == nullptr) return no_pool(call);
    if (attr != cudaMemPoolAttrReleaseThreshold || value == nullptr) {
      return misuse(call, cudaErrorInvalidValue, "an attribute that cannot be set");
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc* descList,
                                 size_t count) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto pool = call.machine.pools.find(memPool);
    if (pool == nullptr) return no_pool(call);
    for (std::size_t i = 0; i < count; ++i) {
      const int gpu = descList[i].location.id;
      if (!call.machine.has_gpu(gpu)) {
        return misuse(call, cudaErrorInvalidDevice, "access for a GPU that is not there");
      }
      if (gpu != pool->gpu && !call.machine.are_peers(gpu, pool->gpu)) {
        return misuse(call, cudaErrorPeerAccessUnsupported, "these GPUs have no peer access");
      }
      pool->reachable_from.push_back(gpu);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                    cudaStream_t stream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto pool = call.machine.pools.find(memPool);
    if (pool == nullptr) return no_pool(call);
    const auto object = call.machine.find_stream(stream, call.thread.gpu);
    if (object == nullptr || object->gpu != pool->gpu) {
      return misuse(call, cudaErrorInvalidValue, "the stream is not of the GPU of the pool");
    }
    if (call.thread.group_depth > 0) {
      call.machine.book().report("memory is allocated inside an NCCL group");
    }
    return make_memory_on(call, ptr, size, *object, pool);
  });
}

cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto object = call.machine.find_stream(hStream, call.thread.gpu);
    if (object == nullptr) {
      return misuse(call, cudaErrorInvalidResourceHandle, "no stream has this handle");
    }
    return make_memory_on(call, devPtr, size, *object, nullptr);
  });
}

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return guarded_cuda(__func__, [&](const Call& call) {
    if (call.machine.options().gpus == 0) return cudaErrorNoDevice;
    return make_memory(call, devPtr, size, call.thread.gpu, nullptr);
  });
}

// Waits for the GPU of the memory, as CUDA does.
cudaError_t cudaFree(void* devPtr) {
  return guarded_cuda(__func__, [&](const Call& call) {
    if (devPtr == nullptr) return cudaSuccess;
    const auto memory = call.machine.memory_handles.find(devPtr);
    if (memory == nullptr) return nothing_allocated(call);
    call.machine.judged().synchronize_device(memory->allocation->device());
    call.machine.memory_handles.erase(devPtr);
    call.machine.races().host_work(all_of(*memory), caller_of(call));
    memory->allocation->retire();
    return cudaSuccess;
  });
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  return guarded_cuda(__func__, [&](const Call& call) {
    const auto object = call.machine.stream_for_work(hStream, call.thread.gpu);
    if (object == nullptr) {
      return misuse(call, cudaErrorInvalidResourceHandle, "no stream has this handle");
    }
    if (devPtr == nullptr) return cudaSuccess;
    const auto memory = call.machine.memory_handles.erase(devPtr);
    if (memory == nullptr) {
      return nothing_allocated(call);
    }
    belfry::engine::Command command;
    command.name = "free";
    // Later accesses to the memory, on any stream, are reported.
    command.run = [memory](const belfry::engine::Command&) { memory->allocation->retire(); };
    call.machine.judged().enqueue(*object->queue, std::move(command), all_of(*memory),
                                  caller_of(call));
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int /*flags*/) {
  // After a failure, CUDA promises nothing about the address.
  *pHost = reinterpret_cast<void*>(~std::uintptr_t{0});
  return guarded_cuda(__func__,
                      [&](const Call& call) { return make_host_memory(call, pHost, size); });
}

cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return guarded_cuda(__func__,
                      [&](const Call& call) { return make_host_memory(call, ptr, size); });
}

cudaError_t cudaFreeHost(void* ptr) {
  return guarded_cuda(__func__, [&](const Call& call) {
    if (ptr == nullptr) return cudaSuccess;
    if (const auto memory = call.machine.host_memory.erase(ptr)) {
      call.machine.races().host_work(all_of(*memory), caller_of(call));
      return cudaSuccess;
    }
    return misuse(call, cudaErrorInvalidValue,
                  "no pinned memory begins at this address: freed twice, or never allocated");
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return guarded_cuda<Thread::kAsks>(__func__, [&](const Call& call) {
    if (call.machine.options().gpus == 0) return cudaErrorNoDevice;
    const belfry::MemoryUse use = call.machine.memory(call.thread.gpu).use();
    *total = use.limit_bytes;
    *free = use.limit_bytes - use.live_bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* ptr) {
  return guarded_cuda<Thread::kAsks>(__func__, [&](const Call& call) {
    *attributes = {};
    const auto access = call.machine.find(ptr, 0);
    if (access) {
      attributes->type = cudaMemoryTypeDevice;
      attributes->device = access->allocation->device();
      attributes->devicePointer = const_cast<void*>(ptr);
    } else if (call.machine.find_pinned(ptr) != nullptr) {
      attributes->type = cudaMemoryTypeHost;
      attributes->hostPointer = const_cast<void*>(ptr);
    } else {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = -2;  // CUDA's answer for unknown memory.
      attributes->hostPointer = const_cast<void*>(ptr);
    }
    return cudaSuccess;
  });
}
