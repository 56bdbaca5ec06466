// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/host_backend.h"
#include "belfry/detail/refused.h"
#include "belfry/detail/strategy_arguments.h"
#include "belfry/process_group.h"
#include "belfry/strategy.h"

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belfry {

/// Trains on all devices of one process, in lockstep: a replica and a component of each variable on
/// every device.
///
///     cuda::Backend backend;                                    // All GPUs of the machine.
///     MirroredStrategy strategy{backend};
///     MirroredStrategy first{backend, {.devices = {DeviceSpec::parse("GPU:0")}}};
class MirroredStrategy final : public Strategy {
 public:
  /// Over all devices of `backend`. A template: clang takes braces in the initializer of a member
  /// for options and for a call site, and prefers the constructor without a template.
  template <std::same_as<CallSite> Site = CallSite>
  explicit MirroredStrategy(Backend& backend, Site site = CallSite::here())
      : MirroredStrategy(backend, StrategyOptions{}, site) {}
  /// Over the devices in the options.
  /// Throws:
  /// - InvalidArgumentError (kDuplicateDevice, kUnknownDevice): for the devices;
  /// - InvalidArgumentError (kInvalidArgument): a number that is no ReductionOrder, or an order
  ///   that `cross_device_ops` cannot have.
  MirroredStrategy(Backend& backend, const StrategyOptions& options,
                   CallSite site = CallSite::here());
  /// Arguments of no strategy; the call does not compile.
  template <class... Args>
    requires detail::WrongArguments<detail::OverBackend<StrategyOptions>, Args...>
  explicit MirroredStrategy(Args&&...) : MirroredStrategy(detail::refused<Backend&>()) {
    static_assert(
        detail::kTaken<Args...>,
        "a MirroredStrategy takes a backend, and options unless all devices take part: write "
        "MirroredStrategy strategy(backend, {.devices = {DeviceSpec::parse(\"GPU:0\")}})");
  }
  template <detail::ListedDevice T>
  MirroredStrategy(Backend&, std::initializer_list<T>)
      : MirroredStrategy(detail::refused<Backend&>()) {
    static_assert(
        detail::kTaken<T>,
        "a MirroredStrategy takes a backend, and options unless all devices take part: write "
        "MirroredStrategy strategy(backend, {.devices = {DeviceSpec::parse(\"GPU:0\")}})");
  }
  template <detail::ListedDevice T>
  MirroredStrategy(std::initializer_list<T>)
      : MirroredStrategy(detail::refused<Backend&>()) {  // NOLINT: does not compile.
    static_assert(
        detail::kTaken<T>,
        "a MirroredStrategy takes a backend, and options unless all devices take part: write "
        "MirroredStrategy strategy(backend, {.devices = {DeviceSpec::parse(\"GPU:0\")}})");
  }
};

/// Trains on the devices of several processes, in lockstep: a replica on every device of every
/// process of a group.
///
///     mpi::Group group{argc, argv};                             // Or the group of a sim::Host.
///     MultiWorkerMirroredStrategy strategy{backend, group};
///
/// All processes make the strategy and the same calls of it (SEM-150 to SEM-156); docs/processes.md
/// says of each verb whether all processes take part. The group outlives the strategy.
class MultiWorkerMirroredStrategy final : public Strategy {
 public:
  /// Over all devices of `backend`, or the devices in the options, in this process; each process
  /// brings its own.
  /// Order: blocks the host until all processes have made the strategy.
  /// Throws:
  /// - the errors of MirroredStrategy;
  /// - InvalidArgumentError (kInvalidArgument): options that differ between processes;
  /// - MergeMismatchError: another process makes another call (SEM-152);
  /// - ProcessLostError: a process is gone (SEM-154).
  template <std::same_as<CallSite> Site = CallSite>
  MultiWorkerMirroredStrategy(Backend& backend, ProcessGroup& group, Site site = CallSite::here())
      : MultiWorkerMirroredStrategy(backend, group, StrategyOptions{}, site) {}
  MultiWorkerMirroredStrategy(Backend& backend, ProcessGroup& group, const StrategyOptions& options,
                              CallSite site = CallSite::here());
  /// Arguments of no strategy; the call does not compile.
  template <class... Args>
    requires detail::WrongArguments<detail::OverProcesses<StrategyOptions>, Args...>
  explicit MultiWorkerMirroredStrategy(Args&&...)
      : MultiWorkerMirroredStrategy(detail::refused<Backend&>(), detail::refused<ProcessGroup&>()) {
    static_assert(detail::kTaken<Args...>,
                  "a MultiWorkerMirroredStrategy takes a backend and a process group, and then "
                  "options: write MultiWorkerMirroredStrategy strategy(backend, group)");
  }
};

/// Options of a CentralStorageStrategy.
struct CentralStorageOptions {
  /// The devices of the replicas, in order; empty: all devices of the backend.
  std::vector<DeviceSpec> devices{};
  /// As in StrategyOptions.
  std::optional<ReductionOrder> order{};
  /// As in StrategyOptions.
  std::shared_ptr<CrossDeviceOps> cross_device_ops{};
  /// As in StrategyOptions.
  std::vector<std::vector<int>> links{};
  /// As in StrategyOptions.
  std::function<void(const std::string&)> log{};
  /// The device of mirrored variables, which may be the host. Without a value: the device of the
  /// only replica, else the first CPU of the backend, else replica 0's device.
  std::optional<DeviceSpec> storage{};
  /// As in StrategyOptions.
  bool require_names = false;
  /// As in StrategyOptions.
  bool report_overflow = false;
};

/// The text of the options, as for StrategyOptions.
std::string to_string(const CentralStorageOptions& options);

namespace detail {
template <>
inline constexpr bool kPrints<CentralStorageOptions> = true;
}  // namespace detail

/// Trains on all devices of one process, in lockstep, with a single component of each mirrored
/// variable: for models whose updates or memory are not to be repeated on every device. An update
/// is computed once, on the storage device; a replica on another device sees a copy of each tensor,
/// renewed at each update (SEM-111). Replica-local variables have a component on each replica's
/// device.
class CentralStorageStrategy final : public Strategy {
 public:
  /// Over all devices of `backend`. A template, as in MirroredStrategy.
  template <std::same_as<CallSite> Site = CallSite>
  explicit CentralStorageStrategy(Backend& backend, Site site = CallSite::here())
      : CentralStorageStrategy(backend, CentralStorageOptions{}, site) {}
  /// Over the devices in the options.
  /// Throws: the errors of MirroredStrategy.
  CentralStorageStrategy(Backend& backend, const CentralStorageOptions& options,
                         CallSite site = CallSite::here());
  /// Arguments of no strategy; the call does not compile.
  template <class... Args>
    requires detail::WrongArguments<detail::OverBackend<CentralStorageOptions>, Args...>
  explicit CentralStorageStrategy(Args&&...) : CentralStorageStrategy(detail::refused<Backend&>()) {
    static_assert(detail::kTaken<Args...>,
                  "a CentralStorageStrategy takes a backend, and CentralStorageOptions unless all "
                  "devices take part: write CentralStorageStrategy strategy(backend, {.devices = "
                  "{DeviceSpec::parse(\"GPU:0\")}})");
  }
  template <detail::ListedDevice T>
  CentralStorageStrategy(Backend&, std::initializer_list<T>)
      : CentralStorageStrategy(detail::refused<Backend&>()) {
    static_assert(detail::kTaken<T>,
                  "a CentralStorageStrategy takes a backend, and CentralStorageOptions unless all "
                  "devices take part: write CentralStorageStrategy strategy(backend, {.devices = "
                  "{DeviceSpec::parse(\"GPU:0\")}})");
  }
  template <detail::ListedDevice T>
  CentralStorageStrategy(std::initializer_list<T>)
      : CentralStorageStrategy(detail::refused<Backend&>()) {  // NOLINT: does not compile.
    static_assert(detail::kTaken<T>,
                  "a CentralStorageStrategy takes a backend, and CentralStorageOptions unless all "
                  "devices take part: write CentralStorageStrategy strategy(backend, {.devices = "
                  "{DeviceSpec::parse(\"GPU:0\")}})");
  }

  /// The device of mirrored variables.
  DeviceSpec storage_device() { return backend().device_spec(storage_); }

 private:
  VariablePlaces do_place(Synchronization kind) const override;

  int storage_;  // Index in the backend.
};

/// Runs a single replica on one device, by the rules for several: for tests, and programs that grow
/// later (SEM-15).
class OneDeviceStrategy final : public Strategy {
 public:
  /// Throws: InvalidArgumentError (kUnknownDevice).
  OneDeviceStrategy(Backend& backend, const DeviceSpec& device, CallSite site = CallSite::here());
  /// Arguments of no strategy; the call does not compile.
  template <class... Args>
    requires detail::WrongArguments<detail::OnDevice, Args...>
  explicit OneDeviceStrategy(Args&&...)
      : OneDeviceStrategy(detail::refused<Backend&>(), detail::refused<const DeviceSpec&>()) {
    static_assert(detail::kTaken<Args...>,
                  "a OneDeviceStrategy takes a backend and a device: write OneDeviceStrategy "
                  "strategy(backend, DeviceSpec::parse(\"GPU:0\"))");
  }
};

namespace detail {
/// A base class: the backend is constructed before the strategy that uses the backend.
struct DefaultBackend {
  HostBackend host_backend{1};
};
}  // namespace detail

/// Runs a single replica in host memory: the strategy of code outside every other strategy
/// (SEM-15).
class DefaultStrategy final : private detail::DefaultBackend, public Strategy {
 public:
  DefaultStrategy();
};

}  // namespace belfry
