// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/dtype.h"
#include "belfry/tensor.h"
#include "belfry/testing/arbitrary.h"
#include "belfry/testing/backend_factory.h"
#include "belfry/testing/strategy_factory.h"

#include <rapidcheck.h>

#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
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
        backend_(subject.backends.make(setting.backend)),
        devices_(setting.topology.specs(*backend_)) {
    StrategyOptions options{.order = order};
    if (!setting.topology.is_whole()) options.devices = devices_;
    strategy_ = subject.strategies.make(*backend_, options);
    if (subject.has_one_replica()) devices_.resize(1);
    if (subject.strategies.replica_devices() == ReplicaDevices::kOwn) {
      devices_ = strategy_->backend().devices();
    }
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
  /// The devices of the replicas, in order.
  const std::vector<DeviceSpec>& devices() const { return devices_; }

 private:
  const ContractSubject& subject_;
  int thrown_before_ = std::uncaught_exceptions();
  std::unique_ptr<Backend> backend_;
  std::vector<DeviceSpec> devices_;
  std::unique_ptr<Strategy> strategy_;
};

using Row = std::vector<float>;

inline Tensor<float> tensor_of(const Row& row) {
  return Tensor<float>::from({static_cast<std::int64_t>(row.size())}, row);
}
inline Row random_row(std::uint64_t seed, int replica, std::size_t length = 5) {
  return values_of<float>({Pattern::kRandom, seed}, replica, length);
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
/// of the terms. Empty without a tolerance, and for integers.
template <class T>
Slack slack_of(double tolerance, ReduceOp op, const std::vector<std::vector<T>>& rows) {
  if (tolerance == 0 || std::is_integral_v<T>) return {};
  // The distance of the smallest 16-bit floats.
  constexpr double kSmallest = std::is_same_v<T, Float16> ? 0x1p-24 : 0;
  const double divisor = op == ReduceOp::kMean ? static_cast<double>(rows.size()) : 1;
  Slack slack(rows.front().size(), kSmallest);
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
