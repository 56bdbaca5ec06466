// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_ops.h"
#include "belfry/backend/kernel.h"
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

template <class... Ts>
struct TypeList {};

using FloatingTypes = TypeList<float, double, Float16, BFloat16>;
using UnsignedTypes = TypeList<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
/// The types of operations that ignore the sign of integers: all types after `unsigned_of`.
using UnsignedOrFloatingTypes = TypeList<float, double, Float16, BFloat16, std::uint8_t,
                                         std::uint16_t, std::uint32_t, std::uint64_t>;
using NumericTypes =
    TypeList<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
             std::uint8_t, std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using IndexTypes = TypeList<std::int32_t, std::int64_t>;
using AllTypes = TypeList<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
                          std::uint8_t, element::BoolByte, std::int16_t, std::uint16_t,
                          std::uint32_t, std::uint64_t>;

template <class T>
struct Tag {
  using Type = T;
};

/// Calls `function` with the Tag of the type in the list that has this DType. A validated call
/// always finds a type.
template <class... Ts, class Function>
void visit_type(TypeList<Ts...>, DType dtype, Function&& function) {
  const bool found =
      ((element::dtype_in_memory<Ts>() == dtype ? (function(Tag<Ts>{}), true) : false) || ...);
  check(found, "a kernel was run that validate() rejects");
}

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

template <class T>
T* elements_of(const KernelOperand& operand) {
  return static_cast<T*>(operand.data);
}

}  // namespace belfry::kernels
