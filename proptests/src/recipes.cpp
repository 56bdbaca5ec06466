// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/nest_shapes.h"
#include "belfry/testing/tensors.h"

#include <ostream>
#include <tuple>
#include <utility>

namespace belfry::testing {

std::string to_string(const TensorRecipe& recipe) {
  return to_string(recipe.shape()) + " of " + to_string(recipe.values);
}

void showValue(const TensorRecipe& recipe, std::ostream& out) { out << to_string(recipe); }

rc::Gen<TensorRecipe> tensor_recipe() {
  const auto extents = rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 4), [](std::size_t rank) {
    return rc::gen::container<std::vector<std::int64_t>>(rank,
                                                         rc::gen::inRange<std::int64_t>(0, 7));
  });
  const auto contents = rc::gen::resize(
      rc::kNominalSize, rc::gen::pair(rc::gen::inRange(0, kNumPatterns),
                                      rc::gen::inRange<std::uint64_t>(0, 1U << 20)));
  return rc::gen::map(
      rc::gen::pair(extents, contents),
      [](const std::pair<std::vector<std::int64_t>, std::pair<int, std::uint64_t>>& drawn) {
        return TensorRecipe{drawn.first,
                            {static_cast<Pattern>(drawn.second.first), drawn.second.second}};
      });
}

void showValue(const NestShape& shape, std::ostream& out) {
  out << "nests of " << shape.length << " and " << shape.entries
      << (shape.has_maybe ? " with an optional" : "");
}

rc::Gen<NestShape> nest_shape() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(1, 8), rc::gen::inRange(0, 4), rc::gen::arbitrary<bool>()),
      [](const std::tuple<int, int, bool>& drawn) {
        const auto [length, entries, has_maybe] = drawn;
        return NestShape{length, entries, has_maybe};
      });
}

}  // namespace belfry::testing
