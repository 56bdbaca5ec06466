// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <typeinfo>

namespace belfry::sim {

/// The object as the final class T; null for an object of another class, and for null. Compares
/// one type: a dynamic_cast walks through base classes, and takes several times as long.
template <class T, class Base>
T* exact_cast(Base* object) {
  static_assert(std::is_final_v<std::remove_const_t<T>>);
  return object != nullptr && typeid(*object) == typeid(T) ? static_cast<T*>(object) : nullptr;
}

}  // namespace belfry::sim
