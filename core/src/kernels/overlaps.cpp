// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/overlaps.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace belfry::kernels {
namespace {

void keep_first(std::optional<Overlap>& found, Overlap overlap) {
  if (!found || overlap < *found) found = overlap;
}

std::optional<Overlap> compare_all_pairs(const Kernel& kernel, bool in_place) {
  for (std::size_t o = 0; o < kernel.outputs.size(); ++o) {
    const BufferView& output = kernel.outputs[o];
    for (std::size_t other = 0; other < o; ++other) {
      if (share_bytes(output, kernel.outputs[other])) return Overlap{o, false, other};
    }
    for (std::size_t i = 0; i < kernel.inputs.size(); ++i) {
      const BufferView& input = kernel.inputs[i];
      if (share_bytes(output, input) && !(in_place && same_view(output, input))) {
        return Overlap{o, true, i};
      }
    }
  }
  return std::nullopt;
}

// For many operands. Addresses group the views by buffer; the result does not depend on the order
// of the groups.
class SortedOutputs {
 public:
  explicit SortedOutputs(const Kernel& kernel) : kernel_(kernel) {
    for (std::size_t o = 0; o < kernel.outputs.size(); ++o) {
      if (kernel.outputs[o].count > 0) order_.push_back(o);
    }
    std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
      return is_before(kernel_.outputs[a], kernel_.outputs[b]);
    });
  }

  void compare_neighbours(std::optional<Overlap>& found) const {
    for (std::size_t k = 1; k < order_.size(); ++k) {
      if (!share_bytes(kernel_.outputs[order_[k - 1]], kernel_.outputs[order_[k]])) continue;
      const auto [low, high] = std::minmax(order_[k - 1], order_[k]);
      keep_first(found, {high, false, low});
    }
  }

  // Outputs do not overlap one another. Only two kinds can overlap the input: the last output that
  // begins before the input's end, and outputs before it that begin within the input.
  void compare(std::size_t input, bool in_place, std::optional<Overlap>& found) const {
    const BufferView& view = kernel_.inputs[input];
    BufferView end = view;
    end.offset += view.bytes();
    auto at = std::ranges::lower_bound(
        order_, end, is_before, [&](std::size_t o) -> const auto& { return kernel_.outputs[o]; });
    while (at != order_.begin()) {
      const std::size_t o = *--at;
      if (!share_bytes(kernel_.outputs[o], view)) break;
      if (!(in_place && same_view(kernel_.outputs[o], view))) keep_first(found, {o, true, input});
    }
  }

 private:
  static bool is_before(const BufferView& a, const BufferView& b) {
    if (a.buffer != b.buffer) return std::less<>{}(a.buffer.get(), b.buffer.get());
    return a.offset < b.offset;
  }

  const Kernel& kernel_;
  std::vector<std::size_t> order_;
};

}  // namespace

bool same_view(const BufferView& a, const BufferView& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.count == b.count && a.dtype == b.dtype;
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
