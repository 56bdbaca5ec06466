// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Reductions with everything combined: each algorithm with each order, packing, element type,
// residence and destination, sums and means, against the additions that the rules state and against
// exact sums (SEM-21, SEM-30 to SEM-33, SEM-122, SEM-146, SEM-147, SEM-149).
#include "belfry/testing/asserts.h"
#include "suites/crossed_case.h"
#include "suites/crossed_oracle.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::testing::crossed {
namespace {

template <class T>
using Rows = std::vector<std::vector<T>>;

// The value of a replica: lists in host memory, then tensors, with a tensor of doubles among the
// tensors if the case mixes residences. The type is the same for all cases.
template <class T>
using Nest = std::tuple<Rows<T>, std::vector<Tensor<T>>, std::vector<Tensor<double>>,
                        std::vector<Tensor<T>>>;

// The leaves of a nest in host memory.
template <class T>
struct HostNest {
  Rows<T> rows;          // In the order of the leaves, without the doubles.
  Rows<double> doubles;  // None or one.
};

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

template <class T>
std::vector<T> row_of(const Case& drawn, const std::vector<Leaf>& leaves, std::size_t leaf,
                      int replica) {
  const Values values{drawn.values.pattern, drawn.values.seed + leaf};
  return values_of<T>(values, replica, leaves[leaf].length);
}

template <class T>
Tensor<T> tensor_of(const std::vector<T>& row) {
  return Tensor<T>::from({static_cast<std::int64_t>(row.size())}, row);
}

template <class T>
Nest<T> nest_of(const Case& drawn, const std::vector<Leaf>& leaves, int replica) {
  Nest<T> nest;
  auto& [lists, first, doubles, last] = nest;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (leaves[leaf].is_double) {
      doubles.push_back(tensor_of(row_of<double>(drawn, leaves, leaf, replica)));
      continue;
    }
    std::vector<T> row = row_of<T>(drawn, leaves, leaf, replica);
    if (!leaves[leaf].is_tensor) {
      lists.push_back(std::move(row));
    } else {
      (doubles.empty() ? first : last).push_back(tensor_of(row));
    }
  }
  return nest;
}

template <class T>
HostNest<T> on_host(const Nest<T>& nest) {
  const auto& [lists, first, doubles, last] = nest;
  HostNest<T> host{.rows = lists, .doubles{}};
  for (const auto& tensor : first) host.rows.push_back(tensor.to_host());
  for (const auto& tensor : doubles) host.doubles.push_back(tensor.to_host());
  for (const auto& tensor : last) host.rows.push_back(tensor.to_host());
  return host;
}

template <class T>
void require_placed(const Nest<T>& nest, const Placement& place) {
  const auto& [lists, first, doubles, last] = nest;
  for (const auto& tensor : first) RC_ASSERT(tensor.placement() == place);
  for (const auto& tensor : doubles) RC_ASSERT(tensor.placement() == place);
  for (const auto& tensor : last) RC_ASSERT(tensor.placement() == place);
}

// The terms of an element, replica by replica.
template <class T>
std::vector<T> terms_of(const Rows<T>& rows, std::size_t element) {
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

  void run(const Rows<T>& inputs, const std::vector<Place>& places,
           const std::vector<T>& result) const {
    RC_ASSERT(result.size() == places.size());
    std::vector<T> wanted;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::vector<T> terms = terms_of(inputs, i);
      wanted.push_back(stated(terms, places[i]).value_or(result[i]));
      if constexpr (!std::is_integral_v<T>) {
        RC_ASSERT(is_near_the_exact(drawn_.is_mean, terms, result[i]));
      }
    }
    RC_ASSERT(Numbers<T>(result) == Numbers<T>(wanted));
  }

 private:
  std::optional<T> stated(const std::vector<T>& terms, const Place& place) const {
    std::vector<Wide<T>> wide;
    for (const T term : terms) wide.push_back(widened(term));
    // Sums of integers do not depend on the order.
    if (std::is_integral_v<T>) {
      return narrowed<T>(sum_in_order(wide, ReductionOrder::kReplicaOrder, 0));
    }
    auto sum = stated_sum(drawn_, native_, is_tensor_, wide, place);
    if (!sum) return std::nullopt;
    if (drawn_.is_mean) *sum /= static_cast<Wide<T>>(terms.size());
    return narrowed<T>(*sum);
  }

  const Case& drawn_;
  ReductionOrder native_;
  bool is_tensor_;
};

// Every device has the bits of the first; the first has the sums.
template <class T>
void check_results(const Case& drawn, ReductionOrder native, const std::vector<Leaf>& leaves,
                   const std::vector<HostNest<T>>& results) {
  const HostNest<T>& got = results.front();
  for (const HostNest<T>& other : results) {
    RC_ASSERT(other.rows.size() == got.rows.size());
    for (std::size_t row = 0; row < got.rows.size(); ++row) {
      RC_ASSERT(Numbers<T>(other.rows[row]) == Numbers<T>(got.rows[row]));
    }
    RC_ASSERT(other.doubles.size() == got.doubles.size());
    for (std::size_t row = 0; row < got.doubles.size(); ++row) {
      RC_ASSERT(Numbers<double>(other.doubles[row]) == Numbers<double>(got.doubles[row]));
    }
  }
  const Places places = places_of(drawn, leaves, sizeof(T), std::is_same_v<T, double>);
  std::size_t row = 0;
  const auto check = [&]<class U>(std::size_t leaf, const std::vector<U>& result) {
    Rows<U> inputs;
    for (int id = 0; id < drawn.members(); ++id) {
      inputs.push_back(row_of<U>(drawn, leaves, leaf, id));
    }
    LeafCheck<U>(drawn, native, leaves[leaf].is_tensor).run(inputs, places[leaf], result);
  };
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (leaves[leaf].is_double) {
      check(leaf, got.doubles.front());
    } else {
      check(leaf, got.rows[row]);
      ++row;
    }
  }
}

template <class T>
class Reductions {
 public:
  Reductions(const Case& drawn, Backend& backend)
      : drawn_(drawn), backend_(backend), leaves_(leaves_of(drawn)) {}

  const std::vector<Leaf>& leaves() const { return leaves_; }

  // The result on each replica, or on each device of the destination.
  std::vector<HostNest<T>> results(Strategy& strategy) const {
    const auto op = drawn_.is_mean ? ReduceOp::kMean : ReduceOp::kSum;
    if (drawn_.target == Target::kInReplicas) {
      const auto reduced = strategy.run([&](ReplicaContext& replica) {
        return replica.all_reduce(op, nest_of<T>(drawn_, leaves_, replica.replica_id()));
      });
      return of_replicas(reduced, strategy);
    }
    CrossReplicaContext& cross = strategy.cross_replica();
    const PerReplica<Nest<T>> nests = strategy.run(
        [&](ReplicaContext& replica) { return nest_of<T>(drawn_, leaves_, replica.replica_id()); });
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
  std::vector<HostNest<T>> of_replicas(const Value& value, Strategy& strategy) const {
    std::vector<HostNest<T>> results;
    for (int id = 0; id < strategy.num_replicas(); ++id) {
      require_placed(value[id], strategy.placement(id));
      results.push_back(on_host(value[id]));
    }
    return results;
  }
  std::vector<HostNest<T>> placed(const MirroredOn<Nest<T>>& value,
                                  const std::vector<int>& devices) const {
    RC_ASSERT(value.size() == static_cast<int>(devices.size()));
    std::vector<HostNest<T>> results;
    for (int i = 0; i < value.size(); ++i) {
      require_placed(value[i], Placement{&backend_, devices[static_cast<std::size_t>(i)]});
      results.push_back(on_host(value[i]));
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

template <class T>
void check_case(const Case& drawn, ReductionOrder native, MirroredStrategy& strategy) {
  const Reductions<T> reductions(drawn, strategy.backend());
  check_results<T>(drawn, native, reductions.leaves(), reductions.results(strategy));
}

void check_case_of_its_type(const Case& drawn, ReductionOrder native, MirroredStrategy& strategy) {
  switch (drawn.dtype) {
    case DType::kFloat32:
      return check_case<float>(drawn, native, strategy);
    case DType::kFloat64:
      return check_case<double>(drawn, native, strategy);
    case DType::kFloat16:
      return check_case<Float16>(drawn, native, strategy);
    case DType::kBFloat16:
      return check_case<BFloat16>(drawn, native, strategy);
    case DType::kInt8:
      return check_case<std::int8_t>(drawn, native, strategy);
    case DType::kInt16:
      return check_case<std::int16_t>(drawn, native, strategy);
    case DType::kInt32:
      return check_case<std::int32_t>(drawn, native, strategy);
    case DType::kInt64:
      return check_case<std::int64_t>(drawn, native, strategy);
    case DType::kUInt8:
      return check_case<std::uint8_t>(drawn, native, strategy);
    case DType::kUInt16:
      return check_case<std::uint16_t>(drawn, native, strategy);
    case DType::kUInt32:
      return check_case<std::uint32_t>(drawn, native, strategy);
    case DType::kUInt64:
      return check_case<std::uint64_t>(drawn, native, strategy);
    default:
      RC_FAIL("no reduction has this element type");
  }
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

template <class R>
class Crossed : public Property {};
TYPED_TEST_SUITE(Crossed, Routes, RouteNames);

TYPED_TEST(Crossed, ReductionsHaveTheStatedBits) {
  asserts("SEM-30", "SEM-31", "SEM-32", "SEM-33");
  asserts("SEM-122", "SEM-146", "SEM-147", "SEM-149");
  this->holds([this](const CaseBy<TypeParam::value>& argument) {
    Case drawn = argument;
    Bench bench(*this, drawn.backend);
    bench.strategy().run(meet_with_a_tensor);  // Through the communicator.
    const ReductionOrder native = native_order(bench.backend(), drawn.replicas);
    const auto strategy = make_strategy(bench.backend(), drawn, native);
    check_case_of_its_type(drawn, native, *strategy);
  });
}

}  // namespace
}  // namespace belfry::testing::crossed
