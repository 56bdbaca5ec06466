// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"
#include "belfry/testing/values.h"

#include <rapidcheck.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace belfry::testing {

/// The recipe of a tensor for each replica: all tensors have the same shape, with different
/// contents.
struct TensorRecipe {
  std::vector<std::int64_t> extents{};  ///< The shape.
  Values values{};                      ///< The contents.

  Shape shape() const { return Shape(extents); }  ///< The extents as a shape.
  /// The elements of replica `replica`'s tensor, row-major.
  template <Element T>
  std::vector<T> elements(int replica) const {
    return values_of<T>(values, replica, static_cast<std::size_t>(shape().count()));
  }
  /// The tensor of a replica. Context: any context that can make tensors.
  template <Element T>
  Tensor<T> tensor(int replica) const {
    return Tensor<T>::from(shape(), elements<T>(replica));
  }
};

/// `[2,3] of random from seed 7`.
std::string to_string(const TensorRecipe& recipe);
/// Prints a counterexample, for RapidCheck.
void showValue(const TensorRecipe& recipe, std::ostream& out);

/// Ranks 0 to 3, extents 0 to 6. Shrinks towards a scalar of zeros.
rc::Gen<TensorRecipe> tensor_recipe();

using belfry::operator<<;

}  // namespace belfry::testing
