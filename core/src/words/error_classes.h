// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <array>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace belfry::detail {

template <class E>
[[noreturn]] void throw_as(ErrorReport report) {
  throw E(std::move(report));
}

/// A list of classes of errors.
template <class... E>
struct ErrorClassList {
  /// The position of `Wanted`, which is in the list.
  template <class Wanted>
  static consteval std::size_t index_of() {
    static_assert((std::is_same_v<E, Wanted> || ...), "ErrorClasses lacks this class");
    const std::array same{std::is_same_v<E, Wanted>...};
    std::size_t index = 0;
    while (!same[index]) ++index;
    return index;
  }
  /// Throws an error of the class at `index`.
  [[noreturn]] static void throw_one(std::size_t index, ErrorReport report) {
    constexpr std::array kThrow{&throw_as<E>...};
    kThrow.at(index)(std::move(report));
    std::terminate();  // Not reached.
  }
  /// An error of the class of `error`, with `report`; null if the class is not in the list.
  static std::exception_ptr same_class(const Error& error, const ErrorReport& report) {
    std::exception_ptr made;
    static_cast<void>(
        ((typeid(error) == typeid(E) && (made = std::make_exception_ptr(E(report)))) || ...));
    return made;
  }
};

/// All classes of belfry's errors. `throw_error` and `with_report` know no other list.
using ErrorClasses =
    ErrorClassList<Error, ContextError, MergeMismatchError, StructureMismatchError,
                   InvalidArgumentError, VariableMismatchError, DeviceError, UnsupportedError,
                   StrategyError, ProcessLostError, PeerFailedError, InternalError>;

}  // namespace belfry::detail
