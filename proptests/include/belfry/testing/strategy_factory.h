// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/prints.h"
#include "belfry/error.h"
#include "belfry/strategy.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::testing {

/// The devices of the replicas of a factory's strategies.
enum class ReplicaDevices : std::uint8_t {
  kEach,   ///< Each device of the backend, or each device in the options, in order.
  kFirst,  ///< The first of these devices alone.
  kOwn,    ///< A device of the strategy's own, unknown to the backend.
};

/// `each`, `first`, `own`.
std::string to_string(ReplicaDevices devices);

/// Makes the strategies of suites and contracts; the text of a suite is the same for all
/// strategies.
class StrategyFactory {
 public:
  virtual ~StrategyFactory() = default;
  /// For messages: `mirrored`, `central storage`, ...
  virtual std::string_view name() const = 0;
  /// A strategy with a replica on each device of `backend`, or on each device in the options. The
  /// strategy obeys the order and the required names of the options. Throws: errors of the
  /// constructor.
  virtual std::unique_ptr<Strategy> make(Backend& backend,
                                         const StrategyOptions& options) const = 0;
  /// With kFirst or kOwn there is a single replica: the contracts skip and report the parts that
  /// need two replicas. The suites are for kEach.
  virtual ReplicaDevices replica_devices() const { return ReplicaDevices::kEach; }
  /// Whether the communicator reduces tensors if no order is given: suites then check that
  /// collectives ran. False for strategies with a `do_reduce` without collectives.
  virtual bool uses_collectives() const { return true; }
  /// The largest error of a sum or mean of floating-point values, relative to the sum or mean of
  /// their magnitudes; 0 for the exact bits of SEM-30 to SEM-36. For lossy strategies, for
  /// example with sums of 16-bit floats. Integers stay exact, and every replica gets the same bits.
  /// The contracts report the unchecked parts; the suites compare bits and are for strategies with
  /// 0.
  virtual double tolerance() const { return 0; }
  /// The mistakes of a strategy in behaviour of its own, which no suite can know; empty without a
  /// mistake. Contracts and suites call the function after each successful case, and report the
  /// text or the exception. Context: between runs; the function may run the strategy.
  virtual std::string own_mistake(Strategy& /*strategy*/) const { return {}; }
};

/// The text of `own_mistake`, or the exception in words: of an error of belfry `describe(report)`.
inline std::string own_mistake_in_words(const StrategyFactory& factory, Strategy& strategy) {
  try {
    return factory.own_mistake(strategy);
  } catch (const Error& error) {
    return "it threw " + describe(error.report());
  } catch (const std::exception& error) {
    return std::string("it threw ") + error.what();
  }
}

/// The properties of a factory's strategies; `StrategyFactory` explains each.
struct StrategyTraits {
  ReplicaDevices replica_devices = ReplicaDevices::kEach;  ///< As StrategyFactory::replica_devices.
  bool uses_collectives = true;  ///< As StrategyFactory::uses_collectives.
  /// Makes all strategies with StrategyOptions::require_names: a suite whose programs name their
  /// merges fails if a name is missing (SEM-133).
  bool require_names = false;
  double tolerance = 0;  ///< As StrategyFactory::tolerance.
};

/// The traits as an initializer that compiles, without members of their usual value.
std::string to_string(const StrategyTraits& traits);

/// The factory of a strategy S that is constructed from a backend and StrategyOptions.
/// `own_mistake`, for instance `&S::mistake`, implements StrategyFactory::own_mistake.
template <class S>
class StrategyOf final : public StrategyFactory {
 public:
  /// `name` is for messages.
  explicit StrategyOf(std::string name, StrategyTraits traits = {},
                      std::function<std::string(S&)> own_mistake = {})
      : name_(std::move(name)), traits_(traits), own_mistake_(std::move(own_mistake)) {}

  std::string_view name() const override { return name_; }
  std::unique_ptr<Strategy> make(Backend& backend, const StrategyOptions& options) const override {
    StrategyOptions asked = options;
    asked.require_names = options.require_names || traits_.require_names;
    return std::make_unique<S>(backend, asked);
  }
  ReplicaDevices replica_devices() const override { return traits_.replica_devices; }
  bool uses_collectives() const override { return traits_.uses_collectives; }
  double tolerance() const override { return traits_.tolerance; }
  std::string own_mistake(Strategy& strategy) const override {
    return own_mistake_ ? own_mistake_(static_cast<S&>(strategy)) : std::string();
  }

 private:
  std::string name_;
  StrategyTraits traits_;
  std::function<std::string(S&)> own_mistake_;
};

/// The factory of this test binary. Each binary with the suites defines the function.
const StrategyFactory& strategy_factory();

using belfry::operator<<;

}  // namespace belfry::testing
