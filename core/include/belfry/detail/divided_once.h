// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dtype.h"
#include "belfry/tensor.h"

#include <string_view>
#include <type_traits>

namespace belfry::detail {

/// Each element divided by a number, rounded once: 16-bit floats are divided as floats, since they
/// may not hold a number of replicas (SEM-31). Integers are divided towards zero.
AnyTensor divided_once(const AnyTensor& tensor, int by, std::string_view what, CallSite site);

template <Element E>
E divided_once(E value, int by) {
  if constexpr (!std::is_integral_v<E> && sizeof(E) == 2) {
    return static_cast<E>(static_cast<float>(value) / static_cast<float>(by));
  } else {
    return static_cast<E>(value / static_cast<E>(by));
  }
}

}  // namespace belfry::detail
