// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "buffer.h"

#include "belfry/backend/current_slot.h"
#include "belfry/error.h"

#include <bit>
#include <string>

namespace belfry::sim {
namespace {

[[noreturn]] void throw_out_of_bounds(const BufferView& view, const engine::Allocation& allocation,
                                      std::string_view what) {
  throw InvalidArgumentError(ErrorCode::kOutOfBounds,
                             std::string(what) + ": " + std::to_string(view.count) +
                                 " elements of " + to_string(view.dtype) + " from byte " +
                                 std::to_string(view.offset) + " do not lie in " +
                                 allocation.describe(),
                             {}, detail::submitting_site());
}

}  // namespace

engine::Access access_of(const BufferView& view, const engine::Engine& engine,
                         std::string_view what, ReplicaUse::Mark user) {
  if (view.buffer == nullptr) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               std::string(what) + ": the view has no buffer",
                               "allocate one, also for zero elements", detail::submitting_site());
  }
  const auto* buffer = exact_cast<const SimBuffer>(view.buffer.get());
  if (buffer == nullptr || &buffer->engine() != &engine) {
    throw InvalidArgumentError(
        ErrorCode::kForeignObject, std::string(what) + ": the buffer belongs to another backend",
        "use a buffer of the backend that does the work", detail::submitting_site());
  }
  const engine::AllocationPtr& allocation = buffer->allocation();
  const std::size_t element = size_of(view.dtype);  // A power of two.
  if ((view.offset & (element - 1)) != 0) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               std::string(what) + ": a view starts at byte " +
                                   std::to_string(view.offset) +
                                   ", which is not a multiple of the " + std::to_string(element) +
                                   " bytes of " + to_string(view.dtype),
                               {}, detail::submitting_site());
  }
  const bool inside =
      view.offset <= allocation->bytes() &&
      view.count <= (allocation->bytes() - view.offset) >> std::countr_zero(element);
  if (!inside) throw_out_of_bounds(view, *allocation, what);
  buffer->use().note(user);
  return {allocation, {view.offset, view.offset + view.bytes()}};
}

}  // namespace belfry::sim
