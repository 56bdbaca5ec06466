// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Exchanges of values between replicas: numbers, lists and tensors, uneven and empty parts, absent
// replicas. Expected results are computed on the host from indices, element by element.
#include "belfry/testing/asserts.h"
#include "suites/masked_values.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::exchange_props {
namespace {

using Ids = std::vector<int>;
using Extents = std::vector<std::int64_t>;

/// The replicas, the present replicas, and a seed of the values.
struct Drawn {
  int replicas = 1;
  Ids ids{};
  std::uint64_t seed = 0;

  /// An argument with the id of each present replica.
  PerReplica<int> argument() const {
    return values_of_some(ids, replicas,
                          [this](int i) { return ids[static_cast<std::size_t>(i)]; });
  }
  bool has(int id) const { return std::ranges::binary_search(ids, id); }
  std::size_t position(int id) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(ids, id) - ids.begin());
  }
  int count() const { return static_cast<int>(ids.size()); }
  /// Values that replica `from` makes for replica `to`: 0 to 3 of them.
  template <class T>
  std::vector<T> values(int from, int to) const {
    const std::uint64_t length =
        (seed + 3 * static_cast<std::uint64_t>(from) + 5 * static_cast<std::uint64_t>(to)) % 4;
    return values_of<T>({Pattern::kRandom, seed + 97 * static_cast<std::uint64_t>(to)}, from,
                        length);
  }
};

/// A number, a list and a tensor.
template <class T>
struct Parcel {
  T number{};
  std::vector<T> list;
  Tensor<T> tensor;
  static auto members(auto& self) { return std::tie(self.number, self.list, self.tensor); }
};

template <class T>
T number_of(const std::vector<T>& values) {
  return values.empty() ? T() : values.front();
}

template <class T>
Parcel<T> parcel(const Drawn& drawn, int from, int to) {
  const std::vector<T> values = drawn.values<T>(from, to);
  return {number_of(values), values,
          Tensor<T>::from({static_cast<std::int64_t>(values.size()), 1}, values)};
}
/// The elements of the same parcel, from the first to the last.
template <class T>
std::vector<T> elements(const Drawn& drawn, int from, int to) {
  const std::vector<T> values = drawn.values<T>(from, to);
  std::vector<T> all{number_of(values)};
  all.insert(all.end(), values.begin(), values.end());
  all.insert(all.end(), values.begin(), values.end());
  return all;
}

template <class T>
std::vector<T> on_host(ReplicaContext& replica, const Tensor<T>& tensor) {
  if (tensor.placement() != replica.placement()) throw std::logic_error("on another device");
  return tensor.to_host();
}
template <class T>
std::vector<T> elements(ReplicaContext& replica, const Parcel<T>& received) {
  std::vector<T> all{received.number};
  all.insert(all.end(), received.list.begin(), received.list.end());
  const std::vector<T> tensor = on_host(replica, received.tensor);
  all.insert(all.end(), tensor.begin(), tensor.end());
  return all;
}

/// A shape, an axis, and the sizes of parts; no sizes for balanced parts.
struct Layout {
  Extents extents;
  int axis = 0;
  Extents sizes;   ///< As the call names them.
  Extents begins;  ///< Of the parts, and the extent.

  std::int64_t extent() const { return extents[static_cast<std::size_t>(axis)]; }
  std::int64_t outer() const { return product(0, axis); }
  std::int64_t inner() const { return product(axis + 1, static_cast<int>(extents.size())); }
  std::size_t count() const { return static_cast<std::size_t>(outer() * extent() * inner()); }
  Axis named(std::uint64_t seed) const {
    return Axis(seed % 2 == 0 ? axis : axis - static_cast<int>(extents.size()));
  }

 private:
  std::int64_t product(int begin, int end) const {
    std::int64_t all = 1;
    for (int i = begin; i < end; ++i) all *= extents[static_cast<std::size_t>(i)];
    return all;
  }
};

Layout draw_layout(int parts, bool is_list) {
  Layout layout;
  const int rank = is_list ? 1 : *rc::gen::inRange(1, 4);
  layout.axis = *rc::gen::inRange(0, rank);
  for (int i = 0; i < rank; ++i) {
    layout.extents.push_back(
        *rc::gen::inRange(i == layout.axis ? 0 : 1, i == layout.axis ? 24 : 4));
  }
  // Balanced parts: the rows are dealt out one by one.
  Extents sizes(static_cast<std::size_t>(parts), 0);
  const bool is_balanced = *rc::gen::arbitrary<bool>();
  for (std::int64_t row = 0; row < layout.extent(); ++row) {
    const auto part = is_balanced ? row % parts : *rc::gen::inRange<std::int64_t>(0, parts);
    ++sizes[static_cast<std::size_t>(part)];
  }
  if (!is_balanced) layout.sizes = sizes;
  layout.begins.push_back(0);
  for (const std::int64_t size : sizes) layout.begins.push_back(layout.begins.back() + size);
  return layout;
}

/// The elements of part `part` of a whole.
template <class T>
std::vector<T> part_of(const Layout& layout, const std::vector<T>& whole, std::size_t part) {
  std::vector<T> out;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / layout.inner() % layout.extent();
    if (row >= layout.begins[part] && row < layout.begins[part + 1]) out.push_back(whole[i]);
  }
  return out;
}

class Exchanges : public Property {
 protected:
  /// Checks `check(drawn, draw(drawn), bench)` over random replicas, some of them present. Draws
  /// come before the first call of the strategy, for hosts of a cluster.
  template <class Draw, class Check>
  void holds_for_some(const Draw& draw, const Check& check) {
    holds([&] {
      const BackendRequest request = placed(*backend_request(17));
      Ids all;
      for (int id = 0; id < request.devices; ++id) all.push_back(id);
      const bool is_masked = *rc::gen::arbitrary<bool>();
      const Drawn drawn{request.devices, is_masked ? some_of(request.devices) : all,
                        *rc::gen::arbitrary<std::uint16_t>()};
      const auto more = draw(drawn);
      Bench bench(*this, request);
      bench.strategy().run(meet_with_a_tensor);  // By the communicator.
      check(drawn, more, bench);
    });
  }
};

int root_of(const Drawn& drawn) { return *rc::gen::elementOf(drawn.ids); }

/// Runs `body(replica)` on the present replicas, and compares the results of this process with
/// `expected(id)`.
template <class Body, class Expected>
void compare(const Drawn& drawn, Bench& bench, const Body& body, const Expected& expected) {
  const auto got = bench.strategy().run([&](ReplicaContext& replica, int) { return body(replica); },
                                        drawn.argument());
  for (const int id : bench.own()) {
    RC_ASSERT(got.has(id) == drawn.has(id));
    if (drawn.has(id)) RC_ASSERT(got[id] == expected(id));
  }
}

/// The bits of lists.
template <class T>
using Lists = std::vector<Numbers<T>>;

template <class T>
void check_all_to_all(const Drawn& drawn, Bench& bench) {
  compare(
      drawn, bench,
      [&](ReplicaContext& replica) {
        std::vector<Parcel<T>> parts;
        for (const int to : drawn.ids) parts.push_back(parcel<T>(drawn, replica.replica_id(), to));
        Lists<T> received;
        for (const Parcel<T>& part : replica.all_to_all(std::move(parts))) {
          received.emplace_back(elements(replica, part));
        }
        return received;
      },
      [&](int id) {
        Lists<T> wanted;
        for (const int from : drawn.ids) wanted.emplace_back(elements<T>(drawn, from, id));
        return wanted;
      });
}

TEST_F(Exchanges, AllToAllTransposesTheParts) {
  testing::asserts("SEM-262");
  holds_for_some([](const Drawn&) { return 0; },
                 [](const Drawn& drawn, int, Bench& bench) {
                   check_all_to_all<float>(drawn, bench);
                   check_all_to_all<std::int16_t>(drawn, bench);
                   check_all_to_all<BFloat16>(drawn, bench);
                 });
}

TEST_F(Exchanges, BroadcastIsTheValueOfTheRoot) {
  testing::asserts("SEM-263");
  holds_for_some(root_of, [](const Drawn& drawn, int root, Bench& bench) {
    compare(
        drawn, bench,
        [&](ReplicaContext& replica) {
          const auto own = parcel<float>(drawn, replica.replica_id(), 0);
          return Numbers(elements(replica, replica.broadcast(own, root)));
        },
        [&](int) { return Numbers(elements<float>(drawn, root, 0)); });
  });
}

TEST_F(Exchanges, PermuteMovesValuesByPairs) {
  testing::asserts("SEM-264");
  const auto draw = [](const Drawn& drawn) {
    std::vector<std::pair<int, int>> pairs;
    for (const int to : drawn.ids) {
      if (!*rc::gen::arbitrary<bool>()) continue;
      const auto at = *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(pairs) + 1);
      pairs.insert(pairs.begin() + at, {*rc::gen::elementOf(drawn.ids), to});
    }
    return pairs;
  };
  holds_for_some(draw, [](const Drawn& drawn, const auto& pairs, Bench& bench) {
    std::map<int, int> sender;  // By receiver.
    for (const auto& [from, to] : pairs) sender[to] = from;
    compare(
        drawn, bench,
        [&](ReplicaContext& replica) {
          const auto own = parcel<std::int16_t>(drawn, replica.replica_id(), 0);
          const auto received = replica.permute(own, pairs);
          return received ? std::optional(elements(replica, *received)) : std::nullopt;
        },
        [&](int id) {
          const auto from = sender.find(id);
          return from == sender.end()
                     ? std::nullopt
                     : std::optional(elements<std::int16_t>(drawn, from->second, 0));
        });
  });
}

TEST_F(Exchanges, ScatterFromSendsThePartsOfTheRoot) {
  testing::asserts("SEM-265");
  holds_for_some(root_of, [](const Drawn& drawn, int root, Bench& bench) {
    compare(
        drawn, bench,
        [&](ReplicaContext& replica) {
          std::vector<Parcel<float>> parts;
          if (replica.replica_id() == root) {
            for (const int to : drawn.ids) parts.push_back(parcel<float>(drawn, root, to));
          }
          return Numbers(elements(replica, replica.scatter_from(std::move(parts), root)));
        },
        [&](int id) { return Numbers(elements<float>(drawn, root, id)); });
  });
}

template <class T>
std::vector<T> whole_of(const Layout& layout, const Drawn& drawn, int replica) {
  return values_of<T>({Pattern::kRandom, drawn.seed}, replica, layout.count());
}
template <class T>
Tensor<T> tensor_of(const Layout& layout, const Drawn& drawn, int replica) {
  return Tensor<T>::from(Shape(layout.extents), whole_of<T>(layout, drawn, replica));
}

TEST_F(Exchanges, ScatterFromCutsTheValueOfTheRoot) {
  testing::asserts("SEM-265");
  const auto draw = [](const Drawn& drawn) {
    const int root = root_of(drawn);
    return std::pair(root, draw_layout(drawn.count(), false));
  };
  holds_for_some(draw, [](const Drawn& drawn, const auto& more, Bench& bench) {
    const int root = more.first;
    const Layout& layout = more.second;
    const auto expected = [&](int id) {
      return Numbers(part_of(layout, whole_of<float>(layout, drawn, root), drawn.position(id)));
    };
    compare(
        drawn, bench,
        [&](ReplicaContext& replica) {
          const auto own = tensor_of<float>(layout, drawn, replica.replica_id());
          const auto part = replica.scatter_from(own, layout.named(drawn.seed), root, layout.sizes);
          return Numbers(on_host(replica, part));
        },
        expected);
    if (layout.extents.size() > 1) return;
    compare(
        drawn, bench,
        [&](ReplicaContext& replica) {
          const auto own = whole_of<float>(layout, drawn, replica.replica_id());
          return Numbers(replica.scatter_from(own, Axis(0), root, layout.sizes));
        },
        expected);
  });
}

TEST_F(Exchanges, GatherToJoinsOnTheRoot) {
  testing::asserts("SEM-266");
  holds_for_some(root_of, [](const Drawn& drawn, int root, Bench& bench) {
    // Tensors of 2 x length, joined along axis 1, and lists.
    const auto wanted = [&] {
      std::vector<float> all;
      for (const bool is_second : {false, true}) {
        for (const int from : drawn.ids) {
          for (const float x : drawn.values<float>(from, 0)) all.push_back(is_second ? -x : x);
        }
      }
      const std::size_t rows = all.size() / 2;
      all.insert(all.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rows));
      return Numbers(all);
    };
    compare(
        drawn, bench,
        [&](ReplicaContext& replica) {
          const auto list = drawn.values<float>(replica.replica_id(), 0);
          std::vector<float> twice = list;
          for (const float x : list) twice.push_back(-x);
          const auto tensor = Tensor<float>::from({2, std::ssize(list)}, twice);
          const auto joined = replica.gather_to(tensor, Axis(-1), root);
          const auto lists = replica.gather_to(list, root);
          std::optional<Numbers<float>> all;
          if (joined.has_value() != lists.has_value()) throw std::logic_error("one on the root");
          if (!joined) return all;
          std::vector<float> values = on_host(replica, *joined);
          values.insert(values.end(), lists->begin(), lists->end());
          all.emplace(values);
          return all;
        },
        [&](int id) { return id == root ? std::optional(wanted()) : std::nullopt; });
  });
}

// Without an order, the order is the communicator's own, and sums are exact.
template <class T>
void check_reduce_scatter(const Drawn& drawn, Bench& bench, const Layout& layout, ReduceOp op,
                          std::optional<ReductionOrder> order) {
  const auto pattern = order ? Pattern::kRandom : Pattern::kSmallIntegers;
  const auto values = [&](int id) {
    return values_of<T>({pattern, drawn.seed}, id, layout.count());
  };
  std::vector<std::vector<T>> rows;
  for (const int id : drawn.ids) rows.push_back(values(id));
  Strategy& strategy = bench.strategy({.order = order});
  const bool is_list = layout.extents.size() == 1;
  const auto got = strategy.run(
      [&](ReplicaContext& replica, int id) {
        const Axis axis = layout.named(drawn.seed);
        const auto own = Tensor<T>::from(Shape(layout.extents), values(id));
        const auto part = replica.reduce_scatter(op, own, axis, layout.sizes);
        Lists<T> all{Numbers(on_host(replica, part)),
                     Numbers(on_host(replica, replica.all_gather(part, axis))),
                     Numbers(on_host(replica, replica.all_reduce(op, own)))};
        if (is_list) {
          all.emplace_back(replica.reduce_scatter(op, values(id), axis, layout.sizes));
        }
        return all;
      },
      drawn.argument());
  for (const int id : bench.own()) {
    RC_ASSERT(got.has(id) == drawn.has(id));
    if (!drawn.has(id)) continue;
    const std::vector<T>& whole = got[id][2].values;
    if (op == ReduceOp::kSum || op == ReduceOp::kMean) {
      const auto in_order = order.value_or(ReductionOrder::kReplicaOrder);
      RC_ASSERT(got[id][2] == Numbers(expected_reduction(op, rows, in_order)));
    }
    const Numbers part(part_of(layout, whole, drawn.position(id)));
    RC_ASSERT(got[id][0] == part);
    RC_ASSERT(got[id][1] == Numbers(whole));
    if (is_list) RC_ASSERT(got[id][3] == part);
  }
}

TEST_F(Exchanges, ReduceScatterHasThePartsOfAllReduce) {
  testing::asserts("SEM-261");
  const auto draw = [](const Drawn& drawn) {
    const auto is_list = *rc::gen::arbitrary<bool>();
    const Layout layout = draw_layout(drawn.count(), is_list);
    const auto order = *rc::gen::element(
        std::optional<ReductionOrder>(), std::optional(ReductionOrder::kReplicaOrder),
        std::optional(ReductionOrder::kTree), std::optional(ReductionOrder::kRing));
    const auto op = *rc::gen::element(ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMax,
                                      ReduceOp::kMin, ReduceOp::kProd);
    return std::tuple(layout, op, order);
  };
  holds_for_some(draw, [](const Drawn& drawn, const auto& more, Bench& bench) {
    const auto& [layout, drawn_op, order] = more;
    // The product of 17 floats is rounded.
    const bool is_exact = order || drawn_op != ReduceOp::kProd;
    const ReduceOp op = is_exact ? drawn_op : ReduceOp::kSum;
    check_reduce_scatter<float>(drawn, bench, layout, op, order);
    check_reduce_scatter<Float16>(drawn, bench, layout, op, order);
    const auto of_integers = drawn_op == ReduceOp::kMean ? ReduceOp::kSum : drawn_op;
    check_reduce_scatter<std::int16_t>(drawn, bench, layout, of_integers, order);
  });
}

}  // namespace
}  // namespace belfry::testing::exchange_props
