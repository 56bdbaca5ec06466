// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <concepts>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry {

struct DeviceSpec;

namespace detail {

/// The text between quotes, with escapes as in C++.
std::string quoted(std::string_view text, char quote = '"');

// Values as C++ expressions.

template <std::integral T>
std::string code_of(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, char>) {
    return quoted({&value, 1}, '\'');
  } else {
    // A literal beyond the largest signed number needs the suffix.
    const bool is_large = std::cmp_greater(value, std::numeric_limits<long long>::max());
    return std::to_string(value) + (is_large ? "u" : "");
  }
}
std::string code_of(double value);
std::string code_of(const std::string& value);
std::string code_of(const DeviceSpec& value);
template <class T>
std::string code_of(const std::optional<T>& value) {
  return value ? code_of(*value) : "std::nullopt";
}
template <class T>
std::string code_of(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + code_of(value);
  return "{" + text + "}";
}

/// The names of an enumeration, by number.
struct Enumerators {
  std::string_view type;                    ///< `belfry::SumSplit`.
  std::span<const std::string_view> names;  ///< From number `first` on.
  int first = 0;
};
/// `belfry::SumSplit::kDivide`; a number without a name in a cast.
std::string enumerator_code(const Enumerators& names, int number);

/// The word of an enumerator, from a list in the order of the numbers; `?` for a number without a
/// word.
std::string word_of(std::span<const std::string_view> words, int number);

/// The text of options: an initializer that compiles, without members of their usual value, such as
/// `{.prefetch = 2, .split = belfry::BatchSplit::kEachBatch}`.
class OptionsText {
 public:
  void put(std::string_view member, std::string_view code);
  template <class T>
  void add(std::string_view member, const T& value, const T& usual) {
    if (!(value == usual)) put(member, code_of(value));
  }
  template <class E>
    requires std::is_enum_v<E>
  void add(std::string_view member, E value, E usual, const Enumerators& names) {
    if (value != usual) put(member, enumerator_code(names, static_cast<int>(value)));
  }
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace detail
}  // namespace belfry
