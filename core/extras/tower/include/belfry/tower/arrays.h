// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dataset.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

/// Datasets of several arrays, for `belfry/tower.h`.
namespace belfry::tower::detail {

/// The common length.
/// Throws: InvalidArgumentError (kShape) for different lengths, or no arrays.
std::int64_t common_length(const std::vector<std::size_t>& lengths, CallSite site);

/// The elements of equal index. `Arrays` is a tuple or pair of vectors.
template <class Element, class Arrays>
Dataset<Element> side_by_side(Arrays arrays, CallSite site) {
  const std::int64_t count = std::apply(
      [&](const auto&... each) { return common_length({each.size()...}, site); }, arrays);
  // Shared by all readers.
  const auto shared = std::make_shared<const Arrays>(std::move(arrays));
  return Dataset<Element>::tabulate(count, [shared](std::int64_t index) {
    const auto at = static_cast<std::size_t>(index);
    return std::apply([at](const auto&... each) { return Element(each[at]...); }, *shared);
  });
}

}  // namespace belfry::tower::detail
