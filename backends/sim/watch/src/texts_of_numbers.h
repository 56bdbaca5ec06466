// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace belfry::sim::watch {

/// The bytes of [first, last) that a function reads to find the number at the begin: a function
/// looks for parts of a longer number, as in `1e+x`, and sees the first letter that belongs to no
/// number.
inline std::size_t extent_of_number(const char* first, const char* last) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  constexpr std::string_view kLetters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_+-.()";
  const auto is_in = [](std::string_view all) {
    return [all](char letter) { return all.find(letter) != all.npos; };
  };
  const char* const number = std::find_if_not(first, last, is_in(kBlanks));
  const char* const end = std::find_if_not(number, last, is_in(kLetters));
  return static_cast<std::size_t>(end - first) + (end == last ? 0 : 1);
}

}  // namespace belfry::sim::watch
