// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/allocation.h"

#include "engine/device_memory.h"

#include <utility>

namespace belfry::engine {

Allocation::Allocation(std::shared_ptr<DeviceMemory> memory, Block block, std::size_t bytes,
                       std::uint64_t number)
    : memory_(std::move(memory)),
      block_(block),
      bytes_(bytes),
      device_(memory_->device()),
      number_(number) {}

Allocation::~Allocation() {
  retire();
  memory_->release(*this, block_);
}

std::uint64_t Allocation::resource() const {
  return static_cast<std::uint64_t>(device_ + 1) << 40 | number_;
}

std::string Allocation::describe() const {
  const std::string place = device_ < 0 ? "the host" : "device " + std::to_string(device_);
  return "buffer " + std::to_string(number_) + " of " + place + " (" + std::to_string(bytes_) +
         " bytes)";
}

void Allocation::retire() {
  if (!retired_.exchange(true)) memory_->retire(*this);
}

}  // namespace belfry::engine
