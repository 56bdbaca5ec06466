// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <iosfwd>
#include <type_traits>

namespace belfry {

namespace detail {

/// Converts to a T and to nothing else.
template <class T>
  requires(std::is_class_v<T> || std::is_enum_v<T>)
struct Exactly {
  operator const T&() const;  // NOLINT: implicit on purpose.
};

/// Whether `<<` prints a type of belfry as the text of `to_string`: if the type has a `to_string`.
/// Conversions to such a type print nothing. The headers of templates set the variable.
template <class T>
inline constexpr bool kPrints = requires(const Exactly<T>& value) { to_string(value); };

}  // namespace detail

template <class T>
  requires(detail::kPrints<T>)
std::ostream& operator<<(std::ostream& out, const T& value) {
  return out << to_string(value);
}

}  // namespace belfry
