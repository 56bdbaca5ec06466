// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "ownership.h"

#include "belfry/error.h"

#include <string>
#include <typeinfo>

namespace belfry::cuda {
namespace {

[[noreturn]] void throw_foreign(const char* what) {
  throw InvalidArgumentError(ErrorCode::kForeignObject,
                             std::string("the ") + what + " was made by another backend",
                             "use streams, events and buffers with the backend that made them");
}

// The classes are final: a comparison of types is enough, and faster than a dynamic_cast.
template <class Own, class Base>
Own* as(Base* object) {
  return typeid(*object) == typeid(Own) ? static_cast<Own*>(object) : nullptr;
}

}  // namespace

Stream& own(const SharedState& shared, belfry::Stream& stream) {
  auto* mine = as<Stream>(&stream);
  if (mine == nullptr || &mine->state().shared() != &shared) throw_foreign("stream");
  return *mine;
}

Event& own(const SharedState& shared, belfry::Event& event) {
  auto* mine = as<Event>(&event);
  if (mine == nullptr || &mine->shared() != &shared) throw_foreign("event");
  return *mine;
}

Buffer& own(const SharedState& shared, belfry::Buffer& buffer) {
  auto* mine = as<Buffer>(&buffer);
  if (mine == nullptr || &mine->state().shared() != &shared) throw_foreign("buffer");
  return *mine;
}

Buffer& own(const SharedState& shared, const BufferView& view) {
  if (view.buffer == nullptr) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument, "a view has no buffer",
                               "allocate one, also for zero elements");
  }
  Buffer& mine = own(shared, *view.buffer);
  if (view.offset % size_of(view.dtype) != 0) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "a view of " + to_string(view.dtype) + " starts at byte " +
                                   std::to_string(view.offset) +
                                   ", which is not a multiple of their size");
  }
  const std::size_t room = mine.bytes() - std::min(mine.bytes(), view.offset);
  if (view.offset > mine.bytes() || view.count > room / size_of(view.dtype)) {
    throw InvalidArgumentError(ErrorCode::kOutOfBounds,
                               "a view of " + std::to_string(view.count) + " " +
                                   to_string(view.dtype) + " at byte " +
                                   std::to_string(view.offset) + " ends behind its buffer of " +
                                   std::to_string(mine.bytes()) + " bytes");
  }
  return mine;
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
