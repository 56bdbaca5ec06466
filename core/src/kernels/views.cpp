// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/views.h"

#include "belfry/backend/user_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace belfry::kernels {
namespace {

// The distance in bytes from the start of `a` to the start of `b`, if both lie in one buffer or
// both have addresses. Two buffers may be made over the same memory.
std::optional<std::ptrdiff_t> distance(const BufferView& a, const BufferView& b) {
  const auto offsets = static_cast<std::ptrdiff_t>(b.offset - a.offset);
  if (a.buffer == b.buffer) return offsets;
  if (a.buffer == nullptr || b.buffer == nullptr) return std::nullopt;
  const auto* const base_a = static_cast<const std::byte*>(a.buffer->address());
  const auto* const base_b = static_cast<const std::byte*>(b.buffer->address());
  if (base_a == nullptr || base_b == nullptr) return std::nullopt;
  const auto bases = static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(base_b) -
                                                 reinterpret_cast<std::uintptr_t>(base_a));
  return bases + offsets;
}

void keep_first(std::optional<Overlap>& found, Overlap overlap) {
  if (!found || overlap < *found) found = overlap;
}

// Whether output `o` may be the very view of an input.
bool may_be_input(const Kernel& kernel, std::size_t o, bool in_place) {
  return in_place || (kernel.user != nullptr && updates_output(kernel, o));
}

std::optional<Overlap> compare_all_pairs(const Kernel& kernel, bool in_place) {
  for (std::size_t o = 0; o < kernel.outputs.size(); ++o) {
    const BufferView& output = kernel.outputs[o];
    for (std::size_t other = 0; other < o; ++other) {
      if (share_memory(output, kernel.outputs[other])) return Overlap{o, false, other};
    }
    for (std::size_t i = 0; i < kernel.inputs.size(); ++i) {
      const BufferView& input = kernel.inputs[i];
      if (!share_memory(output, input)) continue;
      if (!(same_view(output, input) && may_be_input(kernel, o, in_place))) {
        return Overlap{o, true, i};
      }
    }
  }
  return std::nullopt;
}

// The place of a view in an order in which views with common bytes are neighbours: the address, or
// for buffers without an address the buffer and the offset.
struct Place {
  explicit Place(const BufferView& view, std::size_t of = 0)
      : buffer(view.buffer->address() == nullptr ? number_of(view.buffer.get()) : 0),
        offset(number_of(view.buffer->address()) + view.offset),
        output(of) {}

  bool operator<(const Place& other) const {
    return buffer != other.buffer ? buffer < other.buffer : offset < other.offset;
  }

  static std::uintptr_t number_of(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }
  std::uintptr_t buffer;
  std::uintptr_t offset;
  std::size_t output;  // The number of the view.
};

// For many operands. Places group the views; the result does not depend on the order of the groups.
class SortedOutputs {
 public:
  explicit SortedOutputs(const Kernel& kernel) : kernel_(kernel) {
    order_.reserve(kernel.outputs.size());
    for (std::size_t o = 0; o < kernel.outputs.size(); ++o) {
      if (kernel.outputs[o].count > 0) order_.emplace_back(kernel.outputs[o], o);
    }
    std::sort(order_.begin(), order_.end());
  }

  void compare_neighbours(std::optional<Overlap>& found) const {
    for (std::size_t k = 1; k < order_.size(); ++k) {
      const auto [low, high] = std::minmax(order_[k - 1].output, order_[k].output);
      if (!share_memory(kernel_.outputs[low], kernel_.outputs[high])) continue;
      keep_first(found, {high, false, low});
    }
  }

  // Outputs do not overlap one another. Only two kinds can overlap the input: the last output that
  // begins before the input's end, and outputs before it that begin within the input.
  void compare(std::size_t input, bool in_place, std::optional<Overlap>& found) const {
    const BufferView& view = kernel_.inputs[input];
    Place end(view);
    end.offset += view.bytes();
    auto at = std::lower_bound(order_.begin(), order_.end(), end);
    while (at != order_.begin()) {
      const std::size_t o = (--at)->output;
      if (!share_memory(kernel_.outputs[o], view)) break;
      if (!(same_view(kernel_.outputs[o], view) && may_be_input(kernel_, o, in_place))) {
        keep_first(found, {o, true, input});
      }
    }
  }

 private:
  const Kernel& kernel_;
  std::vector<Place> order_;
};

}  // namespace

std::optional<ViewFault> fault_of(const BufferView& view) {
  if (view.buffer == nullptr) return ViewFault{ErrorCode::kInvalidArgument, "has no buffer"};
  // A power of two: masks and shifts are many times as fast as divisions.
  const std::size_t element = size_of(view.dtype);
  if ((view.offset & (element - 1)) != 0) {
    return ViewFault{ErrorCode::kInvalidArgument,
                     fmt::format("starts at byte {}, which is not a multiple of the {} bytes of {}",
                                 view.offset, element, to_string(view.dtype))};
  }
  const std::size_t bytes = view.buffer->bytes();
  if (view.offset > bytes || view.count > (bytes - view.offset) >> std::countr_zero(element)) {
    return ViewFault{ErrorCode::kOutOfBounds,
                     fmt::format("is {} elements of {} from byte {} of a buffer of {} bytes",
                                 view.count, to_string(view.dtype), view.offset, bytes)};
  }
  return std::nullopt;
}

bool share_memory(const BufferView& a, const BufferView& b) {
  if (a.count == 0 || b.count == 0) return false;
  const std::optional<std::ptrdiff_t> apart = distance(a, b);
  return apart && *apart < static_cast<std::ptrdiff_t>(a.bytes()) &&
         -*apart < static_cast<std::ptrdiff_t>(b.bytes());
}

bool same_view(const BufferView& a, const BufferView& b) {
  return a.count == b.count && a.dtype == b.dtype && distance(a, b) == 0;
}

std::optional<Overlap> find_overlap(const Kernel& kernel, bool in_place) {
  constexpr std::size_t kFewOutputs = 16;
  if (kernel.outputs.size() <= kFewOutputs) return compare_all_pairs(kernel, in_place);
  const SortedOutputs outputs(kernel);
  std::optional<Overlap> found;
  outputs.compare_neighbours(found);
  if (found) return found;
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i) outputs.compare(i, in_place, found);
  return found;
}

}  // namespace belfry::kernels
