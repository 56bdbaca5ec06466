// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/communicator.h"
#include "belfry/backend/device.h"
#include "belfry/backend/executor.h"
#include "belfry/call_site.h"
#include "belfry/device_spec.h"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace belfry {

/// What a backend asks of runs for the sake of tests.
struct RunSettings {
  /// The log is to have digests of what replicas and variables keep on the host (SEM-77).
  bool records_host_values = false;
  /// The replica whose functions merges take (SEM-135).
  int functions_of = 0;
};

/// A set of devices and a way to carry replicas: the one seam between strategies and hardware.
/// Strategies keep a reference; a backend outlives them and may be shared by several. Buffers may
/// outlive their backend, but nothing may be enqueued then.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  /// `sim`, `cuda`.
  virtual std::string_view name() const = 0;
  virtual int device_count() const = 0;
  /// The name of device `index`, which is in [0, device_count()).
  virtual DeviceSpec device_spec(int index) const = 0;
  /// Device `index`, made on first use. Throws: InvalidArgumentError (kUnknownDevice) for an index
  /// that is not in [0, device_count()).
  virtual Device& device(int index) = 0;
  /// Collectives among `devices`, in this order. May be slow: strategies make one and keep it.
  /// Throws: InvalidArgumentError (kDuplicateDevice, kUnknownDevice, kNoDevices); DeviceError;
  /// UnsupportedError (kUnsupported) for devices among which there can be no collectives.
  virtual std::unique_ptr<Communicator> communicator(std::span<const int> devices) = 0;
  /// What carries replicas on this backend.
  virtual Executor& executor() = 0;
  /// Whether values promised equal (Mirrored, mirrored variables) should be compared at run time
  /// (SEM-11).
  virtual bool verifies_mirrored() const = 0;
  /// How runs are to be carried out for the sake of tests, read when a run begins.
  virtual RunSettings run_settings() const { return {}; }

  /// The specs of all devices, in order.
  std::vector<DeviceSpec> devices() const;
  /// The index of `spec`. Throws: InvalidArgumentError (kUnknownDevice) listing what there is.
  int index_of(const DeviceSpec& spec, CallSite site = CallSite::here()) const;
};

}  // namespace belfry
