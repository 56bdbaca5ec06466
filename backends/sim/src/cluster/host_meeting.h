// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "belfry/error.h"
#include "belfry/sim/cluster.h"
#include "cluster/slow_hosts.h"

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace belfry::sim {

/// Leaves the program of a host that stops. Not an exception of the standard library: programs
/// catch those.
struct HostStopped {};

/// A call of a group by a host.
struct HostCall {
  std::string name;  ///< `gather`, `broadcast from process 2`.
  std::vector<std::byte> bytes{};
};

/// The calls of all hosts meet here. Context: on the fibers of hosts.
class HostMeeting {
 public:
  HostMeeting(Executor& executor, SlowHosts& slow, int hosts, const std::vector<HostFault>& faults);

  int size() const { return static_cast<int>(calls_.size()); }
  /// The bytes of all hosts. Order: waits for the calls of all hosts.
  /// Throws: ProcessLostError, MergeMismatchError, HostStopped.
  std::vector<std::vector<std::byte>> meet(int host, HostCall call);
  /// The same, but nothing if the bytes of all hosts are equal.
  std::vector<std::vector<std::byte>> meet_unless_equal(int host, HostCall call);
  /// Ends all later calls: the host has ended, with `thrown` or null.
  void leave(int host, const std::exception_ptr& thrown);
  /// The same for a host that stops by the plan.
  void stop(int host);
  GroupHealth health() const;
  /// Throws: ContextError (kGroupContext) on a thread that the program of a host has made. `call`:
  /// `host 1 calls gather`.
  void require_own_thread(const std::string& call) const;

 private:
  struct Outcome {
    std::vector<std::vector<std::byte>> bytes{};
    bool are_equal = false;
    std::optional<ErrorReport> error{};
  };

  std::shared_ptr<const Outcome> outcome_of(int host, HostCall call);
  void suffer_faults(int host);
  void conclude();
  void lose(ErrorReport report);

  // All hosts are on one thread. The mutex tells ThreadSanitizer the order that calls of the group
  // make between hosts. No host waits with the mutex.
  const std::thread::id thread_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  Executor& executor_;
  SlowHosts& slow_;
  const std::vector<HostFault>& faults_;
  std::vector<std::optional<HostCall>> calls_;
  std::vector<int> counts_;  // Of calls, by host.
  int arrived_ = 0;
  std::shared_ptr<Outcome> outcome_ = std::make_shared<Outcome>();
  std::optional<ErrorReport> lost_;
  std::vector<int> ended_;  // Hosts without further calls.
  Gate gate_;
};

/// The group of a host.
class HostGroup final : public ProcessGroup {
 public:
  HostGroup(HostMeeting& meeting, int host) : meeting_(meeting), host_(host) {}

  int rank() const override { return host_; }
  int size() const override { return meeting_.size(); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override;
  std::vector<std::vector<std::byte>> gather_unless_equal(
      std::span<const std::byte> bytes) override;
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override;
  /// `host0`, `host1` and so on.
  std::string host_name(int process) const override;
  GroupHealth health() override { return meeting_.health(); }

 private:
  HostMeeting& meeting_;
  int host_;
};

}  // namespace belfry::sim
