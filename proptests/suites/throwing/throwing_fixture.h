// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "suites/throwing/fault_injector.h"

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

namespace belfry::testing {

using Row = std::vector<float>;
using TensorRow = Tensor<float>;
inline constexpr std::size_t kRowLength = 3;

inline Row row_of(float value) {
  Row row(kRowLength, value);
  return row;
}
inline TensorRow tensor_of(float value) {
  return TensorRow::full({static_cast<std::int64_t>(kRowLength)}, value);
}
inline Row host_row(const Row& row) { return row; }
inline Row host_row(const TensorRow& row) { return row.to_host(); }
inline Row host_row(const ThrowingNumber& number) { return row_of(number.value); }
using Pair = std::pair<TensorRow, TensorRow>;
/// The number of both tensors. Empty if the tensors differ: both change together or not at all.
inline Row host_row(const Pair& pair) {
  const Row row = pair.first.to_host();
  return pair.second.to_host() == row ? row : Row{};
}

/// All components of a variable.
template <class V>
std::vector<Row> components(Strategy& strategy, const V& variable) {
  std::vector<Row> rows;
  for (const auto& component : strategy.local_values(variable)) rows.push_back(host_row(component));
  return rows;
}
/// Whether every element of all rows is `value`.
bool are_all(const std::vector<Row>& rows, float value);

/// Expected values of the variables of a fixture. All elements of a row are equal. The values are
/// small integers, for which all arithmetic is exact.
struct ExpectedNumbers {
  explicit ExpectedNumbers(int replicas)
      : local(static_cast<std::size_t>(replicas), 3.0F),
        local_tensor(local.size(), 4.0F),
        pair(local.size(), 6.0F) {}

  int replicas() const { return static_cast<int>(local.size()); }
  float host = 1;
  float tensor = 2;
  float throwing_number = 5;
  std::vector<float> local;
  std::vector<float> local_tensor;
  std::vector<float> pair;
};

/// Variables of every kind, and the strategy that they belong to.
class ThrowingFixture {
 public:
  ThrowingFixture(Strategy& owner, FaultInjector& faults);
  /// Allocates memory on the device of `replica`, which then has less to give than the other
  /// devices.
  void occupy_memory(int replica);

  int replicas() const { return strategy.num_replicas(); }
  void point() const { injector.point(); }
  ThrowingNumber number(float value) const { return {injector, value}; }
  /// Records a wrong result of a verb. Replicas may call this at the same time.
  void expect(bool right) {
    if (!right) wrong_ = true;
  }
  bool was_wrong() const { return wrong_; }

  /// Whether all components of each mirrored variable have the value in `before`, or all have the
  /// value in `after`. Each component of a replica-local variable may have either value.
  bool is_either(const ExpectedNumbers& before, const ExpectedNumbers& after);

  Strategy& strategy;
  FaultInjector& injector;
  MirroredVariable<Row> host;
  MirroredVariable<TensorRow> tensor;
  MirroredVariable<ThrowingNumber> throwing_number;
  ReplicaLocalVariable<Row> local;
  ReplicaLocalVariable<TensorRow> local_tensor;
  ReplicaLocalVariable<Pair> pair;

 private:
  bool is_seen_alike();

  TensorRow occupied_;

  std::atomic<bool> wrong_{false};
};

/// 0 + 1 + ... + (replicas - 1).
inline float sum_of_ids(const ThrowingFixture& fixture) {
  return static_cast<float>(fixture.replicas() * (fixture.replicas() - 1)) / 2;
}
inline float id_of(const ReplicaContext& replica) {
  return static_cast<float>(replica.replica_id());
}
/// The effect of a verb that changes no variable.
inline void nothing(ExpectedNumbers&) {}

/// A verb with functions of the user that pass fault points.
struct ThrowingVerb {
  const char* name;
  /// Calls the verb and checks the result with `expect`.
  void (*call)(ThrowingFixture& fixture);
  /// Changes expected values as the verb changes the variables.
  void (*effect)(ExpectedNumbers& numbers);
  /// Whether the verb changes no variable if one of its functions throws.
  bool changes_nothing_when_it_throws;
};
/// All verbs with functions of the user.
const std::vector<ThrowingVerb>& throwing_verbs();
/// The part of `throwing_verbs` that reduces along an axis, reduces to a destination, scatters,
/// gathers or groups.
std::vector<ThrowingVerb> throwing_reductions();

}  // namespace belfry::testing
