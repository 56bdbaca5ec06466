// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/strategy.h"
#include "belfry/strategy_options.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace belfry::testing {

/// Which devices the strategies of a factory have replicas on.
enum class ReplicaDevices : std::uint8_t {
  kEach,   ///< Each device of the backend, or each that the options name, in their order.
  kFirst,  ///< The first of these alone.
  kOwn,    ///< One of the strategy's own, which the backend does not have.
};

/// Makes the strategies that suites and contracts run on, so that their text is the same for all.
class StrategyFactory {
 public:
  virtual ~StrategyFactory() = default;
  /// For messages: `mirrored`, `central storage`, ...
  virtual std::string_view name() const = 0;
  /// A strategy with a replica on each device of `backend`, or on those the options name, which
  /// reduces in the order they ask for, and requires names if they do. Throws: what its constructor
  /// throws.
  virtual std::unique_ptr<Strategy> make(Backend& backend,
                                         const StrategyOptions& options) const = 0;
  /// With kFirst or kOwn there is one replica: the contracts leave out what takes two, and say so.
  /// The suites are for kEach.
  virtual ReplicaDevices replica_devices() const { return ReplicaDevices::kEach; }
  /// Whether tensors are reduced by the communicator where no order is asked for: then suites
  /// demand that collectives ran. False for strategies whose `do_reduce` does without.
  virtual bool uses_collectives() const { return true; }
  /// What is wrong with what a strategy of this factory does beyond what all must do, and no suite
  /// can know; nothing where all is well. Contracts and suites ask after each case that ended well,
  /// and report what it returns or throws. Context: between runs; it may run the strategy.
  virtual std::string own_mistake(Strategy& /*strategy*/) const { return {}; }
};

/// What `own_mistake` returns, or what it throws in words.
inline std::string own_mistake_in_words(const StrategyFactory& factory, Strategy& strategy) {
  try {
    return factory.own_mistake(strategy);
  } catch (const std::exception& error) {
    return std::string("it threw ") + error.what();
  }
}

/// What a factory says of its strategies: `StrategyFactory` has what each means.
struct StrategyTraits {
  ReplicaDevices replica_devices = ReplicaDevices::kEach;
  bool uses_collectives = true;
  /// Makes all strategies with StrategyOptions::require_names, so that a suite whose programs name
  /// their merges fails where one does not (SEM-133).
  bool require_names = false;
};

/// The factory of a strategy that is constructed from a backend and StrategyOptions. What
/// `own_mistake` returns, `&S::mistake` say, is that of `StrategyFactory`.
template <class S>
class StrategyOf final : public StrategyFactory {
 public:
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
  std::string own_mistake(Strategy& strategy) const override {
    return own_mistake_ ? own_mistake_(static_cast<S&>(strategy)) : std::string();
  }

 private:
  std::string name_;
  StrategyTraits traits_;
  std::function<std::string(S&)> own_mistake_;
};

/// The factory of this test binary. Each binary that links the suites defines it.
const StrategyFactory& strategy_factory();

}  // namespace belfry::testing
