// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstdint>
#include <iosfwd>

namespace belfry {

struct CallSite;
struct ErrorReport;
struct ReplicaReport;
struct ScheduleReport;
enum class DType : std::uint8_t;
enum class ErrorCode : int;
enum class ReduceOp : std::uint8_t;
enum class ReductionOrder : std::uint8_t;

namespace detail {

/// Whether `<<` prints a type of belfry as the text of `to_string`. The header of a type sets the
/// variable. The types in the headers of kernels are listed here, to keep those headers small.
/// Conversions to a listed type print nothing.
template <class T>
inline constexpr bool kPrints = false;
template <>
inline constexpr bool kPrints<CallSite> = true;
template <>
inline constexpr bool kPrints<ErrorReport> = true;
template <>
inline constexpr bool kPrints<ReplicaReport> = true;
template <>
inline constexpr bool kPrints<ScheduleReport> = true;
template <>
inline constexpr bool kPrints<DType> = true;
template <>
inline constexpr bool kPrints<ErrorCode> = true;
template <>
inline constexpr bool kPrints<ReduceOp> = true;
template <>
inline constexpr bool kPrints<ReductionOrder> = true;

}  // namespace detail

template <class T>
  requires(detail::kPrints<T>)
std::ostream& operator<<(std::ostream& out, const T& value) {
  return out << to_string(value);
}

}  // namespace belfry
