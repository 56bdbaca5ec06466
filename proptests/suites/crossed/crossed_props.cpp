// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions with everything combined: each algorithm with each order, packing, element type,
// residence, destination and operator, against the additions (or multiplications) that the rules
// state and against exact sums (SEM-21, SEM-30 to SEM-33, SEM-122, SEM-146, SEM-147, SEM-149,
// SEM-252, SEM-253).
#include "belfry/testing/asserts.h"
#include "suites/crossed/crossed_case.h"
#include "suites/crossed/crossed_oracle.h"
#include "suites/drawn_rows.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace belfry::testing::crossed {
namespace {

using Rows = std::vector<DrawnRow>;

// The leaves of a case, in the order of the nest.
std::vector<Leaf> leaves_of(const Case& drawn) {
  std::vector<Leaf> lists;
  std::vector<Leaf> first;
  std::vector<Leaf> last;
  for (std::size_t i = 0; i < drawn.lengths.size(); ++i) {
    const bool is_mixed = drawn.residence == Residence::kMixed;
    const bool is_tensor = is_mixed ? i % 3 != 1 : drawn.residence == Residence::kOnDevices;
    std::vector<Leaf>& part = !is_tensor ? lists : is_mixed && i % 3 == 2 ? last : first;
    part.push_back({.length = drawn.lengths[i], .is_tensor = is_tensor});
  }
  std::vector<Leaf> leaves = lists;
  leaves.insert(leaves.end(), first.begin(), first.end());
  if (drawn.residence == Residence::kMixed) {
    leaves.push_back({.length = drawn.lengths[0], .is_tensor = true, .is_double = true});
  }
  leaves.insert(leaves.end(), last.begin(), last.end());
  return leaves;
}

DrawnRow row_of(const Case& drawn, const std::vector<Leaf>& leaves, std::size_t leaf, int replica) {
  const Values values{drawn.values.pattern, drawn.values.seed + leaf};
  const DType dtype = leaves[leaf].is_double ? DType::kFloat64 : drawn.dtype;
  return drawn_row(dtype, values, replica, leaves[leaf].length);
}

// The value of a replica: lists in host memory, then tensors, with a tensor of doubles among the
// tensors if the case mixes residences.
DrawnNest nest_of(const Case& drawn, const std::vector<Leaf>& leaves, int replica) {
  DrawnNest nest;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    const DrawnRow row = row_of(drawn, leaves, leaf, replica);
    nest.push_back(leaves[leaf].is_tensor ? tensor_leaf(row) : list_leaf(row));
  }
  return nest;
}

void require_placed(const DrawnNest& nest, const Placement& place) {
  for (const Placement& one : placements_of(nest)) RC_ASSERT(one == place);
}

// The terms of an element, replica by replica.
template <class T>
std::vector<T> terms_of(const std::vector<std::vector<T>>& rows, std::size_t element) {
  std::vector<T> terms;
  for (const std::vector<T>& row : rows) terms.push_back(row[element]);
  return terms;
}

// Compares the result of a leaf with the stated additions and with the exact sum.
template <class T>
class LeafCheck {
 public:
  LeafCheck(const Case& drawn, ReductionOrder native, bool is_tensor)
      : drawn_(drawn), native_(native), is_tensor_(is_tensor) {}

  void run(const std::vector<std::vector<T>>& inputs, const std::vector<Place>& places,
           const std::vector<T>& result) const {
    RC_ASSERT(result.size() == places.size());
    std::vector<T> wanted;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::vector<T> terms = terms_of(inputs, i);
      wanted.push_back(stated(terms, places[i]).value_or(result[i]));
      if constexpr (!std::is_integral_v<T>) {
        RC_ASSERT(is_near_the_exact(drawn_.op, terms, result[i]));
      }
    }
    RC_ASSERT(Numbers<T>(result) == Numbers<T>(wanted));
  }

 private:
  std::optional<T> stated(const std::vector<T>& terms, const Place& place) const {
    const bool is_extreme = drawn_.op == ReduceOp::kMax || drawn_.op == ReduceOp::kMin;
    // Neither extremes nor sums and products of integers depend on the order.
    if (is_extreme || std::is_integral_v<T>) {
      return expected_element(drawn_.op, terms, ReductionOrder::kReplicaOrder, 0);
    }
    if (drawn_.op == ReduceOp::kProd) {
      std::vector<Factor<Wide<T>>> factors;
      for (const T term : terms) factors.push_back({widened(term)});
      const auto product = stated_sum(drawn_, native_, is_tensor_, factors, place);
      return product ? std::optional(narrowed<T>(product->value)) : std::nullopt;
    }
    std::vector<Wide<T>> wide;
    for (const T term : terms) wide.push_back(widened(term));
    auto sum = stated_sum(drawn_, native_, is_tensor_, wide, place);
    if (!sum) return std::nullopt;
    if (drawn_.op == ReduceOp::kMean) *sum /= static_cast<Wide<T>>(terms.size());
    return narrowed<T>(*sum);
  }

  const Case& drawn_;
  ReductionOrder native_;
  bool is_tensor_;
};

void check_leaf(const Case& drawn, ReductionOrder native, bool is_tensor, const Rows& inputs,
                const std::vector<Place>& places, const DrawnRow& result) {
  with_type(result.dtype, [&]<class T>() {
    std::vector<std::vector<T>> rows;
    for (const DrawnRow& row : inputs) rows.push_back(typed<T>(row));
    LeafCheck<T>(drawn, native, is_tensor).run(rows, places, typed<T>(result));
  });
}

// Every device has the bits of the first; the first has the sums.
void check_results(const Case& drawn, ReductionOrder native, const std::vector<Leaf>& leaves,
                   const std::vector<Rows>& results) {
  const Rows& got = results.front();
  for (const Rows& other : results) RC_ASSERT(other == got);
  RC_ASSERT(got.size() == leaves.size());
  const Places places =
      places_of(drawn, leaves, size_of(drawn.dtype), drawn.dtype == DType::kFloat64);
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    Rows inputs;
    for (int id = 0; id < drawn.members(); ++id) {
      inputs.push_back(row_of(drawn, leaves, leaf, id));
    }
    check_leaf(drawn, native, leaves[leaf].is_tensor, inputs, places[leaf], got[leaf]);
  }
}

class Reductions {
 public:
  Reductions(const Case& drawn, Backend& backend)
      : drawn_(drawn), backend_(backend), leaves_(leaves_of(drawn)) {}

  const std::vector<Leaf>& leaves() const { return leaves_; }

  // The result on each replica, or on each device of the destination.
  std::vector<Rows> results(Strategy& strategy) const {
    const ReduceOp op = drawn_.op;
    if (drawn_.target == Target::kInReplicas) {
      const auto reduced = strategy.run([&](ReplicaContext& replica) {
        return replica.all_reduce(op, nest_of(drawn_, leaves_, replica.replica_id()));
      });
      return of_replicas(reduced, strategy);
    }
    CrossReplicaContext& cross = strategy.cross_replica();
    const PerReplica<DrawnNest> nests = strategy.run(
        [&](ReplicaContext& replica) { return nest_of(drawn_, leaves_, replica.replica_id()); });
    switch (drawn_.target) {
      case Target::kOneDevice:
        return placed(cross.reduce(op, nests, backend_.device_spec(drawn_.destination[0])),
                      {drawn_.destination[0]});
      case Target::kListOfDevices:
        return placed(cross.reduce(op, nests, specs_of(drawn_.destination)), drawn_.destination);
      case Target::kVariable: {
        const std::vector<int> homes = drawn_.homes();
        const VariableScope scope = strategy.colocate_variables_with(specs_of(homes));
        const auto variable = strategy.mirrored_variable(0.0F);
        return placed(cross.reduce(op, nests, variable), homes);
      }
      default:
        return of_replicas(cross.reduce(op, nests), strategy);
    }
  }

 private:
  std::vector<DeviceSpec> specs_of(const std::vector<int>& devices) const {
    std::vector<DeviceSpec> specs;
    for (const int device : devices) specs.push_back(backend_.device_spec(device));
    return specs;
  }
  template <class Value>
  std::vector<Rows> of_replicas(const Value& value, Strategy& strategy) const {
    std::vector<Rows> results;
    for (int id = 0; id < strategy.num_replicas(); ++id) {
      require_placed(value[id], strategy.placement(id));
      results.push_back(rows_of(value[id]));
    }
    return results;
  }
  std::vector<Rows> placed(const MirroredOn<DrawnNest>& value,
                           const std::vector<int>& devices) const {
    RC_ASSERT(value.size() == static_cast<int>(devices.size()));
    std::vector<Rows> results;
    for (int i = 0; i < value.size(); ++i) {
      require_placed(value[i], Placement{&backend_, devices[static_cast<std::size_t>(i)]});
      results.push_back(rows_of(value[i]));
    }
    return results;
  }

  const Case& drawn_;
  Backend& backend_;
  std::vector<Leaf> leaves_;
};

ReductionOrder native_order(Backend& backend, const Topology& replicas) {
  belfry::ReplicaDevices devices(backend, replicas.devices);
  return NativeAllReduce().order(devices);
}

// A strategy with the options of the case. An order that the algorithm cannot have is refused, and
// the case goes on without an order.
std::unique_ptr<MirroredStrategy> make_strategy(Backend& backend, Case& drawn,
                                                ReductionOrder native) {
  StrategyOptions options{.devices = drawn.replicas.specs(backend),
                          .order = drawn.order,
                          .cross_device_ops = drawn.algorithm()};
  if (!is_accepted(drawn, native)) {
    ErrorCode code = ErrorCode::kInternal;
    try {
      MirroredStrategy(backend, options);
    } catch (const InvalidArgumentError& error) {
      code = error.code();
    }
    RC_ASSERT(code == ErrorCode::kInvalidArgument);
    options.order = drawn.order = std::nullopt;
  }
  return std::make_unique<MirroredStrategy>(backend, options);
}

template <Route R>
using By = std::integral_constant<Route, R>;
using Routes =
    ::testing::Types<By<Route::kNoneGiven>, By<Route::kNative>, By<Route::kToOneDevice>,
                     By<Route::kRing>, By<Route::kRingWithOptions>, By<Route::kTree>,
                     By<Route::kHalvingDoubling>, By<Route::kShuffle>, By<Route::kHierarchical>>;
struct RouteNames {
  template <class R>
  static std::string GetName(int) {
    const char* const names[] = {"no_algorithm",      "native", "to_one_device",    "ring",
                                 "ring_with_options", "tree",   "halving_doubling", "shuffle",
                                 "hierarchical"};
    return names[static_cast<std::size_t>(R::value)];
  }
};

class OfRoutes : public Property {
 protected:
  void have_the_stated_bits(Route route) {
    holds([&] {
      Case drawn = *any_case(route);
      Bench bench(*this, drawn.backend);
      bench.strategy().run(meet_with_a_tensor);  // Through the communicator.
      const ReductionOrder native = native_order(bench.backend(), drawn.replicas);
      const auto strategy = make_strategy(bench.backend(), drawn, native);
      const Reductions reductions(drawn, strategy->backend());
      check_results(drawn, native, reductions.leaves(), reductions.results(*strategy));
    });
  }
};

template <class R>
class Crossed : public OfRoutes {};
TYPED_TEST_SUITE(Crossed, Routes, RouteNames);

TYPED_TEST(Crossed, ReductionsHaveTheStatedBits) {
  asserts("SEM-30", "SEM-31", "SEM-32", "SEM-33");
  asserts("SEM-122", "SEM-146", "SEM-147", "SEM-149");
  asserts("SEM-252", "SEM-253");
  this->have_the_stated_bits(TypeParam::value);
}

}  // namespace
}  // namespace belfry::testing::crossed
