// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/compiler.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <initializer_list>
#include <span>

namespace belfry {

namespace detail {
/// Throws: UnsupportedError.
[[noreturn]] void throw_no_tensor(const ElementFunctions& element, CallSite site);
}  // namespace detail

/// Tensors of a type with ElementTraits do not exist: kernels compute with the types of DType
/// (SEM-158). Every maker throws UnsupportedError.
template <UserElement T>
class Tensor<T> {
 public:
  using element_type = T;  ///< The type of an element.

  /// Throws: UnsupportedError.
  static Tensor from(const Shape& /*shape*/, std::span<const T> /*values*/,
                     CallSite site = CallSite::here()) {
    refuse(site);
  }
  static Tensor from(const Shape& /*shape*/, std::span<const T> /*values*/, Placement /*placement*/,
                     CallSite site = CallSite::here()) {
    refuse(site);
  }
  static Tensor from(const Shape& /*shape*/, std::initializer_list<T> /*values*/,
                     CallSite site = CallSite::here()) {
    refuse(site);
  }
  static Tensor from(const Shape& /*shape*/, std::initializer_list<T> /*values*/,
                     Placement /*placement*/, CallSite site = CallSite::here()) {
    refuse(site);
  }
  /// Throws: UnsupportedError.
  static Tensor full(const Shape& /*shape*/, const T& /*value*/, CallSite site = CallSite::here()) {
    refuse(site);
  }
  static Tensor full(const Shape& /*shape*/, const T& /*value*/, Placement /*placement*/,
                     CallSite site = CallSite::here()) {
    refuse(site);
  }
  /// Throws: UnsupportedError.
  static Tensor zeros(const Shape& /*shape*/, CallSite site = CallSite::here()) { refuse(site); }
  /// Does not compile: memory of the program is named with its type, so that no program needs the
  /// call.
  template <class... Args>
  static Tensor over(const Shape& /*shape*/, Args&&... /*arguments*/) {
    static_assert(detail::kTaken<Args...>,
                  "tensors of a type with ElementTraits do not exist: write std::vector<T> for "
                  "values in host memory, or a structure of tensors of numbers with members");
    return detail::refused<Tensor>();
  }

 private:
  [[noreturn]] static void refuse(CallSite site) {
    detail::throw_no_tensor(detail::kElementFunctions<T>, site);
  }
};

}  // namespace belfry
