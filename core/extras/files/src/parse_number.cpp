// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "parse_number.h"

#include "belfry/detail/print_value.h"
#include "belfry/error.h"

#include <charconv>
#include <cmath>
#include <system_error>
#include <type_traits>

namespace belfry::detail {
namespace {

template <class T>
void append_bytes(const T& value, std::vector<std::byte>& bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

// Whether a number beyond the range of a floating-point type is nearly 0. Beyond the range of long
// double, the sign of the exponent tells.
bool is_below_one(std::string_view number) {
  long double wide = 0;
  const char* const end = number.data() + number.size();
  if (std::from_chars(number.data(), end, wide).ec == std::errc()) return std::abs(wide) < 1;
  const std::size_t exponent = number.find_first_of("eE");
  if (exponent != std::string_view::npos) return number.substr(exponent + 1).starts_with('-');
  const std::string_view whole = number.substr(0, number.find('.'));
  return whole.find_first_not_of("-0") == std::string_view::npos;
}

template <class T>
NumberText parse(std::string_view text, T& value) {
  // std::from_chars knows `-` alone.
  const bool has_plus = text.starts_with('+') && !text.starts_with("+-");
  const char* const begin = text.data() + (has_plus ? 1 : 0);
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(begin, end, value);
  if (result.ec == std::errc::invalid_argument || result.ptr != end) return NumberText::kNoNumber;
  if constexpr (std::is_floating_point_v<T>) {
    if (result.ec == std::errc::result_out_of_range && is_below_one({begin, end})) {
      value = begin[0] == '-' ? -T(0) : T(0);
      return NumberText::kFine;
    }
  }
  return result.ec == std::errc() ? NumberText::kFine : NumberText::kOutOfRange;
}

template <class T>
NumberText append(std::string_view text, std::vector<std::byte>& bytes) {
  using Parsed = std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;
  Parsed parsed{};
  const NumberText outcome = parse(text, parsed);
  if (outcome != NumberText::kFine) return outcome;
  const T value(parsed);
  if constexpr (!std::is_same_v<Parsed, T>) {
    if (std::isfinite(parsed) && !std::isfinite(static_cast<float>(value))) {
      return NumberText::kOutOfRange;
    }
  }
  append_bytes(value, bytes);
  return NumberText::kFine;
}

NumberText append_bool(std::string_view text, std::vector<std::byte>& bytes) {
  const bool is_true = text == "1" || text == "true";
  if (!is_true && text != "0" && text != "false") return NumberText::kNoNumber;
  bytes.push_back(std::byte{is_true});
  return NumberText::kFine;
}

}  // namespace

NumberText append_number(std::string_view text, DType dtype, std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DType::kFloat32:
      return append<float>(text, bytes);
    case DType::kFloat64:
      return append<double>(text, bytes);
    case DType::kFloat16:
      return append<Float16>(text, bytes);
    case DType::kBFloat16:
      return append<BFloat16>(text, bytes);
    case DType::kInt8:
      return append<std::int8_t>(text, bytes);
    case DType::kInt16:
      return append<std::int16_t>(text, bytes);
    case DType::kInt32:
      return append<std::int32_t>(text, bytes);
    case DType::kInt64:
      return append<std::int64_t>(text, bytes);
    case DType::kUInt8:
      return append<std::uint8_t>(text, bytes);
    case DType::kUInt16:
      return append<std::uint16_t>(text, bytes);
    case DType::kUInt32:
      return append<std::uint32_t>(text, bytes);
    case DType::kUInt64:
      return append<std::uint64_t>(text, bytes);
    case DType::kBool:
      return append_bool(text, bytes);
  }
  check(false, "an element type that is not listed");
  return NumberText::kNoNumber;
}

// Through the text, for the types and ranges of the fields of a file.
bool append_value(double value, DType dtype, std::vector<std::byte>& bytes) {
  // An integer is written without a point.
  const bool as_integer =
      !is_floating(dtype) && std::trunc(value) == value && std::abs(value) < 0x1p63;
  const std::string text =
      as_integer ? std::to_string(static_cast<std::int64_t>(value)) : number_text(value);
  return append_number(text, dtype, bytes) == NumberText::kFine;
}

}  // namespace belfry::detail
