// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "ownership.h"

#include "belfry/error.h"

#include <string>

namespace belfry::cuda {
namespace {

[[noreturn]] void throw_foreign(const char* what) {
  throw InvalidArgumentError(ErrorCode::kForeignObject,
                             std::string("the ") + what + " was made by another backend",
                             "use streams, events and buffers with the backend that made them");
}

}  // namespace

Stream& own(const SharedState& shared, belfry::Stream& stream) {
  auto* mine = dynamic_cast<Stream*>(&stream);
  if (mine == nullptr || &mine->state().shared() != &shared) throw_foreign("stream");
  return *mine;
}

Event& own(const SharedState& shared, belfry::Event& event) {
  auto* mine = dynamic_cast<Event*>(&event);
  if (mine == nullptr || &mine->shared() != &shared) throw_foreign("event");
  return *mine;
}

Buffer& own(const SharedState& shared, const BufferView& view) {
  if (view.buffer == nullptr) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a view has no buffer",
                               "allocate one, also for zero elements");
  }
  auto* mine = dynamic_cast<Buffer*>(view.buffer.get());
  if (mine == nullptr || &mine->state().shared() != &shared) throw_foreign("buffer");
  if (view.offset % size_of(view.dtype) != 0) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "a view of " + to_string(view.dtype) + " starts at byte " +
                                   std::to_string(view.offset) +
                                   ", which is not a multiple of their size");
  }
  const std::size_t room = mine->bytes() - std::min(mine->bytes(), view.offset);
  if (view.offset > mine->bytes() || view.count > room / size_of(view.dtype)) {
    throw InvalidArgumentError(ErrorCode::kOutOfBounds,
                               "a view of " + std::to_string(view.count) + " " +
                                   to_string(view.dtype) + " at byte " +
                                   std::to_string(view.offset) + " ends behind its buffer of " +
                                   std::to_string(mine->bytes()) + " bytes");
  }
  return *mine;
}

void* address_of(const SharedState& shared, const BufferView& view) {
  return static_cast<std::byte*>(own(shared, view).address()) + view.offset;
}

void require_reachable(const Buffer& buffer, int gpu) {
  if (buffer.reachable_from(gpu)) return;
  throw UnsupportedError(ErrorCode::kUnsupported,
                         "a kernel on GPU " + std::to_string(gpu) + " cannot use memory of GPU " +
                             std::to_string(buffer.state().gpu()),
                         "these GPUs have no peer access: copy to the kernel's device first");
}

}  // namespace belfry::cuda
