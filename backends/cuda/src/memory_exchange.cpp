// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "memory_exchange.h"

#include "belfry/backend/current_slot.h"
#include "belfry/error.h"
#include "check.h"
#include "current_gpu.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace belfry::cuda {
namespace {

cudaPointerAttributes attributes_of(const void* address) {
  cudaPointerAttributes attributes{};
  BELFRY_CUDA_TRY(cudaPointerGetAttributes(&attributes, address));
  return attributes;
}

std::string name_of(const cudaPointerAttributes& attributes) {
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
      return "memory of GPU " + std::to_string(attributes.device);
    case cudaMemoryTypeHost:
      return "pinned memory of the host";
    case cudaMemoryTypeManaged:
      return "managed memory";
    default:
      return "memory that CUDA does not know";
  }
}

bool can_use(const DeviceState& device, const cudaPointerAttributes& attributes) {
  if (attributes.type == cudaMemoryTypeManaged) return true;
  if (device.is_host()) return attributes.type == cudaMemoryTypeHost;
  return attributes.type == cudaMemoryTypeDevice && attributes.device == device.gpu();
}

}  // namespace

bool require_usable(const DeviceState& device, const ForeignMemory& memory) {
  if (memory.bytes == 0) return true;
  bool everywhere = true;
  for (const std::size_t byte : {std::size_t{0}, memory.bytes - 1}) {
    const auto attributes = attributes_of(static_cast<const std::byte*>(memory.address) + byte);
    everywhere = everywhere && attributes.type != cudaMemoryTypeDevice;
    if (can_use(device, attributes)) continue;
    const std::string place = device.is_host() ? "the host" : "GPU " + std::to_string(device.gpu());
    throw InvalidArgumentError(
        ErrorCode::kForeignObject, "a tensor of " + place + " over " + name_of(attributes),
        device.is_host() ? "use memory of cudaMallocHost or cudaHostRegister, or managed memory"
                         : "use memory of the GPU, of cudaMalloc for example, or managed memory",
        detail::submitting_site());
  }
  return everywhere;
}

cudaStream_t stream_of_number(std::int64_t number) {
  constexpr std::int64_t kLegacyDefault = 1;
  if (number == kLegacyDefault) return nullptr;
  return reinterpret_cast<cudaStream_t>(static_cast<std::uintptr_t>(number));
}

void order_after(DeviceState& device, cudaStream_t later, cudaStream_t earlier) {
  const CurrentGpu current(device.gpu());  // For the default streams.
  cudaEvent_t event = device.take_event();
  try {
    BELFRY_CUDA_TRY(cudaEventRecord(event, earlier));
    BELFRY_CUDA_TRY(cudaStreamWaitEvent(later, event, 0));
  } catch (...) {
    device.give_event(event);
    throw;
  }
  device.give_event(event);  // Issued waits keep the recorded work.
}

}  // namespace belfry::cuda
