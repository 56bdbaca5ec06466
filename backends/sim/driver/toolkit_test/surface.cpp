// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Compiled twice: once with the driver's own headers and once with the toolkit's. BELFRY_SURFACE is
// the function to define.

#include "surface.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <typeinfo>

namespace belfry::driver {
namespace {

template <class T>
std::string type_text() {
  return typeid(T).name();
}

// The macros below record a word of the headers, and its meaning for the compiler.
#define VALUE(word) surface[#word] = std::to_string(static_cast<long long>(word))
#define FUNCTION(word) surface[#word] = type_text<decltype(word)>()
#define SIZE(type) surface[#type] = std::to_string(sizeof(type)) + " " + type_text<type>()
#define FIELD(type, field)     \
  surface[#type "::" #field] = \
      std::to_string(offsetof(type, field)) + " " + type_text<decltype(type::field)>()

void add_cuda_values(Surface& surface) {
  VALUE(cudaSuccess);
  VALUE(cudaErrorInvalidValue);
  VALUE(cudaErrorMemoryAllocation);
  VALUE(cudaErrorInitializationError);
  VALUE(cudaErrorInvalidMemcpyDirection);
  VALUE(cudaErrorInsufficientDriver);
  VALUE(cudaErrorNoDevice);
  VALUE(cudaErrorInvalidDevice);
  VALUE(cudaErrorECCUncorrectable);
  VALUE(cudaErrorPeerAccessUnsupported);
  VALUE(cudaErrorInvalidResourceHandle);
  VALUE(cudaErrorNotReady);
  VALUE(cudaErrorIllegalAddress);
  VALUE(cudaErrorLaunchFailure);
  VALUE(cudaErrorNotPermitted);
  VALUE(cudaErrorNotSupported);
  VALUE(cudaErrorUnknown);
  VALUE(cudaMemcpyHostToHost);
  VALUE(cudaMemcpyHostToDevice);
  VALUE(cudaMemcpyDeviceToHost);
  VALUE(cudaMemcpyDeviceToDevice);
  VALUE(cudaMemcpyDefault);
  VALUE(cudaMemoryTypeUnregistered);
  VALUE(cudaMemoryTypeHost);
  VALUE(cudaMemoryTypeDevice);
  VALUE(cudaMemoryTypeManaged);
  VALUE(cudaStreamDefault);
  VALUE(cudaStreamNonBlocking);
  VALUE(cudaEventDefault);
  VALUE(cudaEventBlockingSync);
  VALUE(cudaEventDisableTiming);
  VALUE(cudaHostAllocDefault);
  VALUE(cudaHostAllocPortable);
}

void add_cuda_attributes(Surface& surface) {
  VALUE(cudaDevAttrMultiProcessorCount);
  VALUE(cudaDevAttrComputeCapabilityMajor);
  VALUE(cudaDevAttrComputeCapabilityMinor);
  VALUE(cudaDevAttrMemoryPoolsSupported);
  VALUE(cudaMemPoolReuseFollowEventDependencies);
  VALUE(cudaMemPoolReuseAllowOpportunistic);
  VALUE(cudaMemPoolReuseAllowInternalDependencies);
  VALUE(cudaMemPoolAttrReleaseThreshold);
  VALUE(cudaMemPoolAttrReservedMemCurrent);
  VALUE(cudaMemPoolAttrReservedMemHigh);
  VALUE(cudaMemPoolAttrUsedMemCurrent);
  VALUE(cudaMemPoolAttrUsedMemHigh);
  VALUE(cudaMemLocationTypeInvalid);
  VALUE(cudaMemLocationTypeDevice);
  VALUE(cudaMemLocationTypeHost);
  VALUE(cudaMemAccessFlagsProtNone);
  VALUE(cudaMemAccessFlagsProtRead);
  VALUE(cudaMemAccessFlagsProtReadWrite);
  VALUE(cudaMemAllocationTypeInvalid);
  VALUE(cudaMemAllocationTypePinned);
  VALUE(cudaMemAllocationTypeMax);
  VALUE(cudaMemHandleTypeNone);
  VALUE(cudaMemHandleTypePosixFileDescriptor);
}

void add_cuda_types(Surface& surface) {
  SIZE(cudaError_t);
  SIZE(cudaStream_t);
  SIZE(cudaEvent_t);
  SIZE(cudaMemPool_t);
  SIZE(cudaMemLocation);
  FIELD(cudaMemLocation, type);
  FIELD(cudaMemLocation, id);
  SIZE(cudaMemAccessDesc);
  FIELD(cudaMemAccessDesc, location);
  FIELD(cudaMemAccessDesc, flags);
  SIZE(cudaMemPoolProps);
  FIELD(cudaMemPoolProps, allocType);
  FIELD(cudaMemPoolProps, handleTypes);
  FIELD(cudaMemPoolProps, location);
  FIELD(cudaMemPoolProps, win32SecurityAttributes);
  FIELD(cudaMemPoolProps, maxSize);
  FIELD(cudaMemPoolProps, usage);
  FIELD(cudaMemPoolProps, reserved);
  SIZE(cudaPointerAttributes);
  FIELD(cudaPointerAttributes, type);
  FIELD(cudaPointerAttributes, device);
  FIELD(cudaPointerAttributes, devicePointer);
  FIELD(cudaPointerAttributes, hostPointer);
  FIELD(cudaPointerAttributes, reserved);
}

void add_cuda_functions(Surface& surface) {
  using Allocate = cudaError_t(void**, std::size_t, cudaMemPool_t, cudaStream_t);
  FUNCTION(cudaDriverGetVersion);
  FUNCTION(cudaRuntimeGetVersion);
  FUNCTION(cudaGetLastError);
  FUNCTION(cudaPeekAtLastError);
  FUNCTION(cudaGetErrorName);
  FUNCTION(cudaGetErrorString);
  FUNCTION(cudaGetDeviceCount);
  FUNCTION(cudaSetDevice);
  FUNCTION(cudaGetDevice);
  FUNCTION(cudaDeviceGetAttribute);
  FUNCTION(cudaDeviceCanAccessPeer);
  FUNCTION(cudaDeviceGetStreamPriorityRange);
  FUNCTION(cudaDeviceSynchronize);
  FUNCTION(cudaStreamCreateWithPriority);
  FUNCTION(cudaStreamCreate);
  FUNCTION(cudaStreamCreateWithFlags);
  FUNCTION(cudaStreamDestroy);
  FUNCTION(cudaStreamSynchronize);
  FUNCTION(cudaStreamQuery);
  FUNCTION(cudaStreamWaitEvent);
  using CreateEvent = cudaError_t(cudaEvent_t*);
  surface["cudaEventCreate"] = type_text<decltype(static_cast<CreateEvent*>(cudaEventCreate))>();
  FUNCTION(cudaEventCreateWithFlags);
  FUNCTION(cudaEventElapsedTime);
  FUNCTION(cudaEventRecord);
  FUNCTION(cudaEventQuery);
  FUNCTION(cudaEventSynchronize);
  FUNCTION(cudaEventDestroy);
  FUNCTION(cudaMemPoolCreate);
  FUNCTION(cudaMemPoolDestroy);
  FUNCTION(cudaMemPoolSetAttribute);
  FUNCTION(cudaMemPoolSetAccess);
  // The toolkit has templates with the name of the function.
  surface["cudaMallocFromPoolAsync"] =
      type_text<decltype(static_cast<Allocate*>(cudaMallocFromPoolAsync))>();
  using AllocateAsync = cudaError_t(void**, size_t, cudaStream_t);
  surface["cudaMallocAsync"] = type_text<decltype(static_cast<AllocateAsync*>(cudaMallocAsync))>();
  FUNCTION(cudaFreeAsync);
  using AllocateNow = cudaError_t(void**, size_t);
  surface["cudaMalloc"] = type_text<decltype(static_cast<AllocateNow*>(cudaMalloc))>();
  surface["cudaMallocHost"] = type_text<decltype(static_cast<AllocateNow*>(cudaMallocHost))>();
  FUNCTION(cudaFree);
  using AllocateHost = cudaError_t(void**, size_t, unsigned int);
  surface["cudaHostAlloc"] = type_text<decltype(static_cast<AllocateHost*>(cudaHostAlloc))>();
  FUNCTION(cudaFreeHost);
  FUNCTION(cudaMemGetInfo);
  FUNCTION(cudaPointerGetAttributes);
  FUNCTION(cudaMemset);
  FUNCTION(cudaMemsetAsync);
  FUNCTION(cudaMemcpy);
  FUNCTION(cudaMemcpyAsync);
  FUNCTION(cudaMemcpyPeerAsync);
}

void add_nccl_values(Surface& surface) {
  VALUE(NCCL_UNIQUE_ID_BYTES);
  VALUE(NCCL_CONFIG_UNDEF_INT);
  VALUE(ncclSuccess);
  VALUE(ncclUnhandledCudaError);
  VALUE(ncclSystemError);
  VALUE(ncclInternalError);
  VALUE(ncclInvalidArgument);
  VALUE(ncclInvalidUsage);
  VALUE(ncclRemoteError);
  VALUE(ncclInProgress);
  VALUE(ncclSum);
  VALUE(ncclProd);
  VALUE(ncclMax);
  VALUE(ncclMin);
  VALUE(ncclAvg);
  VALUE(ncclNumOps);
  VALUE(ncclMaxRedOp);
  VALUE(ncclInt8);
  VALUE(ncclUint8);
  VALUE(ncclInt32);
  VALUE(ncclUint32);
  VALUE(ncclInt64);
  VALUE(ncclUint64);
  VALUE(ncclFloat16);
  VALUE(ncclFloat32);
  VALUE(ncclFloat64);
  VALUE(ncclBfloat16);
  VALUE(ncclFloat8e4m3);
  VALUE(ncclFloat8e5m2);
  VALUE(ncclChar);
  VALUE(ncclInt);
  VALUE(ncclHalf);
  VALUE(ncclFloat);
  VALUE(ncclDouble);
}

void add_nccl_types(Surface& surface) {
  SIZE(ncclResult_t);
  SIZE(ncclComm_t);
  SIZE(ncclUniqueId);
  SIZE(ncclRedOp_t);
  SIZE(ncclDataType_t);
  SIZE(ncclConfig_t);
  FIELD(ncclConfig_t, size);
  FIELD(ncclConfig_t, magic);
  FIELD(ncclConfig_t, version);
  FIELD(ncclConfig_t, blocking);
  FIELD(ncclConfig_t, cgaClusterSize);
  FIELD(ncclConfig_t, minCTAs);
  FIELD(ncclConfig_t, maxCTAs);
  FIELD(ncclConfig_t, netName);
  FIELD(ncclConfig_t, splitShare);
  FIELD(ncclConfig_t, trafficClass);
  FIELD(ncclConfig_t, commName);
  FIELD(ncclConfig_t, collnetEnable);
  FIELD(ncclConfig_t, CTAPolicy);
  FIELD(ncclConfig_t, shrinkShare);
  FIELD(ncclConfig_t, nvlsCTAs);
  FIELD(ncclConfig_t, nChannelsPerNetPeer);
  FIELD(ncclConfig_t, nvlinkCentricSched);
  const ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&initial);
  surface["NCCL_CONFIG_INITIALIZER"] = std::string(bytes, bytes + offsetof(ncclConfig_t, version));
  surface["NCCL_CONFIG_INITIALIZER from blocking on"] =
      std::string(bytes + offsetof(ncclConfig_t, blocking), bytes + sizeof initial);
}

void add_nccl_functions(Surface& surface) {
  FUNCTION(ncclGetVersion);
  FUNCTION(ncclGetErrorString);
  FUNCTION(ncclGetLastError);
  FUNCTION(ncclGetUniqueId);
  FUNCTION(ncclCommInitRankConfig);
  FUNCTION(ncclCommInitRank);
  FUNCTION(ncclCommInitAll);
  FUNCTION(ncclCommCount);
  FUNCTION(ncclCommCuDevice);
  FUNCTION(ncclCommUserRank);
  FUNCTION(ncclCommFinalize);
  FUNCTION(ncclCommDestroy);
  FUNCTION(ncclCommAbort);
  FUNCTION(ncclCommGetAsyncError);
  FUNCTION(ncclGroupStart);
  FUNCTION(ncclGroupEnd);
  FUNCTION(ncclAllReduce);
  FUNCTION(ncclReduce);
  FUNCTION(ncclBroadcast);
  FUNCTION(ncclAllGather);
  FUNCTION(ncclReduceScatter);
  FUNCTION(ncclSend);
  FUNCTION(ncclRecv);
}

}  // namespace

Surface BELFRY_SURFACE() {
  Surface surface;
  add_cuda_values(surface);
  add_cuda_attributes(surface);
  add_cuda_types(surface);
  add_cuda_functions(surface);
  add_nccl_values(surface);
  add_nccl_types(surface);
  add_nccl_functions(surface);
  return surface;
}

}  // namespace belfry::driver
