// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_ops.h"
#include "belfry/backend/type_lists.h"
#include "belfry/error.h"

#include <cstddef>
#include <utility>

// Iterations of the next loop are independent, which compilers cannot see: an output is the same
// view as an input, or does not overlap the input.
#if defined(__clang__)
#define BELFRY_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define BELFRY_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

/// From the types and operations of a call, known at run time, to templates.
namespace belfry::kernels {

/// visit_type for numbers. Integers come as unsigned integers if the operation ignores their sign.
template <bool ignores_sign, class Function>
void visit_number(DType dtype, Function&& function) {
  if constexpr (ignores_sign) {
    visit_type(UnsignedOrFloatingTypes{}, element::unsigned_of(dtype), function);
  } else {
    visit_type(NumericTypes{}, dtype, function);
  }
}

template <auto value>
struct Constant {
  static constexpr auto kValue = value;
};

/// Calls `function` with the Constant of the enumerator. `last` is the last enumerator.
template <auto last, class Function>
void visit_enum(decltype(last) value, Function&& function) {
  using Enum = decltype(last);
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    const bool found = ((static_cast<Enum>(kIndex) == value
                             ? (function(Constant<static_cast<Enum>(kIndex)>{}), true)
                             : false) ||
                        ...);
    check(found, "a kernel was run that validate() rejects");
  }(std::make_index_sequence<static_cast<std::size_t>(last) + 1>{});
}

}  // namespace belfry::kernels
