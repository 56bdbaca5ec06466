// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "guarded.h"

#include <algorithm>

using belfry::driver::Call;
using belfry::driver::guarded_cuda;
using belfry::driver::misuse;
using belfry::driver::Thread;

namespace {

constexpr int kCudaVersion = 13000;

struct Code {
  cudaError_t code;
  const char* name;
  const char* text;
};

constexpr Code kCodes[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "an argument is not valid"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization failed"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "no such direction"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "no driver, or one too old"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no GPU was found"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "no GPU has this number"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "memory failed"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported", "no access to that GPU"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "nothing has this handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "work is still in progress"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "memory was accessed that is not there"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "a kernel failed"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "this is not permitted now"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "this is not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "an unknown error"},
};

constexpr Code kNoCode = {cudaErrorUnknown, "unrecognized error code", "unrecognized error code"};

const Code& row_of(cudaError_t code) {
  const auto* row = std::ranges::find(kCodes, code, &Code::code);
  return row == std::end(kCodes) ? kNoCode : *row;
}

cudaError_t no_such_gpu(const Call& call, int gpu) {
  return misuse(
      call, cudaErrorInvalidDevice,
      "GPU " + std::to_string(gpu) + " of " + std::to_string(call.machine.options().gpus));
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* driverVersion) {
  // Answers also where no driver is installed.
  const auto machine = belfry::driver::machine();
  machine->book().enter(__func__);
  *driverVersion = machine->options().installed ? kCudaVersion : 0;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
  *runtimeVersion = kCudaVersion;
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
  const cudaError_t code = cudaPeekAtLastError();
  belfry::driver::thread_state(belfry::driver::machine()).last_error = cudaSuccess;
  return code;
}

cudaError_t cudaPeekAtLastError(void) {
  return belfry::driver::thread_state(belfry::driver::machine()).last_error;
}

const char* cudaGetErrorName(cudaError_t error) { return row_of(error).name; }

const char* cudaGetErrorString(cudaError_t error) {
  const auto machine = belfry::driver::machine();
  const auto& thread = belfry::driver::thread_state(machine);
  const bool told = thread.text_of == error && error != cudaSuccess;
  return told ? thread.last_text.c_str() : row_of(error).text;
}

cudaError_t cudaGetDeviceCount(int* count) {
  return guarded_cuda<Thread::kAsks>(__func__, [&](const Call& call) {
    if (call.machine.options().gpus == 0) return cudaErrorNoDevice;
    *count = call.machine.options().gpus;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return guarded_cuda(__func__, [&](const Call& call) {
    if (!call.machine.has_gpu(device)) return no_such_gpu(call, device);
    call.thread.gpu = device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return guarded_cuda<Thread::kAsks>(__func__, [&](const Call& call) {
    if (call.machine.options().gpus == 0) return cudaErrorNoDevice;
    *device = call.thread.gpu;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attr, int device) {
  return guarded_cuda<Thread::kAsks>(__func__, [&](const Call& call) {
    if (!call.machine.has_gpu(device)) return no_such_gpu(call, device);
    switch (attr) {
      case cudaDevAttrMultiProcessorCount:
        *value = 132;
        return cudaSuccess;
      case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        return cudaSuccess;
      case cudaDevAttrComputeCapabilityMinor:
        *value = 0;
        return cudaSuccess;
      case cudaDevAttrMemoryPoolsSupported:
        *value = 1;
        return cudaSuccess;
    }
    return misuse(call, cudaErrorInvalidValue, "an attribute the simulated driver does not have");
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return guarded_cuda<Thread::kAsks>(__func__, [&](const Call& call) {
    if (!call.machine.has_gpu(device)) return no_such_gpu(call, device);
    if (!call.machine.has_gpu(peerDevice)) return no_such_gpu(call, peerDevice);
    *canAccessPeer = device != peerDevice && call.machine.are_peers(device, peerDevice) ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return guarded_cuda<Thread::kAsks>(__func__, [&](const Call&) {
    *leastPriority = 0;
    *greatestPriority = -5;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize(void) {
  return guarded_cuda(__func__, [&](const Call& call) {
    call.machine.judged().synchronize_device(call.thread.gpu);
    call.machine.engine().check_failures();
    return cudaSuccess;
  });
}
