// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-131: scattering to a variable equals a loop over rows and columns of a list of numbers, for
// every operation, type, shape and aggregation.
#include "belfry/scatter.h"
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <ostream>
#include <type_traits>
#include <vector>

namespace belfry::testing::scatter_props {
namespace {

using Extents = std::vector<std::int64_t>;

class Scatters : public Property {};

/// The operation, the sources, and the variable. Nothing is drawn inside a replica.
struct Recipe {
  ScatterOp op = ScatterOp::kAdd;
  Aggregation aggregation = Aggregation::kNone;  ///< None: scattered by a call outside replicas.
  Extents extents{};
  Values values{};
  std::vector<Extents> indices{};  ///< By replica.

  Shape shape() const { return Shape(extents); }
  std::size_t columns() const {
    return static_cast<std::size_t>(shape().count() / extents.front());
  }
  /// The initial values of the variable, and the rows of each replica.
  template <class T>
  std::vector<T> table() const {
    return values_of<T>(values, 1000, static_cast<std::size_t>(shape().count()));
  }
  template <class T>
  std::vector<T> rows(int replica) const {
    return values_of<T>(values, replica,
                        indices[static_cast<std::size_t>(replica)].size() * columns());
  }
  template <class T>
  IndexedSlices<T> slices(int replica) const {
    const Extents& index = indices[static_cast<std::size_t>(replica)];
    Extents shape = extents;
    shape[0] = static_cast<std::int64_t>(index.size());
    return indexed_slices(Tensor<T>::from(Shape(shape), rows<T>(replica)),
                          Tensor<std::int64_t>::from(Shape{shape[0]}, index), this->shape());
  }
};

void showValue(const Recipe& recipe, std::ostream& out) {
  out << "operation " << static_cast<int>(recipe.op) << ", aggregation "
      << to_string(recipe.aggregation) << ", " << to_string(recipe.shape()) << " of "
      << to_string(recipe.values) << ", rows";
  for (const Extents& index : recipe.indices) {
    out << " (";
    for (std::int64_t row : index) out << " " << row;
    out << " )";
  }
}

Recipe draw_recipe(int replicas, bool has_mean) {
  Recipe recipe;
  recipe.op = static_cast<ScatterOp>(*rc::gen::inRange(0, 7));
  recipe.aggregation =
      has_mean ? *rc::gen::element(Aggregation::kNone, Aggregation::kSum, Aggregation::kOnlyFirst,
                                   Aggregation::kMean)
               : *rc::gen::element(Aggregation::kNone, Aggregation::kSum, Aggregation::kOnlyFirst);
  recipe.extents = *rc::gen::resize(
      3, rc::gen::nonEmpty(rc::gen::container<Extents>(rc::gen::inRange<std::int64_t>(1, 5))));
  recipe.values.pattern =
      *rc::gen::element(Pattern::kSmallIntegers, Pattern::kRandom, Pattern::kSpecials);
  recipe.values.seed = *rc::gen::arbitrary<std::uint16_t>();
  // Equal numbers of rows are gathered by a collective, different numbers by copies.
  const bool even = *rc::gen::arbitrary<bool>();
  const auto row = rc::gen::inRange<std::int64_t>(0, recipe.extents.front());
  std::size_t count = *rc::gen::inRange<std::size_t>(0, 5);
  for (int replica = 0; replica < replicas; ++replica) {
    if (!even) count = *rc::gen::inRange<std::size_t>(0, 5);
    recipe.indices.push_back(*rc::gen::container<Extents>(count, row));
  }
  return recipe;
}

// Whether replicas may scatter.
bool combines(const Recipe& recipe) {
  return recipe.aggregation == Aggregation::kNone ||
         recipe.aggregation == Aggregation::kOnlyFirst || recipe.op <= ScatterOp::kDivide;
}

// Integers modulo 2^w, and 0 for a quotient of 0; floats in float or double.
template <class W>
W step(ScatterOp op, W table, W x) {
  if (op == ScatterOp::kAdd) return table + x;
  if (op == ScatterOp::kSubtract) return table - x;
  if (op == ScatterOp::kMultiply) return table * x;
  if (op == ScatterOp::kSet) return x;
  if constexpr (std::is_floating_point_v<W>) {
    if (op == ScatterOp::kDivide) return table / x;
    if (std::isnan(table) || std::isnan(x)) return table + x;
  } else if (op == ScatterOp::kDivide) {
    return x == 0 ? W{0} : table / x;
  }
  return (op == ScatterOp::kMinimum ? x < table : x > table) ? x : table;
}

// Integers of 32 bits and fewer are computed with 64 and cut off after each step.
template <class T>
auto wide(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value);
  } else {
    return widened(value);
  }
}

template <class T, class W>
T cut(W value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value);
  } else {
    return narrowed<T>(value);
  }
}

// The addend of a row in the table.
template <class T>
T part(const Recipe& recipe, T row, int replicas) {
  if (recipe.aggregation != Aggregation::kMean) return row;
  return cut<T>(wide(row) / static_cast<decltype(wide(row))>(replicas));
}

template <class T>
std::vector<T> expected(const Recipe& recipe, int replicas) {
  std::vector<T> result = recipe.table<T>();
  if (!combines(recipe)) return result;
  const bool all =
      recipe.aggregation == Aggregation::kSum || recipe.aggregation == Aggregation::kMean;
  const std::size_t columns = recipe.columns();
  for (std::size_t element = 0; element < result.size(); ++element) {
    auto value = wide(result[element]);
    for (int replica = 0; replica < (all ? replicas : 1); ++replica) {
      const std::vector<T> rows = recipe.rows<T>(replica);
      const Extents& index = recipe.indices[static_cast<std::size_t>(replica)];
      for (std::size_t i = 0; i < index.size(); ++i) {
        if (index[i] != static_cast<std::int64_t>(element / columns)) continue;
        const T row = part(recipe, rows[i * columns + element % columns], replicas);
        value = step(recipe.op, value, wide(row));
        if constexpr (std::is_integral_v<T>) value = wide(cut<T>(value));
      }
    }
    result[element] = cut<T>(value);
  }
  return result;
}

template <class T>
void scatter_once(Strategy& strategy, const Recipe& recipe,
                  const MirroredVariable<Tensor<T>>& variable) {
  if (recipe.aggregation == Aggregation::kNone) {
    const Scope scope = strategy.scope();
    return scatter(strategy.cross_replica(), recipe.op, variable, recipe.slices<T>(0));
  }
  strategy.run([&](ReplicaContext& replica) {
    scatter(replica, recipe.op, variable, recipe.slices<T>(replica.replica_id()));
  });
}

template <class T>
void check_scatter(Strategy& strategy) {
  const int replicas = strategy.num_replicas();
  const Recipe recipe = draw_recipe(replicas, !std::is_integral_v<T>);
  RC_LOG() << to_string(dtype_of<T>()) << ": ";
  showValue(recipe, RC_LOG());
  RC_LOG() << "\n";
  const auto variable =
      strategy.mirrored_variable([&] { return Tensor<T>::from(recipe.shape(), recipe.table<T>()); },
                                 {.aggregation = recipe.aggregation});
  std::optional<ErrorCode> code;
  try {
    scatter_once(strategy, recipe, variable);
  } catch (const Error& error) {
    code = error.code();
  }
  RC_ASSERT(code == (combines(recipe) ? std::nullopt : std::optional(ErrorCode::kUnsupported)));
  const std::vector<T> wanted = expected<T>(recipe, replicas);
  for (const Tensor<T>& component : strategy.local_values(variable)) {
    RC_ASSERT(component.shape() == recipe.shape());
    RC_ASSERT(Numbers(component.to_host()) == Numbers(wanted));
  }
}

TEST_F(Scatters, AreALoopOverRowsInReplicaOrder) {
  testing::asserts("SEM-131");
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    // The drawn aggregations need no collective.
    strategy.run([](ReplicaContext& replica) { meet_with_a_tensor(replica); });
    check_scatter<float>(strategy);
    check_scatter<BFloat16>(strategy);
    check_scatter<std::int32_t>(strategy);
    check_scatter<std::uint8_t>(strategy);
  });
}

}  // namespace
}  // namespace belfry::testing::scatter_props
