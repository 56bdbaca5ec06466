// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/communicator.h"

#include <span>
#include <vector>

namespace belfry::cuda {

/// What a reduction adds up in place of its parts, so that 16 bits are rounded once (SEM-33): for
/// 16-bit floats temporaries of floats that hold the inputs, reduced in place; else the parts.
class WideParts {
 public:
  /// Order: enqueues the widening on each part's stream. Throws: DeviceError; before anything is
  /// enqueued where memory is used up.
  explicit WideParts(std::span<const CollectivePart> parts);
  WideParts(const WideParts&) = delete;
  WideParts& operator=(const WideParts&) = delete;

  std::span<const CollectivePart> parts() const { return parts_; }
  DType dtype() const { return parts_[0].input.dtype; }
  /// Enqueues the rounding of the result of `rank` to its own output, where they differ.
  void round(int rank) const;

 private:
  std::span<const CollectivePart> given_;
  std::vector<CollectivePart> temporaries_;
  std::span<const CollectivePart> parts_;
};

}  // namespace belfry::cuda
