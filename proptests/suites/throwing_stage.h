// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/current.h"

#include <atomic>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing {

/// What user code throws on purpose. No std::exception: nothing may depend on that.
struct Planted {
  int point = 0;
};

/// Counts the points that user code comes by, and throws at those it is armed for.
class Planter {
 public:
  enum class Extent { kOnce, kFromThenOn };

  /// From here on the `at`-th point throws, and later ones too if so asked; 0: none does. While
  /// replicas run nobody arms.
  void arm(int at, Extent extent = Extent::kOnce) {
    at_ = at;
    extent_ = extent;
    points_ = 0;
    thrown_ = 0;
  }
  void disarm() { at_ = 0; }
  void point() {
    // INV-2.
    if ((current_replica() == nullptr) == (current_cross_replica() == nullptr)) lost_ = true;
    const int now = ++points_;
    if (at_ == 0 || now < at_ || (now > at_ && extent_ == Extent::kOnce)) return;
    ++thrown_;
    throw Planted{now};
  }
  int points() const { return points_; }
  int thrown() const { return thrown_; }
  /// Whether at some point not exactly one context was current.
  bool lost_its_way() const { return lost_; }

  /// How many Fussy values there are: those on the stacks of living replicas too.
  std::atomic<int> alive{0};

 private:
  int at_ = 0;
  Extent extent_ = Extent::kOnce;
  std::atomic<int> points_{0};
  std::atomic<int> thrown_{0};
  std::atomic<bool> lost_{false};
};

/// A number of a user's type, every copy of which is a point.
struct Fussy {
  Fussy(Planter& owner, float number) : planter(&owner), value(number) { ++planter->alive; }
  Fussy(const Fussy& other) : planter(other.planter), value(other.value) {
    planter->point();
    ++planter->alive;
  }
  Fussy(Fussy&& other) noexcept : planter(other.planter), value(other.value) { ++planter->alive; }
  Fussy& operator=(const Fussy& other) {
    planter->point();
    if (this != &other) value = other.value;
    return *this;
  }
  Fussy& operator=(Fussy&& other) noexcept {
    value = other.value;
    return *this;
  }
  ~Fussy() { --planter->alive; }

  static auto members(auto& self) { return std::tie(self.value); }

  Planter* planter;
  float value;
};

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
inline Row host_row(const Fussy& number) { return row_of(number.value); }
using Pair = std::pair<TensorRow, TensorRow>;
/// Of the two, which change together or not at all.
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
/// Whether all rows are of this number.
bool are_all(const std::vector<Row>& rows, float value);

/// What the variables of a stage hold: small integers, so that all arithmetic is exact. Every
/// element of a row is the same number.
struct StageNumbers {
  explicit StageNumbers(int replicas)
      : local(static_cast<std::size_t>(replicas), 3.0F),
        local_tensor(local.size(), 4.0F),
        pair(local.size(), 6.0F) {}

  int replicas() const { return static_cast<int>(local.size()); }
  float host = 1;
  float tensor = 2;
  float fussy = 5;
  std::vector<float> local;
  std::vector<float> local_tensor;
  std::vector<float> pair;
};

/// Variables of every kind, and the strategy that they belong to.
class Stage {
 public:
  Stage(Strategy& owner, Planter& plants);
  /// Takes more memory of a replica's device than the others have to give.
  void burden(int replica);

  int replicas() const { return strategy.num_replicas(); }
  void point() const { planter.point(); }
  Fussy number(float value) const { return {planter, value}; }
  /// Notes whether a verb gave what it had to; replicas may ask at the same time.
  void expect(bool right) {
    if (!right) wrong_ = true;
  }
  bool was_wrong() const { return wrong_; }

  /// Whether each mirrored variable is in all components what it is in `before`, or in all what it
  /// is in `after`, and each component of the others one of these.
  bool is_either(const StageNumbers& before, const StageNumbers& after);

  Strategy& strategy;
  Planter& planter;
  MirroredVariable<Row> host;
  MirroredVariable<TensorRow> tensor;
  MirroredVariable<Fussy> fussy;
  ReplicaLocalVariable<Row> local;
  ReplicaLocalVariable<TensorRow> local_tensor;
  ReplicaLocalVariable<Pair> pair;

 private:
  bool is_seen_alike();

  TensorRow burden_;

  std::atomic<bool> wrong_{false};
};

/// 0 + 1 + ... + (replicas - 1).
inline float sum_of_ids(const Stage& stage) {
  return static_cast<float>(stage.replicas() * (stage.replicas() - 1)) / 2;
}
inline float id_of(const ReplicaContext& replica) {
  return static_cast<float>(replica.replica_id());
}
/// The effect of a verb that leaves all variables as they were.
inline void nothing(StageNumbers&) {}

/// Some verbs with functions of the user's that come by points.
struct ThrowingVerb {
  const char* name;
  /// Calls the verb and compares what it gives.
  void (*call)(Stage& stage);
  /// What the variables hold afterwards.
  void (*effect)(StageNumbers& numbers);
  /// Whether a verb that throws leaves all variables as they were.
  bool changes_nothing_when_it_throws;
};
/// Of those, the ones that reduce, scatter or gather in ways of their own.
std::vector<ThrowingVerb> throwing_reductions();
const std::vector<ThrowingVerb>& throwing_verbs();

}  // namespace belfry::testing
