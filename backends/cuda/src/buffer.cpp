// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "buffer.h"

#include "belfry/backend/current_slot.h"

#include <utility>

namespace belfry::cuda {

HomeMemory::HomeMemory(std::shared_ptr<StreamHandle> home, std::size_t bytes)
    : home_(std::move(home)),
      bytes_(bytes),
      address_(home_->device().allocate(bytes, home_->get())) {
  home_->enqueued();
}

HomeMemory::~HomeMemory() { home_->device().free(address_, bytes_, home_->get()); }

Buffer::Buffer(belfry::Device& device, std::shared_ptr<HomeMemory> memory)
    : belfry::Buffer(device, memory->address(), memory->bytes()),
      home_(memory->home()),
      kept_(std::move(memory)) {}

Buffer::Buffer(belfry::Device& device, std::shared_ptr<StreamHandle> home, ForeignMemory memory,
               bool everywhere)
    : belfry::Buffer(device, memory.address, memory.bytes, memory.origin()),
      home_(std::move(home)),
      kept_(std::move(memory.owner)),
      everywhere_(everywhere) {}

// A body may call neither CUDA nor, as the end of an owner may, belfry.
Buffer::~Buffer() {
  if (kept_ != nullptr && detail::is_in_kernel()) {
    state().shared().ended_in_bodies.keep(std::move(kept_));
  }
}

bool Buffer::reachable_from(int gpu) const {
  if (is_foreign()) return everywhere_ || gpu == state().gpu();
  return state().reachable_from(gpu);
}

}  // namespace belfry::cuda
