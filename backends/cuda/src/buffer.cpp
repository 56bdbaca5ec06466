// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "buffer.h"

#include <utility>

namespace belfry::cuda {

Buffer::Buffer(belfry::Device& device, std::shared_ptr<StreamHandle> home, std::size_t bytes)
    : belfry::Buffer(device, home->device().allocate(bytes, home->get()), bytes),
      home_(std::move(home)) {}

Buffer::Buffer(belfry::Device& device, std::shared_ptr<StreamHandle> home, ForeignMemory memory,
               bool everywhere)
    : belfry::Buffer(device, memory.address, memory.bytes, memory.origin()),
      home_(std::move(home)),
      owner_(std::move(memory.owner)),
      everywhere_(everywhere) {}

Buffer::~Buffer() {
  if (!is_foreign()) state().free(address(), bytes(), home_->get());
}

bool Buffer::reachable_from(int gpu) const {
  if (is_foreign()) return everywhere_ || gpu == state().gpu();
  return state().reachable_from(gpu);
}

}  // namespace belfry::cuda
