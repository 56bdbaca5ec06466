// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Verbs along an axis: gather, all_gather, and reduce with an axis. The expected results are
// computed on the host from indices, element by element.
#include "belfry/shape.h"
#include "belfry/testing/asserts.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <cstdint>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::testing::axis_props {
namespace {

using Extents = std::vector<std::int64_t>;

class AxisVerbs : public Property {};

/// A tensor for each replica. Only the extent of `axis` differs between replicas.
struct Layout {
  Extents common;         ///< At `axis`: anything.
  int axis = 0;           ///< From 0.
  bool negative = false;  ///< Whether the axis is counted from the end.
  Extents lengths;        ///< Of the axis, by replica.

  Axis named() const { return Axis(negative ? axis - static_cast<int>(common.size()) : axis); }
  Shape shape(std::size_t replica) const {
    Extents extents = common;
    extents[static_cast<std::size_t>(axis)] = lengths[replica];
    return Shape(std::move(extents));
  }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (std::int64_t length : lengths) sum += length;
    return sum;
  }
};

Layout draw_layout(int replicas, bool even) {
  Layout layout;
  layout.common = *rc::gen::resize(
      3, rc::gen::nonEmpty(rc::gen::container<Extents>(rc::gen::inRange<std::int64_t>(1, 4))));
  layout.axis = *rc::gen::inRange(0, static_cast<int>(layout.common.size()));
  layout.negative = *rc::gen::arbitrary<bool>();
  layout.lengths = even ? Extents(static_cast<std::size_t>(replicas), *rc::gen::inRange(1, 4))
                        : *rc::gen::container<Extents>(static_cast<std::size_t>(replicas),
                                                       rc::gen::inRange<std::int64_t>(0, 4));
  return layout;
}

template <class T>
std::vector<T> elements(const Layout& layout, std::uint64_t seed, int replica) {
  const auto count =
      static_cast<std::size_t>(layout.shape(static_cast<std::size_t>(replica)).count());
  return values_of<T>({Pattern::kSmallIntegers, seed}, replica, count);
}

template <class T>
Tensor<T> own_tensor(const Layout& layout, std::uint64_t seed, ReplicaContext& replica) {
  const int id = replica.replica_id();
  return Tensor<T>::from(layout.shape(static_cast<std::size_t>(id)), elements<T>(layout, seed, id));
}

/// Calls `visit(replica, position in the replica's tensor, outer, joined axis index, inner)` for
/// each element in the order of the joined tensor.
template <class Visit>
void walk(const Layout& layout, Visit&& visit) {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t i = 0; i < layout.common.size(); ++i) {
    if (static_cast<int>(i) < layout.axis) outer *= layout.common[i];
    if (static_cast<int>(i) > layout.axis) inner *= layout.common[i];
  }
  for (std::int64_t o = 0; o < outer; ++o) {
    std::int64_t joined = 0;
    for (std::size_t replica = 0; replica < layout.lengths.size(); ++replica) {
      for (std::int64_t a = 0; a < layout.lengths[replica]; ++a, ++joined) {
        for (std::int64_t i = 0; i < inner; ++i) {
          visit(static_cast<int>(replica), (o * layout.lengths[replica] + a) * inner + i, o, i);
        }
      }
    }
  }
}

template <class T>
std::vector<T> joined(const Layout& layout, std::uint64_t seed) {
  std::vector<T> out;
  walk(layout, [&](int replica, std::int64_t position, std::int64_t, std::int64_t) {
    out.push_back(elements<T>(layout, seed, replica)[static_cast<std::size_t>(position)]);
  });
  return out;
}

template <class T>
double number(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(widened(value));
  }
}

/// An exact sum, or the mean of `count` values, rounded once to T. Integers wrap.
template <class T>
T stored(ReduceOp op, double sum, std::int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(sum));
  } else {
    auto value = static_cast<Wide<T>>(sum);
    if (op == ReduceOp::kMean) value /= static_cast<Wide<T>>(count);
    return narrowed<T>(value);
  }
}

/// The reduction of the values along an axis, for data with exact sums.
template <class T>
T reduced_line(ReduceOp op, const std::vector<T>& line) {
  if (op != ReduceOp::kSum && op != ReduceOp::kMean && !line.empty()) {
    return expected_element(op, line, ReductionOrder::kReplicaOrder, 0);
  }
  double sum = op == ReduceOp::kProd ? 1 : 0;
  for (const T value : line) sum += number(value);
  return stored<T>(op, sum, static_cast<std::int64_t>(line.size()));
}

/// The reduction over the axis and all replicas.
template <class T>
std::vector<T> reduced(ReduceOp op, const Layout& layout, std::uint64_t seed) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<T>> lines;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t i = 0; i < layout.common.size(); ++i) {
    if (static_cast<int>(i) < layout.axis) outer *= layout.common[i];
    if (static_cast<int>(i) > layout.axis) inner *= layout.common[i];
  }
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) lines[{o, i}] = {};
  }
  walk(layout, [&](int replica, std::int64_t position, std::int64_t o, std::int64_t i) {
    lines[{o, i}].push_back(elements<T>(layout, seed, replica)[static_cast<std::size_t>(position)]);
  });
  std::vector<T> out;
  for (const auto& [where, line] : lines) out.push_back(reduced_line<T>(op, line));
  return out;
}

/// The operators that have a result. Small integers and halves have products beyond the exact
/// numbers of a float: products of floats have their own test.
template <class T>
std::vector<ReduceOp> ops_of(const Layout& layout) {
  std::vector<ReduceOp> ops{ReduceOp::kSum};
  if constexpr (std::is_integral_v<T>) {
    ops.push_back(ReduceOp::kProd);
  } else if (layout.total() != 0) {
    ops.push_back(ReduceOp::kMean);
  }
  if (layout.total() != 0) ops.insert(ops.end(), {ReduceOp::kMax, ReduceOp::kMin});
  return ops;
}

Shape without_axis(const Layout& layout) {
  Extents extents = layout.common;
  extents.erase(extents.begin() + layout.axis);
  return Shape(std::move(extents));
}

template <class T>
void check_gathers(Property& property, const BackendRequest& request, const Layout& layout,
                   std::uint64_t seed) {
  Bench bench(property, request);
  Strategy& strategy = bench.strategy();
  const auto parts = strategy.run([&](ReplicaContext& replica) {
    meet_with_a_tensor(replica);
    return own_tensor<T>(layout, seed, replica);
  });
  const auto everywhere = strategy.run([&](ReplicaContext& replica) {
    return replica.all_gather(own_tensor<T>(layout, seed, replica), layout.named());
  });
  const std::vector<T> expected = joined<T>(layout, seed);
  Extents extents = layout.common;
  extents[static_cast<std::size_t>(layout.axis)] = layout.total();
  const Shape shape(extents);
  const Tensor<T> one = strategy.cross_replica().gather(parts, layout.named());
  RC_ASSERT(one.shape() == shape);
  RC_ASSERT(one.placement() == strategy.placement(0));
  RC_ASSERT(Numbers(one.to_host()) == Numbers(expected));
  for (int id = 0; id < request.devices; ++id) {
    RC_ASSERT(everywhere[id].shape() == shape);
    RC_ASSERT(everywhere[id].placement() == strategy.placement(id));
    RC_ASSERT(Numbers(everywhere[id].to_host()) == Numbers(expected));
  }
}

TEST_F(AxisVerbs, GatherJoinsAlongAnyAxisInReplicaOrder) {
  testing::asserts("SEM-121");
  holds([this] {
    const auto request = *backend_request(8);
    const auto even = *rc::gen::arbitrary<bool>();
    const Layout layout = draw_layout(request.devices, even);
    const auto seed = *rc::gen::arbitrary<std::uint16_t>();
    check_gathers<float>(*this, request, layout, seed);
    check_gathers<std::int16_t>(*this, request, layout, seed);
    check_gathers<std::uint8_t>(*this, request, layout, seed);
  });
}

template <class T>
void check_reductions(Property& property, const BackendRequest& request, const Layout& layout,
                      std::uint64_t seed) {
  Bench bench(property, request);
  Strategy& strategy = bench.strategy();
  const auto parts =
      strategy.run([&](ReplicaContext& replica) { return own_tensor<T>(layout, seed, replica); });
  for (ReduceOp op : ops_of<T>(layout)) {
    const auto result = strategy.cross_replica().reduce(op, parts, layout.named());
    const std::vector<T> expected = reduced<T>(op, layout, seed);
    for (int id = 0; id < request.devices; ++id) {
      RC_ASSERT(result[id].shape() == without_axis(layout));
      RC_ASSERT(result[id].placement() == strategy.placement(id));
      RC_ASSERT(Numbers(result[id].to_host()) == Numbers(expected));
    }
  }
}

TEST_F(AxisVerbs, ReduceCountsTrueElements) {
  testing::asserts("SEM-120");
  holds([this] {
    const auto request = *backend_request(8);
    const Layout layout = draw_layout(request.devices, false);
    const auto seed = *rc::gen::arbitrary<std::uint16_t>();
    check_reductions<float>(*this, request, layout, seed);
    check_reductions<Float16>(*this, request, layout, seed);
    check_reductions<std::int32_t>(*this, request, layout, seed);
  });
}

template <class T>
void check_lists(Strategy& strategy, const Layout& layout, std::uint64_t seed) {
  const auto lists = strategy.run(
      [&](ReplicaContext& replica) { return elements<T>(layout, seed, replica.replica_id()); });
  RC_ASSERT(strategy.cross_replica().gather(lists) == joined<T>(layout, seed));
  const auto everywhere = strategy.run([&](ReplicaContext& replica) {
    return replica.all_gather(elements<T>(layout, seed, replica.replica_id()), layout.named());
  });
  for (const auto& list : everywhere) RC_ASSERT(list == joined<T>(layout, seed));
  for (ReduceOp op : ops_of<T>(layout)) {
    const auto result = strategy.cross_replica().reduce(op, lists, layout.named());
    RC_ASSERT(Numbers(std::vector<T>{result.value()}) == Numbers(reduced<T>(op, layout, seed)));
  }
}

TEST_F(AxisVerbs, ListsOnTheHostObeyTheSameRules) {
  holds([this](const BackendRequest& request, std::uint16_t seed) {
    Layout layout;
    layout.common = {1};
    layout.negative = *rc::gen::arbitrary<bool>();
    layout.lengths = *rc::gen::container<Extents>(static_cast<std::size_t>(request.devices),
                                                  rc::gen::inRange<std::int64_t>(0, 5));
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    strategy.run(meet_with_a_tensor);
    check_lists<float>(strategy, layout, seed);
    check_lists<std::int8_t>(strategy, layout, seed);
    check_lists<std::uint64_t>(strategy, layout, seed);
  });
}

}  // namespace
}  // namespace belfry::testing::axis_props
