// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/backend/executor.h"
#include "belfry/sim/attachments.h"
#include "belfry/sim/log.h"
#include "belfry/sim/memory_report.h"
#include "belfry/sim/options.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::sim {

/// Devices in host memory, `SIM:0`, `SIM:1`, ..., that do real arithmetic in an order drawn from a
/// seed: for programs and tests without GPUs.
///
///     sim::Backend backend{{.devices = 4, .seed = 7}};
///     MirroredStrategy strategy{backend};
///     ...
///     std::cout << backend.replay_token();    // For Schedule::replay: the same run again.
///
/// The same program and options give the same bits and the same log, on every machine. Streams work
/// only when the host waits or the schedule chooses them, as late as a GPU might; reads of memory
/// that was never written are errors. Devices are made at first use: even a million devices cost
/// nothing by themselves.
/// The host is one more device, `CPU:0`, with the index device_count() and memory without a limit:
/// a destination of values, and the device of a replica if a strategy names the host.
class Backend final : public belfry::Backend {
 public:
  /// Throws:
  /// - InvalidArgumentError (kNoDevices): 0 devices, or fewer;
  /// - InvalidArgumentError (kInvalidArgument): an option out of the range that Options names.
  explicit Backend(const Options& options = {}, CallSite site = CallSite::here());
  /// With a Chooser or an observer of the caller's. Takes 0 devices (SEM-238).
  /// Throws: the same.
  Backend(const Options& options, const Attachments& attached, CallSite site = CallSite::here());
  ~Backend() override;

  std::string_view name() const override { return "sim"; }
  int device_count() const override;
  DeviceSpec device_spec(int index) const override;
  Device& device(int index) override;
  std::unique_ptr<Communicator> communicator(std::span<const int> devices) override;
  Executor& executor() override;
  const Connections& connections() const override;
  /// Values that are promised equal are compared. Host values are recorded if `Options::record` is
  /// set and the digests are `Digests::kAll`.
  RunSettings run_settings() const override;

  const Options& options() const;  ///< The options of the constructor.
  /// All operations so far. Empty unless options().record.
  const Log& log() const;
  /// The hash of the log, with the share of the data that Options::digests selects: equal for equal
  /// runs. Runs that differ in other data alone may have the same hash (SEM-77).
  std::uint64_t hash() const { return log().hash(); }
  /// All choices so far. Empty unless options().record.
  std::vector<Choice> choices() const;
  /// The choices as a word for `Schedule::replay`.
  /// Throws: UnsupportedError (kUnsupported) without options().record, or after more choices than
  /// options().record_limit.
  std::string replay_token() const;
  /// The memory of each used device, in order.
  std::vector<DeviceMemoryReport> memory_report() const;
  /// All live buffers; after the release of all tensors, the leaks.
  std::vector<LiveBuffer> leaks() const;

 private:
  struct State;
  static std::shared_ptr<State> state_for(const Options& options, const Attachments& attached,
                                          const CallSite& site);

  // A backend of an explored program shares its state with the exploration (SEM-198).
  std::shared_ptr<State> state_;
};

}  // namespace belfry::sim
