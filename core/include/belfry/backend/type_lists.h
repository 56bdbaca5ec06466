// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/element_types.h"
#include "belfry/backend/kernel.h"
#include "belfry/error.h"

#include <cstdint>
#include <type_traits>

/// From the element types of a call of a kernel, known at run time, to templates.
namespace belfry::kernels {

/// Types of elements in memory.
template <class... Ts>
struct TypeList {};

/// The floating types.
using FloatingTypes = TypeList<float, double, Float16, BFloat16>;
/// The unsigned integers.
using UnsignedTypes = TypeList<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
/// The types of operations that ignore the sign of integers: all types after `unsigned_of`.
using UnsignedOrFloatingTypes = TypeList<float, double, Float16, BFloat16, std::uint8_t,
                                         std::uint16_t, std::uint32_t, std::uint64_t>;
/// All types but bool.
using NumericTypes =
    TypeList<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
             std::uint8_t, std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>;
/// The types of row numbers.
using IndexTypes = TypeList<std::int32_t, std::int64_t>;
/// The types of all tensors; bool as its byte.
using AllTypes = TypeList<float, double, Float16, BFloat16, std::int8_t, std::int32_t, std::int64_t,
                          std::uint8_t, element::BoolByte, std::int16_t, std::uint16_t,
                          std::uint32_t, std::uint64_t>;

/// Stands for a type, as an argument.
template <class T>
struct Tag {
  using Type = T;  ///< The type.
};

/// Calls `function` with the Tag of the type in the list that has this DType. A validated call
/// always finds a type.
template <class... Ts, class Function>
void visit_type(TypeList<Ts...>, DType dtype, Function&& function) {
  const bool found =
      ((element::dtype_in_memory<Ts>() == dtype ? (function(Tag<Ts>{}), true) : false) || ...);
  check(found, "a kernel was run that validate() rejects");
}

/// The type of sums of products. Integers are accumulated modulo 2^32 or 2^64, a multiple of the
/// result's modulus.
template <class T>
using Accumulator =
    std::conditional_t<element::kIsFloating<T>, element::Compute<T>,
                       std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;

/// The elements of an operand whose element type is T.
template <class T>
T* elements_of(const KernelOperand& operand) {
  return static_cast<T*>(operand.data);
}

}  // namespace belfry::kernels
