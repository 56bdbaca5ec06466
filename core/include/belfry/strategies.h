// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/backend/host_backend.h"
#include "belfry/call_site.h"
#include "belfry/detail/compiler.h"
#include "belfry/detail/refused.h"
#include "belfry/device_spec.h"
#include "belfry/process_group.h"
#include "belfry/strategy.h"

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Tests of the arguments of strategies' constructors. A constructor for wrong arguments has a
/// message with the right call, in place of the compiler's list of all constructors.
namespace belfry {

class Strategy;

namespace detail {

/// The arguments of a strategy over a backend.
template <class Options>
struct OverBackend {
  void operator()(Backend& backend, CallSite site = {}) const;
  void operator()(Backend& backend, const Options& options, CallSite site = {}) const;
};
/// The arguments of a strategy over processes.
template <class Options>
struct OverProcesses {
  void operator()(Backend& backend, ProcessGroup& group, CallSite site = {}) const;
  void operator()(Backend& backend, ProcessGroup& group, const Options& options,
                  CallSite site = {}) const;
};
/// The arguments of a strategy on one device.
struct OnDevice {
  void operator()(Backend& backend, const DeviceSpec& device, CallSite site = {}) const;
};

/// Whether the only argument is a strategy: a copy, with the compiler's own message.
template <class... Args>
constexpr bool kIsCopy = false;
template <class A>
constexpr bool kIsCopy<A> = std::derived_from<std::remove_cvref_t<A>, Strategy>;

/// Whether the constructors with the arguments of Right do not take these arguments.
template <class Right, class... Args>
concept WrongArguments = !std::is_invocable_v<const Right&, Args...> && !kIsCopy<Args...>;

/// The elements of a list of devices in braces. Without a constructor for the list, the first text
/// would be taken for the file of a call site.
template <class T>
concept ListedDevice =
    std::same_as<T, DeviceSpec> || std::is_convertible_v<const T&, std::string_view>;

}  // namespace detail

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
