// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/collective.h"
#include "belfry/backend/device.h"
#include "belfry/call_site.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/device_spec.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace belfry {

/// The native collectives of a backend among a fixed, ordered list of devices. A *rank* is a
/// position in the list; a *local index* counts the ranks of this process.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int size() const = 0;  ///< The number of ranks.
  /// The rank of each local member, ascending.
  virtual std::span<const int> local_ranks() const = 0;
  /// The order of additions in reductions.
  virtual ReductionOrder order() const = 0;
  /// Whether reductions take elements of this type, which is not bool. The answer never changes.
  /// All other collectives take every type.
  virtual bool supports(DType) const { return true; }
  /// Carries out a collective: a single call with the parts of all local members, for grouped
  /// launches. Ignores `ranks` and `first` of the argument. After an error nothing is enqueued.
  /// Order: enqueued on each part's stream; the host does not block.
  /// Throws:
  /// - StructureMismatchError (kStructure) if parts differ in count or type;
  /// - InvalidArgumentError (kInvalidArgument, kOutOfBounds, kDType, kIntegerMean, kForeignObject),
  ///   see `validate` of belfry/backend/collective.h;
  /// - UnsupportedError (kUnsupported) for a reduction of an element type that is not supported;
  /// - DeviceError.
  virtual void run(const Collective& collective) = 0;
  /// Throws DeviceError if the devices have reported an error since the last call.
  virtual void check_health() = 0;
};

class Executor;
struct ScheduleReport;

/// Tells the schedule of a backend, for the errors of failed runs.
class ScheduleSource {
 public:
  ScheduleSource() = default;
  ScheduleSource(const ScheduleSource&) = delete;
  ScheduleSource& operator=(const ScheduleSource&) = delete;
  virtual ~ScheduleSource() = default;

  /// The seed, and the choices up to now. Called by the thread of a run, after its replicas have
  /// ended.
  /// Throws: std::bad_alloc.
  virtual ScheduleReport schedule() const = 0;
};

class KernelFailures;
class TraceFile;

namespace detail {
class FlightRing;
class VariableTap;
}  // namespace detail

/// A backend's settings for runs, for the sake of tests.
struct RunSettings {
  /// Whether to compare, at run time, values that are promised equal (Mirrored, mirrored variables)
  /// (SEM-11).
  bool verifies_mirrored = false;
  /// Whether the log gets digests of the values that replicas and variables keep on the host
  /// (SEM-77).
  bool records_host_values = false;
  /// The replica whose functions run in merges (SEM-135).
  int functions_of = 0;
  /// The schedules for errors of failed runs (SEM-79); null if the backend cannot repeat runs.
  const ScheduleSource* schedules = nullptr;
  /// The exceptions of users' kernels, for the reports of failed runs (SEM-173); may be null.
  const KernelFailures* kernel_failures = nullptr;
  TraceFile* trace = nullptr;  ///< Of the steps of this process; may be null.
  /// Hears of the values of variables, for a trace; null: nobody.
  detail::VariableTap* variable_tap = nullptr;
  /// The most steps of a run: arrivals of replicas at merges, and accesses to variables. 0: no
  /// bound.
  std::uint64_t max_steps = 0;
  /// Keeps the last operations of the backend; null without a flight recorder.
  detail::FlightRing* flights = nullptr;
};

/// How the devices of a backend are connected, with each other and with the host.
struct Connections {
  /// `links[i]` lists the devices with a direct, fast link to device i, in any order; a list may
  /// name its own device. Empty: unknown.
  std::vector<std::vector<int>> links{};
  /// The index of the host as a device, `CPU:0` (SEM-122): the index of a device, or
  /// device_count(), if all devices are others. Without a value, the host is no device.
  std::optional<int> host{};
};

/// A set of devices, and an executor for replicas: the only interface between strategies and
/// hardware. Several strategies may share a backend by reference; the backend must outlive all of
/// them. Buffers may outlive their backend, but no work may be enqueued on them then.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// `sim`, `cuda`.
  virtual std::string_view name() const = 0;
  /// The number of devices: at least 1; 0 only if the host is known, for a process without devices
  /// (SEM-213).
  virtual int device_count() const = 0;
  /// The name of device `index`, for which has_device(index) holds.
  virtual DeviceSpec device_spec(int index) const = 0;
  /// Device `index`, made on first use.
  /// Throws: InvalidArgumentError (kUnknownDevice) unless has_device(index).
  virtual Device& device(int index) = 0;
  /// Collectives among `devices`, in this order. May be slow: strategies make a communicator once
  /// and keep it.
  /// Throws:
  /// - InvalidArgumentError (kDuplicateDevice, kUnknownDevice, kNoDevices);
  /// - DeviceError;
  /// - UnsupportedError (kUnsupported) if the devices cannot communicate.
  virtual std::unique_ptr<Communicator> communicator(std::span<const int> devices) = 0;
  /// The executor of the replicas on this backend.
  virtual Executor& executor() = 0;
  /// The links and the host, the same at every call. By default no link is known, and the host is
  /// no device. The reference stays valid as long as the backend.
  virtual const Connections& connections() const;
  /// Settings for tests, read at the beginning of a run.
  virtual RunSettings run_settings() const { return {}; }

  /// The member of the settings.
  bool verifies_mirrored() const { return run_settings().verifies_mirrored; }
  /// The specs of all devices, in order, without a host that follows the devices.
  std::vector<DeviceSpec> devices() const;
  /// Whether `index` is in [0, device_count()), or is the index of the host.
  bool has_device(int index) const {
    return (index >= 0 && index < device_count()) || index == connections().host;
  }
  /// The index of `spec` among the devices and the host.
  /// Throws: InvalidArgumentError (kUnknownDevice) with a list of the devices.
  int index_of(const DeviceSpec& spec, CallSite site = CallSite::here()) const;
};

}  // namespace belfry
