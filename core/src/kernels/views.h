// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/kernel.h"
#include "belfry/error.h"

#include <compare>
#include <cstddef>
#include <optional>
#include <string>

/// The views of a kernel or of a collective: faults of a view, and overlaps of two views.
namespace belfry::kernels {

/// The reason why a view is unusable. The text continues the name of the view: `input 0 has no
/// buffer`.
struct ViewFault {
  ErrorCode code;
  std::string text;
};

std::optional<ViewFault> fault_of(const BufferView& view);

/// An output, and an operand that shares bytes with the output.
struct Overlap {
  std::size_t output = 0;
  bool with_input = false;  ///< False: with a second output.
  std::size_t other = 0;

  auto operator<=>(const Overlap&) const = default;
};

/// Whether both have a byte in common. The addresses decide for two buffers, if both have
/// addresses.
bool share_memory(const BufferView& a, const BufferView& b);

/// Whether both are the same elements of the same bytes.
bool same_view(const BufferView& a, const BufferView& b);

/// The first forbidden overlap of a kernel. `in_place`: an output may be the same view as an input.
std::optional<Overlap> find_overlap(const Kernel& kernel, bool in_place);

}  // namespace belfry::kernels
