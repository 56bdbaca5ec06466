// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/executor.h"
#include "belfry/error.h"
#include "belfry/sim/cluster.h"
#include "cluster/slow_hosts.h"

#include <cstddef>
#include <exception>
#include <functional>
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

/// A call of a group by a host, which waits in the call until the calls of all hosts have met.
struct HostCall {
  std::string name;  ///< `gather`, `broadcast from process 2`.
  std::span<const std::byte> bytes{};
  const ProcessGroup::Fold* fold = nullptr;  ///< Null if the host wants the bytes of all.
};

/// The calls of all hosts meet here. Context: on the fibers of hosts.
class HostMeeting {
 public:
  HostMeeting(Executor& executor, SlowHosts& slow, int hosts, const std::vector<HostFault>& faults);

  int size() const { return static_cast<int>(calls_.size()); }
  /// The outcome of a meeting of all hosts.
  struct Outcome {
    /// Of all hosts, unless the bytes are folded.
    std::vector<std::vector<std::byte>> bytes{};
    /// If every host folds, and the fold makes something of the bytes.
    std::optional<std::vector<std::byte>> folded{};
    std::optional<ErrorReport> error{};
  };
  /// Called before a host stops by the plan; may be empty.
  std::function<void(int host)> on_stop{};

  /// Order: waits for the calls of all hosts. Throws: ProcessLostError, MergeMismatchError,
  /// HostStopped.
  std::shared_ptr<const Outcome> meet(int host, const HostCall& call);
  /// Ends all later calls: the host has ended, with `thrown` or null.
  void leave(int host, const std::exception_ptr& thrown);
  /// The same for a host that stops by the plan.
  void stop(int host);
  GroupHealth health() const;
  /// Throws: ContextError (kGroupContext) on a thread that the program of a host has made. `call`
  /// with `name`: `host 1 calls gather`.
  void require_own_thread(int host, const char* call, const std::string& name = {}) const;

 private:
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
  std::vector<HostCall> calls_;  // Of the present meeting, as far as hosts have arrived.
  std::vector<int> counts_;      // Of calls, by host.
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
  FoldedBytes fold(std::span<const std::byte> bytes, Fold fold) override;
  std::vector<std::byte> broadcast(std::span<const std::byte> bytes, int from) override;
  /// `host0`, `host1` and so on.
  std::string host_name(int process) const override;
  GroupHealth health() override { return meeting_.health(); }

 private:
  HostMeeting& meeting_;
  int host_;
};

}  // namespace belfry::sim
