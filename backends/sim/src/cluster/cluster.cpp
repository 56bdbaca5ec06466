// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/sim/cluster.h"

#include "belfry/detail/flight_ring.h"
#include "belfry/detail/group_reports.h"
#include "belfry/error.h"
#include "belfry/sim/replay_token.h"
#include "cluster/cluster_options.h"
#include "cluster/host_meeting.h"
#include "cluster/slow_hosts.h"
#include "explore/present_body.h"
#include "schedule/choice_record.h"
#include "schedule/fixed_chooser.h"
#include "schedule/random_chooser.h"
#include "schedule/recording_chooser.h"
#include "schedule/replay.h"
#include "schedule/replayed_chooser.h"
#include "trace/host_steps.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace belfry::sim {

// Keeps the operations of the hosts, in one order with those of the backends.
class HostLog final : public OperationSink {
 public:
  // `trace` may be null.
  HostLog(int hosts, std::size_t limit, SlowHosts& slow, TraceFile* trace)
      : log(hosts, limit), backends_(static_cast<std::size_t>(hosts)), slow_(slow) {
    if (trace != nullptr) steps_.emplace(trace->writer());
  }
  // The log of a backend, until the end of its host.
  void follow(int host, const Log& backend) {
    backends_[static_cast<std::size_t>(host)] = &backend;
  }
  void end(int host) {
    log.add(host, *std::exchange(backends_[static_cast<std::size_t>(host)], nullptr));
  }
  void on_operation(const Operation& operation) override {
    log.append(operation, operations_of(log.turn()));
    if (steps_) steps_->operation(operation);
    const bool ends =
        operation.kind == OperationKind::kEnd || operation.kind == OperationKind::kThrow;
    if (!ends) slow_.step(operation.agent.index);
  }

  ClusterLog log;

 private:
  std::uint64_t operations_of(int host) const {
    if (host < 0) return 0;
    const Log* const backend = backends_[static_cast<std::size_t>(host)];
    return backend != nullptr ? backend->size() : log.backend(host).size();
  }

  std::vector<const Log*> backends_;
  SlowHosts& slow_;
  std::optional<HostSteps> steps_;
};

// The flight recorders of the hosts of a run.
struct HostFlights {
  std::string prefix;
  FlightRecorderOptions options;
};

// A run. Kept until the next run, for the log and the choices.
struct Run final : Job, ScheduleSource {
  Run(const ClusterOptions& wanted, TraceFile* file, const std::optional<HostFlights>& flights)
      : options(wanted),
        trace(file),
        record(wanted.record_limit),
        replay(wanted.schedule.choices),
        chooser(make_chooser()),
        slow(*chooser, wanted.hosts, options.faults),
        hosts(wanted.hosts, wanted.record_limit, slow, file),
        executor(make_fiber_executor({.chooser = slow.is_needed() ? &slow : chooser.get(),
                                      .sink = &hosts,
                                      .agents = nullptr,
                                      .stack_bytes = wanted.stack_bytes})),
        meeting(*executor, slow, wanted.hosts, options.faults),
        thrown(static_cast<std::size_t>(wanted.hosts)) {
    while (flights && recorders.size() < thrown.size()) {
      recorders.emplace_back(flights->prefix, flights->options);
    }
    if (flights) meeting.on_stop = [this](int host) { recorder_of(host)->ring().end(); };
  }

  std::unique_ptr<Chooser> make_chooser() {
    switch (options.schedule.kind) {
      case ScheduleKind::kFixed:
        return std::make_unique<RecordingChooser<FixedChooser>>(record, FixedChooser());
      case ScheduleKind::kRandom:
        return std::make_unique<RecordingChooser<RandomChooser>>(record,
                                                                 RandomChooser(options.seed));
      case ScheduleKind::kReplayed:
        break;
    }
    return std::make_unique<RecordingChooser<ReplayedChooser>>(record, ReplayedChooser(replay));
  }

  bool has_all_choices() const { return record.kept() == record.made(); }
  ScheduleReport schedule() const override {
    return {options.seed, has_all_choices() ? encode_choices(record.choices()) : std::string()};
  }

  void body(int host) noexcept override;
  Settled settle() noexcept override {
    return ended == options.hosts ? Settled::kFinished : Settled::kWaiting;
  }
  // Every host that waits is told when another host ends: no host waits for ever.
  void deadlock(const std::vector<int>&) noexcept override {}

  FlightRecorder* recorder_of(int host) {
    return recorders.empty() ? nullptr : &recorders[static_cast<std::size_t>(host)];
  }
  // A host that failed has written its files.
  void write_flights() noexcept {
    const auto failed = [](const std::exception_ptr& each) { return each != nullptr; };
    if (std::ranges::none_of(thrown, failed)) return;
    for (std::size_t host : returned) {
      belfry::detail::FlightRing& ring = recorders[host].ring();
      ring.end();
      if (ring.options().at_failure) ring.write_if_possible("failure");
    }
  }

  void announce_end(int host, bool throws) {
    const OperationKind kind = throws ? OperationKind::kThrow : OperationKind::kEnd;
    executor->announce({.kind = kind, .agent = {AgentId::Kind::kReplica, host}});
  }

  const ClusterOptions& options;
  TraceFile* trace;  // Null without a trace.
  ChoiceRecord record;
  Replay replay;
  std::unique_ptr<Chooser> chooser;  // Of hosts, replicas and streams.
  SlowHosts slow;                    // The same, of hosts alone.
  HostLog hosts;
  std::unique_ptr<Executor> executor;
  HostMeeting meeting;
  const std::function<void(Host&)>* program = nullptr;
  CallSite site{};
  std::vector<std::exception_ptr> thrown;
  std::deque<FlightRecorder> recorders{};  // Of each host; empty without recorders.
  std::vector<std::size_t> returned{};     // Hosts with a recorder whose program has returned.
  std::atomic<int> ended = 0;              // Counted on the fibers of hosts.
};

namespace {

class RunningHost final : public Host {
 public:
  RunningHost(Run& run, int host)
      : run_(run),
        host_(host),
        group_(run.meeting, host),
        backend_({.devices = run.options.devices_of[static_cast<std::size_t>(host)],
                  .memory_limit_bytes = run.options.memory_limit_bytes,
                  .record_limit = run.options.record_limit,
                  .seed = run.options.seed},
                 Attachments{.chooser = run.chooser.get(),
                             .trace = run.trace,
                             .recorder = run.recorder_of(host),
                             .host = host,
                             .schedules = &run},
                 run.site) {}

  ProcessGroup& group() override { return group_; }
  Backend& backend() override { return backend_; }
  std::map<std::string, std::string>& environment() override { return environment_; }
  void yield() override {
    run_.meeting.require_own_thread(host_, " yields");
    run_.executor->step({.kind = OperationKind::kResume,
                         .agent = {AgentId::Kind::kReplica, host_},
                         .name = "yield"});
  }

 private:
  Run& run_;
  int host_;
  HostGroup group_;
  Backend backend_;
  std::map<std::string, std::string> environment_;
};

}  // namespace

void Run::body(int host) noexcept {
  const auto index = static_cast<std::size_t>(host);
  bool stopped = false;
  try {
    RunningHost own(*this, host);
    hosts.follow(host, own.backend().log());
    try {
      (*program)(own);
      if (!recorders.empty()) returned.push_back(index);
    } catch (const HostStopped&) {
      stopped = true;
    } catch (...) {
      thrown[index] = std::current_exception();
    }
    hosts.end(host);
  } catch (...) {
    thrown[index] = std::current_exception();
  }
  announce_end(host, stopped || thrown[index] != nullptr);
  ++ended;
  if (stopped)
    meeting.stop(host);
  else
    meeting.leave(host, thrown[index]);
}

struct Cluster::State {
  ClusterOptions options;
  TraceFile* trace = nullptr;
  std::optional<HostFlights> flights{};
  std::unique_ptr<Run> latest{};
  ClusterLog nothing{};  // Before the first run.
};

Cluster::Cluster(ClusterOptions options, CallSite site)
    : state_(std::make_unique<State>(State{checked_options(std::move(options), site)})) {}

Cluster::Cluster(ClusterOptions options, TraceFile& trace, CallSite site)
    : Cluster(std::move(options), site) {
  state_->trace = &trace;
}

Cluster::Cluster(ClusterOptions options, std::string prefix, const FlightRecorderOptions& recorder,
                 CallSite site)
    : Cluster(std::move(options), site) {
  const FlightRecorder checked(prefix, recorder, site);
  state_->flights = HostFlights{std::move(prefix), recorder};
}

Cluster::~Cluster() = default;

void Cluster::run(const std::function<void(Host&)>& program, CallSite site) {
  if (state_->latest != nullptr && state_->latest->ended < state_->options.hosts) {
    throw ContextError(ErrorCode::kStrategyBusy, "a cluster runs inside its own run",
                       "make another cluster", site);
  }
  TraceFile* const trace = state_->trace;
  if (trace != nullptr) {
    const std::vector<int>& devices = state_->options.devices_of;
    trace->writer().begin({.backend = "sim",
                           .hosts = state_->options.hosts,
                           .devices = std::accumulate(devices.begin(), devices.end(), 0),
                           .options = to_string(state_->options)},
                          site);
  }
  state_->latest = std::make_unique<Run>(state_->options, trace, state_->flights);
  Run& run = *state_->latest;
  run.program = &program;
  run.site = site;
  PresentBody::runs_cluster();
  run.executor->carry(state_->options.hosts, run, {});
  if (trace != nullptr) trace->writer().end(run.schedule().token, run.hosts.log.hash());
  run.write_flights();
  belfry::detail::rethrow_cause(run.thrown);
  run.replay.throw_misfit(site);
}

const ClusterOptions& Cluster::options() const { return state_->options; }

const ClusterLog& Cluster::log() const {
  return state_->latest == nullptr ? state_->nothing : state_->latest->hosts.log;
}

std::uint64_t Cluster::hash() const { return log().hash(); }

std::vector<Choice> Cluster::choices() const {
  return state_->latest == nullptr ? std::vector<Choice>() : state_->latest->record.choices();
}

std::string Cluster::replay_token() const {
  if (state_->latest != nullptr && !state_->latest->has_all_choices()) {
    throw UnsupportedError(ErrorCode::kUnsupported,
                           "more choices were made than the record keeps: too few for a token",
                           "raise ClusterOptions::record_limit, or run again with the same seed");
  }
  return encode_choices(choices());
}

}  // namespace belfry::sim
