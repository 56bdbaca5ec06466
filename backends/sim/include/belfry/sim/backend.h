// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
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

/// Simulated devices `SIM:0`, `SIM:1`, ... that do real arithmetic in host memory, in an order that
/// the schedule chooses: streams run lazily, events are snapshots, and reads of memory that nobody
/// has written are errors. Same program and options, same bits and same log, on every machine.
///
/// Devices are made when they are used, so a million of them cost nothing.
///
/// Example:
///   sim::Backend backend{{.devices = 4, .seed = 7}};
///   MirroredStrategy strategy{backend};
class Backend final : public belfry::Backend {
 public:
  /// Throws: InvalidArgumentError (kNoDevices), (kInvalidArgument) for more than 2^26 devices, a
  /// schedule of no kind, or functions of a replica that no device could carry.
  explicit Backend(const Options& options = {}, CallSite site = CallSite::here());
  ~Backend() override;

  std::string_view name() const override { return "sim"; }
  int device_count() const override;
  DeviceSpec device_spec(int index) const override;
  Device& device(int index) override;
  std::unique_ptr<Communicator> communicator(std::span<const int> devices) override;
  Executor& executor() override;
  bool verifies_mirrored() const override { return true; }
  /// Host values are recorded with `Options::record` and `Digests::kAll`.
  RunSettings run_settings() const override;

  const Options& options() const;
  /// What has happened so far. Empty unless options().record.
  const Log& log() const;
  /// The hash of the log: equal for equal runs. Of data it has what Options::digests says, so that
  /// runs which differ elsewhere, as in bytes that are not sampled, may share it (SEM-77).
  std::uint64_t hash() const { return log().hash(); }
  /// Every choice so far. Empty unless options().record.
  std::vector<Choice> choices() const;
  /// The choices as a word for `Schedule::replay`.
  /// Throws: UnsupportedError (kUnsupported) when nothing is recorded or more than
  /// options().record_limit was.
  std::string replay_token() const;
  /// The memory of each device that has been used, in order.
  std::vector<DeviceMemoryReport> memory_report() const;
  /// The buffers that are alive. What is still here when everything is said to be gone is a leak.
  std::vector<LiveBuffer> leaks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace belfry::sim
