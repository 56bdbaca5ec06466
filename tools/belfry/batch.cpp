// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "batch.h"

#include <algorithm>
#include <cstdint>

namespace belfry::demo {

Batch make_batch(const Digits& digits, std::span<const int> rows, BatchScales scales) {
  const auto count = rows.size();
  std::vector<float> images;
  images.reserve(count * kPixels);
  std::vector<float> targets(count * kDigits, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    for (std::size_t p = 0; p < kPixels; ++p) {
      images.push_back(static_cast<float>(digits.pixels[row * kPixels + p]) * scales.pixel);
    }
    targets[i * kDigits + digits.labels[row]] = scales.target;
  }
  const auto extent = static_cast<std::int64_t>(count);
  return {Tensor<float>::from({extent, kPixels}, images),
          Tensor<float>::from({extent, kDigits}, targets)};
}

std::span<const int> share(std::span<const int> rows, int part, int parts) {
  const auto all = static_cast<int>(rows.size());
  const int begin = part * (all / parts) + std::min(part, all % parts);
  const int size = all / parts + (part < all % parts ? 1 : 0);
  return rows.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
}

}  // namespace belfry::demo
