// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "buffer.h"

namespace belfry::cuda {

Buffer::Buffer(belfry::Device& device, std::shared_ptr<StreamHandle> home, std::size_t bytes)
    : belfry::Buffer(device, home->device().allocate(bytes, home->get()), bytes),
      home_(std::move(home)) {}

Buffer::~Buffer() { state().free(address(), bytes(), home_->get()); }

}  // namespace belfry::cuda
