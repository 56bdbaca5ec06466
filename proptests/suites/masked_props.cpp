// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-90 and SEM-91: masked replicas run nothing and contribute nothing. Every verb gives all
// replicas the result for the participating replicas. The expected results are loops over the
// participating ids. Numbers are small integers: sums are exact, and a mean is rounded once.
#include "belfry/current.h"
#include "belfry/indexed_slices.h"
#include "belfry/scatter.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/vjp.h"
#include "suites/masked_values.h"
#include "suites/property.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::masked_props {
namespace {

using Row = std::vector<float>;
using Ids = std::vector<int>;

/// The participating replicas, the number of all replicas, and the values of each.
struct Masked {
  int replicas = 1;
  Ids ids{};
  std::uint64_t seed = 0;

  bool has(int id) const { return std::ranges::binary_search(ids, id); }
  float count() const { return static_cast<float>(ids.size()); }
  /// Value `which` of replica `id`.
  Row row(int id, std::size_t length = kLength, std::uint64_t which = 0) const {
    return values_of<float>({Pattern::kSmallIntegers, seed + which}, id, length);
  }
  float number(int id) const { return row(id, 1)[0]; }
  Tensor<float> tensor(int id, std::size_t length = kLength, std::uint64_t which = 0) const {
    return Tensor<float>::from({static_cast<std::int64_t>(length)}, row(id, length, which));
  }
  /// Lengths 1 to 3, different on neighbouring replicas.
  std::size_t length(int id) const { return 1 + (seed + 5 * static_cast<std::uint64_t>(id)) % 3; }

  /// An argument with each participating replica's id, which masks all other replicas.
  PerReplica<int> argument() const {
    return values_of_some(ids, replicas,
                          [this](int i) { return ids[static_cast<std::size_t>(i)]; });
  }
  /// The reduction, element by element, over the participating replicas.
  Row reduced(ReduceOp op, std::size_t length = kLength, std::uint64_t which = 0) const {
    Row sum(length, 0);
    for (const int id : ids) {
      const Row own = row(id, length, which);
      for (std::size_t i = 0; i < length; ++i) sum[i] += own[i];
    }
    if (op == ReduceOp::kMean) {
      for (float& x : sum) x /= count();
    }
    return sum;
  }
  /// The rows of different lengths, concatenated in replica order.
  Row joined() const {
    Row all;
    for (const int id : ids) {
      const Row own = row(id, length(id));
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  static constexpr std::size_t kLength = 3;
};

constexpr ReduceOp kBoth[] = {ReduceOp::kSum, ReduceOp::kMean};

/// The components of the participating replicas. Requires that other replicas have no component.
template <class T>
std::vector<T> list_of(const Masked& drawn, const PerReplica<T>& values) {
  RC_ASSERT(values.size() == drawn.replicas);
  for (int id = 0; id < drawn.replicas; ++id) RC_ASSERT(values.has(id) == drawn.has(id));
  return std::vector<T>(values.begin(), values.end());
}

/// Expects `wanted` on each participating replica.
template <class T>
void expect_each(const Masked& drawn, const PerReplica<T>& values, const T& wanted) {
  RC_ASSERT(list_of(drawn, values) == std::vector<T>(drawn.ids.size(), wanted));
}

/// Expects `wanted` in all components, including components of masked replicas, each on its
/// replica's device.
void expect_everywhere(Strategy& strategy, const Mirrored<Tensor<float>>& value,
                       const Row& wanted) {
  RC_ASSERT(value.size() == strategy.num_replicas());
  for (int id = 0; id < value.size(); ++id) {
    RC_ASSERT(value[id].placement() == strategy.placement(id));
    RC_ASSERT(value[id].to_host() == wanted);
  }
}

class MaskedReplicas : public Property {
 protected:
  /// Checks `check(drawn, strategy)` over random participants and values.
  template <class Check>
  void holds_for_some(const Check& check) {
    holds([&] {
      const auto request = *backend_request(8);
      const Masked drawn{request.devices, some_of(request.devices),
                         *rc::gen::arbitrary<std::uint16_t>()};
      Bench bench(*this, request);
      Strategy& strategy = bench.strategy();
      strategy.run(meet_with_a_tensor);  // By the communicator.
      check(drawn, strategy);
    });
  }
};

TEST_F(MaskedReplicas, RunNothingAndAreNotWaitedFor) {
  testing::asserts("SEM-90");
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    int merges = 0;
    Ids merged;
    int size = 0;
    const auto seen = strategy.run(
        [&](ReplicaContext& replica, int id) {
          replica.merge_call(
              [&](CrossReplicaContext& cross, const PerReplica<int>& ids) {
                ++merges;
                merged.assign(ids.begin(), ids.end());
                size = cross.num_replicas();
              },
              id);
          return std::pair(replica.replica_id(), replica.num_replicas());
        },
        drawn.argument());
    RC_ASSERT(merges == 1);
    RC_ASSERT(merged == drawn.ids);
    RC_ASSERT(size == drawn.replicas);
    std::vector<std::pair<int, int>> wanted;
    for (const int id : drawn.ids) wanted.emplace_back(id, drawn.replicas);
    RC_ASSERT(list_of(drawn, seen) == wanted);
  });
}

TEST_F(MaskedReplicas, BringNothingToAllGather) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const auto seen = strategy.run(
        [&](ReplicaContext& replica, int id) {
          const std::size_t length = drawn.length(id);
          const auto [list, tensor] =
              replica.all_gather(std::pair(drawn.row(id, length), drawn.tensor(id, length)));
          const auto even = replica.all_gather(drawn.tensor(id));
          const bool here =
              tensor.placement() == replica.placement() && even.placement() == replica.placement();
          return std::tuple(here, list, tensor.to_host(), even.to_host());
        },
        drawn.argument());
    Row even;
    for (const int id : drawn.ids) {
      const Row own = drawn.row(id);
      even.insert(even.end(), own.begin(), own.end());
    }
    expect_each(drawn, seen, std::tuple(true, drawn.joined(), drawn.joined(), even));
  });
}

TEST_F(MaskedReplicas, BringNothingToGather) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const auto values = strategy.run(
        [&](ReplicaContext&, int id) {
          return std::pair(drawn.row(id, drawn.length(id)), drawn.tensor(id, drawn.length(id)));
        },
        drawn.argument());
    const auto [list, tensor] = strategy.cross_replica().gather(values);
    RC_ASSERT(list == drawn.joined());
    RC_ASSERT(tensor.to_host() == drawn.joined());
    RC_ASSERT(tensor.placement() == strategy.placement(0));
  });
}

TEST_F(MaskedReplicas, BringNothingToReductionsAlongAnAxis) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const auto lists = strategy.run(
        [&](ReplicaContext&, int id) { return drawn.row(id, drawn.length(id)); }, drawn.argument());
    const auto tensors =
        strategy.run([&](ReplicaContext&, int id) { return drawn.tensor(id, drawn.length(id)); },
                     drawn.argument());
    const Row all = drawn.joined();
    const float sum = std::accumulate(all.begin(), all.end(), 0.0F);
    for (const ReduceOp op : kBoth) {
      // A mean is over the elements, not over the replicas.
      const float wanted = op == ReduceOp::kMean ? sum / static_cast<float>(all.size()) : sum;
      expect_everywhere(strategy, strategy.cross_replica().reduce(op, tensors, Axis(0)), {wanted});
      const auto reduced = strategy.cross_replica().reduce(op, lists, Axis(0));
      RC_ASSERT(reduced.size() == drawn.replicas);
      for (int id = 0; id < drawn.replicas; ++id) RC_ASSERT(reduced[id] == wanted);
    }
  });
}

TEST_F(MaskedReplicas, BringNothingToReductionsInBatchesAndToDevices) {
  testing::asserts("SEM-91");
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const auto tensors =
        strategy.run([&](ReplicaContext&, int id) { return drawn.tensor(id); }, drawn.argument());
    const auto lists = strategy.run([&](ReplicaContext&, int id) { return drawn.row(id, 4, 1); },
                                    drawn.argument());
    CrossReplicaContext& cross = strategy.cross_replica();
    const DeviceSpec last = cross.devices().back();
    for (const ReduceOp op : kBoth) {
      const auto [first, second] = cross.batch_reduce(op, tensors, std::pair(lists, last));
      expect_everywhere(strategy, first, drawn.reduced(op));
      RC_ASSERT(second.value() == drawn.reduced(op, 4, 1));
      RC_ASSERT(second.devices() == std::vector{last});
      const auto there = cross.reduce(op, tensors, last);
      RC_ASSERT(there.devices() == std::vector{last});
      RC_ASSERT(there.value().to_host() == drawn.reduced(op));
    }
  });
}

/// Not commutative: "(a + b)", and the number of terms at the end.
struct Sentence {
  std::string combine(std::string folded, const std::string& next) const {
    return "(" + folded + " + " + next + ")";
  }
  std::string finalize(const std::string& folded, int replicas) const {
    return folded + " of " + std::to_string(replicas);
  }
};

TEST_F(MaskedReplicas, BringNothingToUserReductions) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    std::string wanted = std::to_string(drawn.ids.front());
    for (std::size_t i = 1; i < drawn.ids.size(); ++i) {
      wanted = "(" + wanted + " + " + std::to_string(drawn.ids[i]) + ")";
    }
    wanted += " of " + std::to_string(drawn.ids.size());
    const auto words =
        strategy.run([](ReplicaContext&, int id) { return std::to_string(id); }, drawn.argument());
    const auto reduced = strategy.cross_replica().reduce(Sentence(), words);
    RC_ASSERT(reduced.size() == drawn.replicas);
    for (int id = 0; id < drawn.replicas; ++id) RC_ASSERT(reduced[id] == wanted);
    const auto seen =
        strategy.run([](ReplicaContext& replica,
                        const std::string& own) { return replica.all_reduce(Sentence(), own); },
                     words);
    expect_each(drawn, seen, wanted);
  });
}

TEST_F(MaskedReplicas, BringNothingToProductsOfReplicas) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const std::size_t total = drawn.joined().size();
    for (const ReduceOp op : kBoth) {
      const auto seen = strategy.run(
          [&](ReplicaContext& replica, int id) {
            return all_reduce_vjp(replica, op, drawn.tensor(id)).to_host();
          },
          drawn.argument());
      expect_each(drawn, seen, drawn.reduced(op));
    }
    const auto slices = strategy.run(
        [&](ReplicaContext& replica, int id) {
          return all_gather_vjp(replica, drawn.tensor(id, drawn.length(id)),
                                drawn.tensor(id, total, 1))
              .to_host();
        },
        drawn.argument());
    // The concatenated slices are the sum of the cotangents.
    Row joined;
    for (const Row& own : list_of(drawn, slices))
      joined.insert(joined.end(), own.begin(), own.end());
    RC_ASSERT(joined == drawn.reduced(ReduceOp::kSum, total, 1));
    for (const int id : drawn.ids) RC_ASSERT(slices[id].size() == drawn.length(id));
  });
}

TEST_F(MaskedReplicas, BringNothingToProductsOfCrossReplicaVerbs) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    CrossReplicaContext& cross = strategy.cross_replica();
    const auto values =
        strategy.run([&](ReplicaContext&, int id) { return drawn.tensor(id, drawn.length(id)); },
                     drawn.argument());
    const std::size_t total = drawn.joined().size();
    const Row cotangent = drawn.row(99, total, 2);
    const Scope scope = strategy.scope();
    const auto slices = gather_vjp(
        cross, values, Tensor<float>::from({static_cast<std::int64_t>(total)}, cotangent));
    Row joined;
    for (const int id : drawn.ids) {
      RC_ASSERT(slices[id].placement() == strategy.placement(id));
      RC_ASSERT(static_cast<std::size_t>(slices[id].count()) == drawn.length(id));
      const Row own = slices[id].to_host();
      joined.insert(joined.end(), own.begin(), own.end());
    }
    RC_ASSERT(list_of(drawn, slices).size() == drawn.ids.size());
    RC_ASSERT(joined == cotangent);
    const auto shares =
        strategy.run([&](ReplicaContext&, int id) { return drawn.tensor(id); }, drawn.argument());
    RC_ASSERT(broadcast_vjp(cross, shares).to_host() == drawn.reduced(ReduceOp::kSum));
    const Tensor<float> of_sum = drawn.tensor(99);
    for (const ReduceOp op : kBoth) {
      const float divisor = op == ReduceOp::kMean ? drawn.count() : 1;
      Row wanted = drawn.row(99);
      for (float& x : wanted) x /= divisor;
      const auto parts = reduce_vjp(cross, op, shares, of_sum);
      RC_ASSERT(list_of(drawn, parts).size() == drawn.ids.size());
      for (const int id : drawn.ids) {
        RC_ASSERT(parts[id].placement() == strategy.placement(id));
        RC_ASSERT(parts[id].to_host() == wanted);
      }
    }
  });
}

constexpr std::int64_t kRows = 4;

/// Slices of [4, 1]: as many rows as the replica's length, each somewhere.
Row places(const Masked& drawn, int id) {
  Row rows = drawn.row(id, drawn.length(id), 3);
  for (float& row : rows) row = std::abs(row - 4 * std::trunc(row / 4));
  return rows;
}
IndexedSlices<float> slices_of(const Masked& drawn, int id) {
  const auto count = static_cast<std::int64_t>(drawn.length(id));
  const Row rows = places(drawn, id);
  return indexed_slices(
      drawn.tensor(id, drawn.length(id)).reshaped({count, 1}),
      Tensor<std::int64_t>::from({count}, std::vector<std::int64_t>(rows.begin(), rows.end())),
      Shape{kRows, 1});
}
/// Adds the values of replica `id`, divided by `divisor`, to `table`.
void add_slices(const Masked& drawn, int id, float divisor, Row& table) {
  const Row values = drawn.row(id, drawn.length(id));
  const Row rows = places(drawn, id);
  for (std::size_t i = 0; i < values.size(); ++i) {
    table[static_cast<std::size_t>(rows[i])] += values[i] / divisor;
  }
}

TEST_F(MaskedReplicas, BringNoSlices) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    for (const ReduceOp op : kBoth) {
      const float divisor = op == ReduceOp::kMean ? drawn.count() : 1;
      Row wanted(kRows, 0);
      Row values = drawn.joined();
      for (float& value : values) value /= divisor;
      for (const int id : drawn.ids) add_slices(drawn, id, divisor, wanted);
      const auto seen = strategy.run(
          [&](ReplicaContext& replica, int id) {
            const auto all = all_reduce_slices(replica, op, slices_of(drawn, id));
            return std::pair(all.values.to_host(), to_dense(all).to_host());
          },
          drawn.argument());
      expect_each(drawn, seen, std::pair(values, wanted));
      const auto own = strategy.run([&](ReplicaContext&, int id) { return slices_of(drawn, id); },
                                    drawn.argument());
      const auto all = reduce_slices(strategy.cross_replica(), op, own);
      RC_ASSERT(all.size() == drawn.replicas);
      for (int id = 0; id < drawn.replicas; ++id) {
        RC_ASSERT(all[id].values.placement() == strategy.placement(id));
        RC_ASSERT(to_dense(all[id]).to_host() == wanted);
      }
    }
  });
}

/// Expects these values in every component.
void expect_components(Strategy& strategy, const MirroredVariable<Tensor<float>>& variable,
                       const Row& wanted) {
  RC_ASSERT(strategy.local_values(variable).size() == strategy.parameter_devices().size());
  for (const auto& component : strategy.local_values(variable)) {
    RC_ASSERT(component.to_host() == wanted);
  }
  const auto seen =
      strategy.run([&](ReplicaContext& replica) { return variable.on(replica).to_host(); });
  for (int id = 0; id < strategy.num_replicas(); ++id) RC_ASSERT(seen[id] == wanted);
}

TEST_F(MaskedReplicas, ScatterNothingAndReceiveWhatOthersScatter) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    for (const Aggregation aggregation :
         {Aggregation::kSum, Aggregation::kMean, Aggregation::kOnlyFirst}) {
      const auto variable = strategy.mirrored_variable(
          [] { return Tensor<float>::full({kRows, 1}, 1.0F); }, {.aggregation = aggregation});
      strategy.run(
          [&](ReplicaContext& replica, int id) {
            scatter(replica, ScatterOp::kAdd, variable, slices_of(drawn, id));
          },
          drawn.argument());
      Row wanted(kRows, 1);
      const float divisor = aggregation == Aggregation::kMean ? drawn.count() : 1;
      for (const int id : drawn.ids) {
        if (aggregation == Aggregation::kOnlyFirst && id != drawn.ids.front()) continue;
        add_slices(drawn, id, divisor, wanted);
      }
      expect_components(strategy, variable, wanted);
    }
  });
}

TEST_F(MaskedReplicas, AssignNothingAndReceiveWhatOthersAssign) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    for (const Aggregation aggregation :
         {Aggregation::kSum, Aggregation::kMean, Aggregation::kOnlyFirst}) {
      const auto variable = strategy.mirrored_variable(
          [] { return Tensor<float>::zeros({Masked::kLength}); }, {.aggregation = aggregation});
      strategy.run(
          [&](ReplicaContext& replica, int id) { replica.assign(variable, drawn.tensor(id)); },
          drawn.argument());
      const Row wanted = aggregation == Aggregation::kOnlyFirst ? drawn.row(drawn.ids.front())
                         : aggregation == Aggregation::kMean    ? drawn.reduced(ReduceOp::kMean)
                                                                : drawn.reduced(ReduceOp::kSum);
      expect_components(strategy, variable, wanted);
    }
  });
}

TEST_F(MaskedReplicas, HaveTheVariablesThatOthersMake) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const auto made = strategy.run(
        [&](ReplicaContext&, int id) {
          return current_strategy().mirrored_variable([&] { return drawn.tensor(id); });
        },
        drawn.argument());
    expect_components(strategy, made, drawn.row(drawn.ids.front()));
  });
}

TEST_F(MaskedReplicas, KeepTheirOwnComponents) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const auto variable = strategy.replica_local_variable(ReduceOp::kSum, 1.0F);
    strategy.run(
        [&](ReplicaContext& replica, int id) { replica.assign_add(variable, drawn.number(id)); },
        drawn.argument());
    float total = 0;
    for (int id = 0; id < drawn.replicas; ++id) {
      const float wanted = drawn.has(id) ? 1 + drawn.number(id) : 1;
      RC_ASSERT(strategy.local_values(variable)[static_cast<std::size_t>(id)] == wanted);
      total += wanted;
    }
    RC_ASSERT(strategy.read(variable) == total);
  });
}

TEST_F(MaskedReplicas, TakeNoPartInNestedRunsOfMissingValues) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const auto inner = [](ReplicaContext& replica, float own) {
      return std::pair(replica.replica_id(), replica.all_reduce(ReduceOp::kMean, own));
    };
    const auto seen = strategy.run(
        [&](ReplicaContext& replica, int id) {
          return replica.merge_call(
              [&](CrossReplicaContext& cross, const PerReplica<float>& all) {
                return cross.run(inner, all);
              },
              drawn.number(id));
        },
        drawn.argument());
    std::vector<std::pair<int, float>> wanted;
    for (const int id : drawn.ids) wanted.emplace_back(id, drawn.reduced(ReduceOp::kMean, 1)[0]);
    RC_ASSERT(list_of(drawn, seen) == wanted);
  });
}

TEST_F(MaskedReplicas, TakePartInNestedRunsOfAllReplicas) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const auto inner = [](ReplicaContext& replica) {
      return replica.all_gather(Ids{replica.replica_id()});
    };
    Ids everybody(static_cast<std::size_t>(drawn.replicas));
    std::iota(everybody.begin(), everybody.end(), 0);
    std::vector<Ids> inside;
    const auto seen = strategy.run(
        [&](ReplicaContext& replica, int) {
          return replica.merge_call([&](CrossReplicaContext& cross) {
            const auto results = cross.run(inner);
            inside.assign(results.begin(), results.end());
            return results;
          });
        },
        drawn.argument());
    RC_ASSERT(inside == std::vector<Ids>(static_cast<std::size_t>(drawn.replicas), everybody));
    expect_each(drawn, seen, everybody);
  });
}

TEST_F(MaskedReplicas, AreNotWaitedForByGroups) {
  holds_for_some([](const Masked& drawn, Strategy& strategy) {
    const auto values = strategy.run(
        [&](ReplicaContext&, int id) { return add(drawn.tensor(id), 1.0F); }, drawn.argument());
    const Completion completion = strategy.cross_replica().group(values);
    completion.wait();
    RC_ASSERT(completion.done());
  });
}

}  // namespace
}  // namespace belfry::testing::masked_props
