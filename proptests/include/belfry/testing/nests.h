// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/nest.h"
#include "belfry/reduction.h"
#include "belfry/tensor.h"
#include "belfry/testing/values.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing {

/// A nest with every kind of container, and with floating-point leaves, for reduction by both
/// operators.
struct SampleNest {
  double scalar = 0;                                      ///< A number.
  std::vector<float> row;                                 ///< A leaf of rank 1.
  std::array<double, 2> fixed{};                          ///< An array.
  std::map<std::string, std::vector<double>> named;       ///< A map of leaves.
  std::tuple<Float16, std::pair<BFloat16, float>> mixed;  ///< A tuple with a pair.
  std::optional<double> maybe;                            ///< Present or not.
  std::vector<std::vector<float>> ragged;  ///< A list of leaves of different lengths.
  Tensor<float> tensor;                    ///< A tensor.

  /// The members, in the order of leaves.
  static auto members(auto& self) {
    return std::tie(self.scalar, self.row, self.fixed, self.named, self.mixed, self.maybe,
                    self.ragged, self.tensor);
  }
};

/// Whether both nests have the same structure and bits. Order: blocks the host until the tensors
/// are computed.
bool same_bits(const SampleNest& a, const SampleNest& b);

/// The structure of a nest, without the contents.
struct NestShape {
  int length = 1;          ///< Of the rows.
  int entries = 1;         ///< Of the map and of the ragged vector.
  bool has_maybe = false;  ///< Whether `maybe` has a value.
};

/// A nest with `element(i)` as the i-th element, in the order of leaves, divided by `divisor` in
/// the arithmetic of the element type: 16-bit types divide in float and are rounded once.
template <class ElementAt>
SampleNest make_nest(const NestShape& shape, const ElementAt& element, int divisor = 1) {
  std::size_t next = 0;
  const auto one = [&]<class T>(T) {
    const double value = element(next++);
    if constexpr (std::is_same_v<T, double>)
      return value / divisor;
    else
      return T(static_cast<float>(value) / static_cast<float>(divisor));
  };
  const auto row = [&]<class T>(T type, int length) {
    std::vector<T> values;
    values.reserve(static_cast<std::size_t>(length));
    for (int i = 0; i < length; ++i) values.push_back(one(type));
    return values;
  };
  SampleNest nest;
  nest.scalar = one(0.0);
  nest.row = row(0.0F, shape.length);
  nest.fixed[0] = one(0.0);
  nest.fixed[1] = one(0.0);
  for (int i = 0; i < shape.entries; ++i) nest.named["w" + std::to_string(i)] = row(0.0, i + 1);
  std::get<0>(nest.mixed) = one(Float16());
  std::get<1>(nest.mixed).first = one(BFloat16());
  std::get<1>(nest.mixed).second = one(0.0F);
  if (shape.has_maybe) nest.maybe = one(0.0);
  for (int i = 0; i < shape.entries; ++i) nest.ragged.push_back(row(0.0F, shape.entries - i));
  nest.tensor = Tensor<float>::from({shape.length}, row(0.0F, shape.length));
  return nest;
}

/// Replica `replica`'s nest of small integers. Context: any context that can make tensors.
SampleNest nest_of(const NestShape& shape, std::uint64_t seed, int replica);
/// The reduction of the nests of all replicas. Context: as nest_of.
SampleNest reduced_nest(const NestShape& shape, std::uint64_t seed, int replicas, ReduceOp op);

}  // namespace belfry::testing
