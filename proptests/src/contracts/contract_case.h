// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"
#include "belfry/tensor.h"
#include "belfry/testing/arbitrary.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/process_place.h"
#include "belfry/testing/strategy_factory.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <exception>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace belfry::testing {

/// The factories under test.
struct ContractSubject {
  const StrategyFactory& strategies;
  const BackendFactory& backends;
  int most_devices = 9;
  /// Receives the text of a mistake in the strategy's own work, at the end of a fixture.
  std::string& own_mistake;
  const ProcessPlace* place = nullptr;  ///< Of this process among several; null: a single process.

  bool has_one_replica() const { return strategies.replica_devices() != ReplicaDevices::kEach; }
  double tolerance() const { return strategies.tolerance(); }
};

/// Ends a case: the contract is broken. Not on a replica.
[[noreturn]] inline void fail(const std::string& sentence) {
  throw rc::detail::CaseResult(rc::detail::CaseResult::Type::Failure, sentence);
}
inline void demand(bool kept, const std::string& sentence) {
  if (!kept) fail(sentence);
}
/// `notes` are the mistakes that replicas found; empty text: no mistake.
inline void demand_nothing(const PerReplica<std::string>& notes) {
  for (const std::string& note : notes) demand(note.empty(), note);
}

/// A backend, and the devices in the options of the strategy.
struct Setting {
  BackendRequest backend;
  Topology topology;
};
inline Setting draw_setting(const ContractSubject& subject) {
  if (subject.place != nullptr) {
    // All processes draw the same, and have devices of their own.
    BackendRequest request = *backend_request(1).as("backend");
    request.devices = subject.place->devices();
    return {request, Topology::whole(request.devices)};
  }
  const Topology drawn = *topology(subject.most_devices).as("replicas on");
  // By value: the generator is asked again while a case shrinks.
  const auto so_many = [devices = drawn.backend_devices](BackendRequest request) {
    request.devices = devices;
    return request;
  };
  return {*rc::gen::map(backend_request(1), so_many).as("backend"), drawn};
}
inline std::uint64_t draw_seed() { return *rc::gen::arbitrary<std::uint16_t>().as("seed"); }

/// A backend and a strategy for one case. The destructor asks the factory for mistakes of the
/// strategy, unless an exception was thrown.
class ContractFixture {
 public:
  /// Without an order: as the strategy likes.
  ContractFixture(const ContractSubject& subject, const Setting& setting,
                  std::optional<ReductionOrder> order = {})
      : subject_(subject),
        made_(has_backend(subject) ? nullptr : subject.backends.make(setting.backend)),
        backend_(has_backend(subject) ? subject.place->backend : made_.get()),
        devices_(setting.topology.specs(*backend_)) {
    StrategyOptions options{.order = order};
    if (!setting.topology.is_whole()) options.devices = devices_;
    strategy_ = subject.strategies.make(*backend_, options);
    if (subject.has_one_replica()) devices_.resize(1);
    if (subject.strategies.replica_devices() == ReplicaDevices::kOwn) {
      devices_ = strategy_->backend().devices();
    }
    const ProcessPlace* const place = subject.place;
    own_.resize(static_cast<std::size_t>(place == nullptr ? replicas() : place->devices()));
    std::iota(own_.begin(), own_.end(), place == nullptr ? 0 : place->first_replica());
  }
  ContractFixture(const ContractFixture&) = delete;
  ContractFixture& operator=(const ContractFixture&) = delete;
  ~ContractFixture() {
    if (std::uncaught_exceptions() > thrown_before_) return;
    subject_.own_mistake = own_mistake_in_words(subject_.strategies, *strategy_);
  }

  Backend& backend() { return *backend_; }
  Strategy& strategy() { return *strategy_; }
  int replicas() { return strategy_->num_replicas(); }
  /// The devices of the replicas of this process, in order.
  const std::vector<DeviceSpec>& devices() const { return devices_; }
  /// The replicas of this process, ascending.
  const std::vector<int>& own() const { return own_; }
  /// Whether more processes have replicas.
  bool is_one_of_several() const { return subject_.place != nullptr; }

 private:
  static bool has_backend(const ContractSubject& subject) {
    return subject.place != nullptr && subject.place->backend != nullptr;
  }

  const ContractSubject& subject_;
  int thrown_before_ = std::uncaught_exceptions();
  std::unique_ptr<Backend> made_;
  Backend* backend_;
  std::vector<DeviceSpec> devices_;
  std::vector<int> own_;
  std::unique_ptr<Strategy> strategy_;
};

using Row = std::vector<float>;

inline Tensor<float> tensor_of(const Row& row) {
  return Tensor<float>::from({static_cast<std::int64_t>(row.size())}, row);
}
inline Row random_row(std::uint64_t seed, int replica, std::size_t length = 5) {
  return values_of<float>({Pattern::kRandom, seed}, replica, length);
}

/// Requires a component for each replica of this process; with fewer components than replicas,
/// each component.
template <class T>
void demand_own_components(Strategy& strategy, const PerReplica<T>& components) {
  const auto count = std::distance(components.begin(), components.end());
  const auto own = static_cast<std::ptrdiff_t>(strategy.worker_devices().size());
  demand(count == std::min<std::ptrdiff_t>(components.size(), own),
         "a variable has " + std::to_string(count) + " components in a process of " +
             std::to_string(own) + " replicas");
}

/// Whether `tensor` names `place` as its placement, and the storage is there.
template <class T>
bool lives_at(const Tensor<T>& tensor, Placement place) {
  return tensor.placement() == place &&
         &tensor.any().view().buffer->device() == &place.backend->device(place.device);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// The row of a replica for reductions by `op`, which have the same bits in every order.
inline Row exact_row(ReduceOp op, std::uint64_t seed, int replica, std::size_t length) {
  Row row = values_of<float>({Pattern::kSmallIntegers, seed}, replica, length);
  if (op != ReduceOp::kProd) return row;
  for (float& x : row) x = x < 0 ? -2.0F : 1.0F;
  return row;
}

/// The reduction of such rows.
inline Row reduced(ReduceOp op, const std::vector<Row>& rows) {
  Row result = rows[0];
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (std::size_t r = 1; r < rows.size(); ++r) {
      const float x = rows[r][i];
      if (op == ReduceOp::kMax) result[i] = std::max(result[i], x);
      if (op == ReduceOp::kMin) result[i] = std::min(result[i], x);
      if (op == ReduceOp::kProd) result[i] *= x;
      if (op == ReduceOp::kSum || op == ReduceOp::kMean) result[i] += x;
    }
    if (op == ReduceOp::kMean) result[i] /= static_cast<float>(rows.size());
  }
  return result;
}

/// How far each element may be from the wanted element; empty: the bits are equal.
using Slack = std::vector<double>;

/// The distance between neighbours of T, relative to their magnitude.
template <class T>
constexpr double spacing_of() {
  if constexpr (std::is_same_v<T, Float16>) {
    return 0x1p-10;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return 0x1p-7;
  } else {
    return std::numeric_limits<T>::epsilon();
  }
}

/// The slack of a reduction of `rows`: the tolerance, and a rounding to T, times the magnitudes
/// of the terms; of a product, what so many relative errors make of it. Empty without a tolerance,
/// and for integers.
template <class T>
Slack slack_of(double tolerance, ReduceOp op, const std::vector<std::vector<T>>& rows) {
  if (tolerance == 0 || std::is_integral_v<T>) return {};
  // The distance of the smallest 16-bit floats.
  constexpr double kSmallest = std::is_same_v<T, Float16> ? 0x1p-24 : 0;
  const double divisor = op == ReduceOp::kMean ? static_cast<double>(rows.size()) : 1;
  Slack slack(rows.front().size(), kSmallest);
  if (op == ReduceOp::kProd) {
    const double error = tolerance + spacing_of<T>();
    for (std::size_t i = 0; i < slack.size(); ++i) {
      double product = 1;
      for (const std::vector<T>& row : rows) product *= std::abs(static_cast<double>(row[i]));
      slack[i] += product * (std::pow(1 + error, static_cast<double>(rows.size())) - 1);
    }
    return slack;
  }
  for (const std::vector<T>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double magnitude = std::abs(static_cast<double>(row[i]));
      slack[i] += (tolerance + spacing_of<T>()) * magnitude / divisor;
    }
  }
  return slack;
}

/// Whether `got` is `wanted`, up to the slack. No element is wanted for terms with a NaN or an
/// infinity, and for a sum beyond the type.
template <class T>
bool is_close(const std::vector<T>& got, const std::vector<T>& wanted, const Slack& slack) {
  if (slack.empty()) return same_bits(got, wanted);
  if (got.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto want = static_cast<double>(wanted[i]);
    if (!std::isfinite(want) || !std::isfinite(slack[i])) continue;
    // A NaN is close to nothing.
    if (!(std::abs(static_cast<double>(got[i]) - want) <= slack[i])) return false;
  }
  return true;
}

/// `[1, 2.5]`.
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::ostringstream text;
  text.precision(std::is_same_v<T, double> ? 17 : 9);  // Enough digits to distinguish neighbours.
  text << '[';
  for (std::size_t i = 0; i < values.size(); ++i) text << (i == 0 ? "" : ", ") << +values[i];
  text << ']';
  return text.str();
}

inline std::string replica_text(int replica) { return "replica " + std::to_string(replica); }
inline std::string component_text(int component) {
  return "component " + std::to_string(component);
}

// Each contract checks a random case.
void check_run(const ContractSubject& subject);
void check_input(const ContractSubject& subject);
void check_merge(const ContractSubject& subject);
void check_reduce(const ContractSubject& subject);
void check_broadcast(const ContractSubject& subject);
void check_initial_values(const ContractSubject& subject);
void check_update(const ContractSubject& subject);
void check_replica_local(const ContractSubject& subject);
void check_destinations(const ContractSubject& subject);
void check_programs(const ContractSubject& subject);
void check_failures(const ContractSubject& subject);

}  // namespace belfry::testing
