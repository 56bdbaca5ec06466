// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A sharded variable is a plain array whose rows lie on several replicas, before and after any
// change, save and restore.
#include "belfry/checkpoint.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "suites/property.h"

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace belfry::testing::sharded_props {
namespace {

class Sharded : public Property {};

constexpr int kMostReplicas = 9;

/// An array with an axis.
struct PlainArray {
  std::vector<std::int64_t> extents{};
  int axis = 0;
  std::vector<float> elements{};

  std::int64_t rows() const { return extents[static_cast<std::size_t>(axis)]; }
  /// The row of element `i`.
  std::int64_t row(std::size_t i) const {
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t k = extents.size() - 1; k > static_cast<std::size_t>(axis); --k) {
      rest /= extents[k];
    }
    return rest % rows();
  }
  Tensor<float> tensor() const { return Tensor<float>::from(Shape(extents), elements); }
};

/// The replica of each row. The number of rows of a replica is counted by dealing the rows out.
std::vector<int> homes(std::int64_t rows, int replicas) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(replicas));
  for (std::int64_t row = 0; row < rows; ++row) ++counts[static_cast<std::size_t>(row % replicas)];
  std::vector<int> homes;
  for (int replica = 0; replica < replicas; ++replica) {
    homes.insert(homes.end(), static_cast<std::size_t>(counts[static_cast<std::size_t>(replica)]),
                 replica);
  }
  return homes;
}

/// The elements of a replica, picked one by one.
std::vector<float> part_of(const PlainArray& array, int replica, int replicas) {
  const std::vector<int> home = homes(array.rows(), replicas);
  std::vector<float> part;
  for (std::size_t i = 0; i < array.elements.size(); ++i) {
    if (home[static_cast<std::size_t>(array.row(i))] == replica) part.push_back(array.elements[i]);
  }
  return part;
}

PlainArray drawn_array(std::uint64_t seed) {
  PlainArray array;
  const auto rank = *rc::gen::inRange<std::size_t>(1, 4);
  array.extents = *rc::gen::container<std::vector<std::int64_t>>(
      rank, rc::gen::weightedElement<std::int64_t>(
                {{1, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 5}, {3, 7}, {3, 10}}));
  array.axis = *rc::gen::inRange(0, static_cast<int>(rank));
  array.elements = values_of<float>({Pattern::kRandom, seed}, 0,
                                    static_cast<std::size_t>(Shape(array.extents).count()));
  return array;
}

BackendRequest drawn_request(BackendRequest request) {
  request.devices = *rc::gen::inRange(1, kMostReplicas + 1);
  return request;
}

ShardedVariable<float> table_of(Strategy& strategy, const PlainArray& array) {
  return strategy.sharded_variable([&] { return array.tensor(); }, Axis(array.axis),
                                   {.name = "table"});
}

/// The same, made part by part.
ShardedVariable<float> table_by_rows(Strategy& strategy, const PlainArray& array) {
  const auto rows = [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> extents = array.extents;
    extents[static_cast<std::size_t>(array.axis)] = end - begin;
    std::vector<float> part;
    for (std::size_t i = 0; i < array.elements.size(); ++i) {
      if (array.row(i) >= begin && array.row(i) < end) part.push_back(array.elements[i]);
    }
    return Tensor<float>::from(Shape(extents), part);
  };
  return strategy.sharded_variable(Shape(array.extents), rows, Axis(array.axis), {.name = "table"});
}

using Numbers = std::vector<float>;

/// Asserts that the variable is the array: each part, the whole on each replica, and a read.
void require_equal(Strategy& strategy, const ShardedVariable<float>& table,
                   const PlainArray& array) {
  const int replicas = strategy.num_replicas();
  const auto parts = strategy.local_values(table);
  for (int i = 0; i < replicas; ++i) {
    RC_ASSERT(parts[i].to_host() == part_of(array, i, replicas));
  }
  const auto wholes =
      strategy.run([&](ReplicaContext& replica) { return table.whole(replica).to_host(); });
  for (const Numbers& whole : wholes) RC_ASSERT(whole == array.elements);
  const Tensor<float> read = strategy.read(table);
  RC_ASSERT(read.shape() == Shape(array.extents));
  RC_ASSERT(read.to_host() == array.elements);
}

TEST_F(Sharded, StartsAsThePlainArray) {
  holds([this](const BackendRequest& drawn, std::uint16_t seed) {
    const BackendRequest request = drawn_request(drawn);
    const PlainArray array = drawn_array(seed);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    require_equal(strategy, table_of(strategy, array), array);
    require_equal(strategy, table_by_rows(strategy, array), array);
    const auto in_replicas = strategy.run([&](ReplicaContext& replica) {
      meet_with_a_tensor(replica);
      return table_of(replica.strategy(), array);
    });
    require_equal(strategy, in_replicas, array);
  });
}

// Each way of writing changes the own rows alone.
TEST_F(Sharded, ChangesAsThePlainArray) {
  holds([this](const BackendRequest& drawn, std::uint16_t seed) {
    const BackendRequest request = drawn_request(drawn);
    PlainArray array = drawn_array(seed);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto table = table_of(strategy, array);
    const std::vector<int> home = homes(array.rows(), request.devices);
    const auto change = [&](const auto& fn) {
      for (std::size_t i = 0; i < array.elements.size(); ++i) {
        const int replica = home[static_cast<std::size_t>(array.row(i))];
        array.elements[i] = fn(array.elements[i], static_cast<float>(replica + 1));
      }
    };
    for (const int way : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4))) {
      if (way == 0) {  // Assigns.
        strategy.run([&](ReplicaContext& replica) {
          const auto more = static_cast<float>(replica.replica_id() + 1);
          table.on(replica) = add(table.on(replica), more);
        });
        change([](float x, float more) { return x + more; });
      } else if (way == 1) {  // In place.
        strategy.run([&](ReplicaContext& replica) {
          scale(table.on(replica), static_cast<float>(replica.replica_id() + 1));
        });
        change([](float x, float more) { return x * more; });
      } else if (way == 2) {  // Between runs.
        strategy.cross_replica().update(table, [](Tensor<float>& part) { scale(part, 0.5F); });
        change([](float x, float) { return x * 0.5F; });
      } else {  // By a slice of the whole, as before a reduce_scatter.
        strategy.run([&](ReplicaContext& replica) {
          const Tensor<float> whole = multiply(table.whole(replica), 2.0F);
          std::int64_t begin = 0;
          for (const int at : home) begin += at < replica.replica_id() ? 1 : 0;
          const std::int64_t rows = table.on(replica).shape().extent(array.axis);
          table.on(replica) = slice(whole, Axis(array.axis), begin, begin + rows);
        });
        change([](float x, float) { return x * 2.0F; });
      }
    }
    require_equal(strategy, table, array);
  });
}

TEST_F(Sharded, IsRestoredOnAnyNumberOfReplicas) {
  holds(
      [this](const BackendRequest& drawn_from, const BackendRequest& drawn_to, std::uint16_t seed) {
        const BackendRequest from = drawn_request(drawn_from);
        const BackendRequest to = drawn_request(drawn_to);
        const PlainArray array = drawn_array(seed);
        TensorFile file;
        {
          Bench bench(*this, from);
          Strategy& strategy = bench.strategy();
          const auto table = table_of(strategy, array);
          strategy.run(meet_with_a_tensor);
          file = Checkpoint(strategy).add(table).contents();
        }
        RC_ASSERT(file.tensors.at("table").shape == Shape(array.extents));
        Bench bench(*this, to);
        Strategy& strategy = bench.strategy();
        PlainArray other = array;
        for (float& element : other.elements) element += 1;
        const auto table = table_of(strategy, other);
        Checkpoint checkpoint(strategy);
        checkpoint.add(table);
        checkpoint.restore(file);
        require_equal(strategy, table, array);
        RC_ASSERT(checkpoint.contents() == file);
      });
}

// A call of an update has what its replica has of the arguments: momentum of a sharded weight.
TEST_F(Sharded, ChangesWithPartsAndValuesOfReplicas) {
  holds([this](const BackendRequest& drawn, std::uint16_t seed) {
    testing::asserts("SEM-293");
    const BackendRequest request = drawn_request(drawn);
    PlainArray weights = drawn_array(seed);
    PlainArray slots = weights;
    for (float& slot : slots.elements) slot += 1;
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto weight = table_of(strategy, weights);
    const auto velocity = table_by_rows(strategy, slots);
    const UpdateOptions options{.in_place = *rc::gen::arbitrary<bool>()};
    const std::vector<int> home = homes(weights.rows(), request.devices);
    for (int step = *rc::gen::inRange(1, 4); step > 0; --step) {
      const auto gradients = strategy.run([&](ReplicaContext& replica) {
        meet_with_a_tensor(replica);
        return add(velocity.on(replica), static_cast<float>(replica.replica_id()));
      });
      strategy.cross_replica().update(
          options, velocity,
          [](Tensor<float>& v, const Tensor<float>& gradient, float decay) {
            scale(v, decay);
            add_to(v, gradient);
          },
          gradients, 0.5F);
      strategy.cross_replica().update(
          options, weight,
          [](Tensor<float>& w, const Tensor<float>& v) { subtract_scaled(w, 1.0F, v); }, velocity);
      for (std::size_t i = 0; i < slots.elements.size(); ++i) {
        const auto replica = static_cast<float>(home[static_cast<std::size_t>(weights.row(i))]);
        slots.elements[i] = slots.elements[i] * 0.5F + (slots.elements[i] + replica);
        weights.elements[i] -= slots.elements[i];
      }
    }
    require_equal(strategy, velocity, slots);
    require_equal(strategy, weight, weights);
  });
}

// A transaction gives back the parts from before changes of replicas and a restore.
TEST_F(Sharded, IsGivenBackByATransaction) {
  holds([this](const BackendRequest& drawn, std::uint16_t seed) {
    const BackendRequest request = drawn_request(drawn);
    const PlainArray array = drawn_array(seed);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto table = table_of(strategy, array);
    Checkpoint checkpoint(strategy);
    checkpoint.add(table);
    strategy.cross_replica().update(table, [](Tensor<float>& part) { scale(part, 2.0F); });
    const TensorFile doubled = checkpoint.contents();
    strategy.cross_replica().update(table, [](Tensor<float>& part) { scale(part, 0.5F); });
    const auto changes = [&] {
      checkpoint.restore(doubled);
      strategy.run([&](ReplicaContext& replica) {
        meet_with_a_tensor(replica);
        scale(table.on(replica), 3.0F);
      });
      throw std::runtime_error("on purpose");
    };
    RC_ASSERT_THROWS_AS(strategy.transaction(changes), std::runtime_error);
    require_equal(strategy, table, array);
  });
}

}  // namespace
}  // namespace belfry::testing::sharded_props
