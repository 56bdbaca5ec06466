// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/flight_recorder.h"
#include "belfry/process_group.h"
#include "belfry/sim/backend.h"
#include "belfry/sim/cluster_log.h"
#include "belfry/sim/schedule.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace belfry {
class TraceFile;
}  // namespace belfry

namespace belfry::sim {

/// A fault of a run of a cluster, at the `call`-th call of the group that `host` makes, from 1
/// (SEM-187, SEM-221).
struct HostFault {
  /// The kinds of faults.
  enum class Kind : std::uint8_t {
    kStop,  ///< The host stops: the call and all later calls of the host never return to the
            ///< program.
    kCut,   ///< From this call on, `host` and `other` do not reach one another.
    kSlow,  ///< From the end of the call before on, the host gets a turn only after `times` - 1
            ///< steps of other hosts, as long as others can go on.
  };

  Kind kind = Kind::kStop;  ///< The effect of the fault.
  int host = 0;             ///< The number of the host that makes the call.
  int call = 1;             ///< The number of the call, from 1.
  int other = -1;           ///< Of kCut: the other end of the link.
  int times = 10;           ///< Of kSlow: how many times as slow the host is, at least 2.

  bool operator==(const HostFault&) const = default;
};

/// `host 1 stops at call 3`, `call 2 of host 0: the link to host 2 is cut`, `host 1 is 10 times as
/// slow from call 3 on`.
std::string to_string(const HostFault& fault);

/// All inputs of a run of a cluster besides the program: equal options and programs give equal
/// runs.
struct ClusterOptions {
  int hosts = 2;    ///< The number of hosts, from 1 to 256.
  int devices = 1;  ///< The number of simulated devices of each host.
  /// The number of devices of each host, 0 or more, in place of `hosts` and `devices`.
  std::vector<int> devices_of{};
  /// The order of hosts, replicas and streams; random by default, drawn from `seed`.
  Schedule schedule{};
  std::uint64_t seed = 0;              ///< Decides a random schedule; without effect on all others.
  std::vector<HostFault> faults{};     ///< The faults of every run.
  std::size_t memory_limit_bytes = 0;  ///< The memory of each device, in bytes; 0: no limit.
  /// The most operations and the most choices of a run that are kept, of all hosts together. A
  /// longer run goes on, but has no replay token. An operation takes 32 bytes, and most choices 2.
  std::size_t record_limit = std::size_t{1} << 16;
  /// The stack of a host, in bytes; memory is taken as the host uses the stack. Replicas of a host
  /// have stacks of their own.
  std::size_t stack_bytes = std::size_t{8} << 20;

  bool operator==(const ClusterOptions&) const = default;
};

/// The options as an initializer that compiles, without members of their usual value:
/// `{.hosts = 3, .seed = 7}`.
std::string to_string(const ClusterOptions& options);

/// A host of a cluster, as the program of the host sees the host.
class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;

  /// The group of all hosts; the rank is the number of the host.
  virtual ProcessGroup& group() = 0;
  virtual Backend& backend() = 0;  ///< The devices of the host.
  /// Variables of the host's environment, empty at the start of a run.
  virtual std::map<std::string, std::string>& environment() = 0;
  /// Gives way: other hosts may run first.
  /// Order: a step of the schedule.
  virtual void yield() = 0;
};

/// Runs the program of several hosts in one process, without threads: for tests of several
/// processes, and of their faults.
///
///     sim::Cluster cluster{{.hosts = 3, .devices = 2, .seed = 7}};
///     cluster.run([](sim::Host& host) { train(host.backend(), host.group()); });
///
/// The program is the `main` of each host. Hosts run in turn on the calling thread, and change at
/// the calls of their groups. One schedule orders hosts, replicas and streams: the same program and
/// options give the same run, and a token repeats the run. Hosts share the statics, the files and
/// the output of the process. A call of a host's group on a thread that the program makes throws
/// ContextError (kGroupContext).
class Cluster {
 public:
  /// Throws:
  /// - InvalidArgumentError (kInvalidArgument): fewer than 1 or more than 256 hosts, faults of
  ///   hosts that do not exist, or stacks out of bounds;
  /// - InvalidArgumentError (kNoDevices): a negative number of devices.
  explicit Cluster(ClusterOptions options = {}, CallSite site = CallSite::here());
  /// The same, with a trace of its run: a single one, for a trace has one run of a cluster.
  Cluster(ClusterOptions options, TraceFile& trace, CallSite site = CallSite::here());
  /// The same, with a flight recorder for each host, new in each run (docs/flight_recorder.md). The
  /// files have the prefix, and are written as `recorder` says: at the first failure of each host
  /// and, if the run fails, at the end for the hosts that did not fail. A host that a fault
  /// stops leaves no files for that, as a process that crashes.
  /// Throws: the same; InvalidArgumentError (kInvalidArgument) for 0 entries.
  Cluster(ClusterOptions options, std::string prefix, const FlightRecorderOptions& recorder = {},
          CallSite site = CallSite::here());
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Calls `program(host)` once for each host. Groups and backends are new in each run. A host
  /// leaves its group at the end of the program; calls that wait for it then throw
  /// ProcessLostError.
  /// Order: blocks the caller until all hosts have ended.
  /// Throws:
  /// - the exception of the lowest host that failed by itself, else ProcessLostError or
  ///   PeerFailedError of the lowest host;
  /// - InvalidArgumentError (kReplay): a replayed schedule of another program;
  /// - ContextError: inside a run.
  void run(const std::function<void(Host&)>& program, CallSite site = CallSite::here());

  const ClusterOptions& options() const;  ///< The options of the constructor.
  /// The operations of hosts, replicas and streams in the latest run, in one order.
  const ClusterLog& log() const;
  /// The hash of the log: equal for equal runs.
  std::uint64_t hash() const;
  /// All choices of the latest run.
  std::vector<Choice> choices() const;
  /// The choices of the latest run as a word for `Schedule::replay`.
  /// Throws: UnsupportedError (kUnsupported) after more choices than the limit.
  std::string replay_token() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

using belfry::operator<<;

}  // namespace belfry::sim
