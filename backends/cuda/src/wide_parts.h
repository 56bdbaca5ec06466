// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/collective.h"

#include <cstddef>
#include <span>
#include <vector>

namespace belfry::cuda {

/// The operands of reductions in place of their parts: 16 bits are then rounded once (SEM-33). For
/// 16-bit floats, float temporaries that hold the inputs and are reduced in place; for other types
/// the parts themselves.
class WideParts {
 public:
  /// Order: enqueues the widening on each part's stream. Throws: DeviceError; before anything is
  /// enqueued where memory is used up.
  explicit WideParts(std::span<const CollectivePart> parts) : WideParts({.parts = parts}) {}
  /// For all-reduces, and for reduce-scatters: an output is a slice of the temporary.
  explicit WideParts(const Collective& collective);
  WideParts(const WideParts&) = delete;
  WideParts& operator=(const WideParts&) = delete;

  std::span<const CollectivePart> parts() const { return parts_; }
  DType dtype() const { return parts_[0].input.dtype; }
  /// Enqueues the rounding of the result at `place` to the part's own output, if both differ.
  void round(std::size_t place) const;

 private:
  std::span<const CollectivePart> given_;
  std::vector<CollectivePart> temporaries_;
  std::span<const CollectivePart> parts_;
};

}  // namespace belfry::cuda
