// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/backend.h"

#include "belfry/backend/current_slot.h"
#include "belfry/detail/flight_ring.h"
#include "belfry/detail/machine_uses.h"
#include "belfry/detail/trace_source.h"
#include "belfry/error.h"
#include "belfry/sim/replay_token.h"
#include "checked_options.h"
#include "communicator.h"
#include "device.h"
#include "explore/present_body.h"
#include "explore/program_run.h"
#include "log/log_sink.h"
#include "log/observing_sink.h"
#include "schedule/attached_chooser.h"
#include "schedule/choice_record.h"
#include "schedule/fixed_chooser.h"
#include "schedule/random_chooser.h"
#include "schedule/recording_chooser.h"
#include "schedule/replay.h"
#include "schedule/replay_executor.h"
#include "schedule/replayed_chooser.h"
#include "schedule/watched_executor.h"
#include "trace/trace_observer.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

namespace belfry::sim {
namespace {

template <class Policy>
std::unique_ptr<Chooser> make_chooser(const Options& options, ChoiceRecord& record, Policy policy) {
  if (!options.record) return std::make_unique<Policy>(std::move(policy));
  return std::make_unique<RecordingChooser<Policy>>(record, std::move(policy));
}

std::unique_ptr<Chooser> make_chooser(const Options& options, Chooser* attached,
                                      ChoiceRecord& record, Replay& replay) {
  if (attached != nullptr) {
    return std::make_unique<AttachedChooser>(*attached, replay, options.record ? &record : nullptr);
  }
  switch (options.schedule.kind) {
    case ScheduleKind::kFixed:
      return make_chooser(options, record, FixedChooser());
    case ScheduleKind::kRandom:
      return make_chooser(options, record, RandomChooser(options.seed));
    case ScheduleKind::kReplayed:
      break;
  }
  return make_chooser(options, record, ReplayedChooser(replay));
}

engine::DigestExtent extent_of(Digests digests) {
  switch (digests) {
    case Digests::kNone:
      return engine::DigestExtent::kNone;
    case Digests::kSampled:
      return engine::DigestExtent::kSampled;
    case Digests::kAll:
      return engine::DigestExtent::kAll;
  }
  return engine::DigestExtent::kNone;
}

// Usually no exploration runs in the process, and nobody asks who uses a backend.
bool are_bodies_explored() {
  return belfry::detail::bodies_of_explorations.load(std::memory_order_relaxed) > 0;
}

// The reason against an exploration of the backend; empty without a reason.
std::string_view refusal_of_exploration(const Attachments& attached) {
  if (attached.schedules != nullptr) {
    return "the backend belongs to a host of a cluster, and the cluster decides one schedule of "
           "all "
           "its hosts";
  }
  if (attached.trace != nullptr) {
    return "the program gives the backend a trace, which is of one run of the program";
  }
  if (attached.chooser == nullptr && attached.observer == nullptr) return {};
  return "the program gives the backend a Chooser or an observer, and an exploration has its own";
}

}  // namespace

// Parts in the order of their needs: the last is destroyed first.
struct Backend::State final : ScheduleSource {
  State(const Options& checked, const Attachments& attached, const CallSite& site)
      : options(checked),
        threads(options.carrier != Carrier::kFiber),
        record(options.record_limit),
        replay(options.schedule.choices),
        chooser(make_chooser(options, attached.chooser, record, replay)),
        sink(options.record_limit, options.digests == Digests::kAll),
        locked_sink(sink),
        devices(options.devices + 1),
        connections{.links = options.links, .host = options.devices} {
    if (attached.schedules != nullptr) schedules = attached.schedules;
    if (attached.recorder != nullptr) {
      flights = &attached.recorder->ring();
      if (options.carrier == Carrier::kConcurrent) flights->share(nullptr, 0);
    }
    shared.devices = options.devices;
    shared.memory_limit_bytes = options.memory_limit_bytes;
    shared.share_copies = options.share_copies;
    shared.check_kernels = options.check_kernels;
    if (options.record) shared.sink = threads ? static_cast<OperationSink*>(&locked_sink) : &sink;
    if (TraceFile* const file = trace_of(attached)) begin_trace(*file, attached, site);
    Observer* const observer = trace_observer ? &*trace_observer : attached.observer;
    if (observer != nullptr) {
      // An observer of the library's own may follow accesses to host memory, too.
      host_watch = dynamic_cast<engine::HostAccessWatch*>(attached.observer);
      using Extent = engine::HostAccessWatch::Extent;
      const Extent extent = host_watch == nullptr ? Extent::kRuns : host_watch->extent();
      if (extent != Extent::kNothing || trace_observer) {
        TraceObserver* const tap = trace_observer ? &*trace_observer : nullptr;
        watch.emplace(*observer, extent == Extent::kMemory ? host_watch : nullptr, tap);
        observing_sink.emplace(*watch, shared.sink, tap);
      }
    }
    shared.staging = std::make_shared<engine::BlockPool>();
    shared.engine =
        std::make_shared<engine::Engine>(engine::EngineOptions{.chooser = chooser.get(),
                                                               .sink = shared.sink,
                                                               .watch = watch ? &*watch : nullptr,
                                                               .digest = extent_of(options.digests),
                                                               .threads = threads});
    if (host_watch != nullptr) host_watch->attach(*shared.engine);
    executor = make_executor();
    if (options.carrier == Carrier::kConcurrent) {
      shared.engine->attach_concurrent(executor.get());
    } else {
      shared.engine->attach(executor.get());
    }
  }

  // Later holders of the engine may only release the engine; no observer is told of the release.
  ~State() override {
    shared.engine->attach(nullptr);
    shared.engine->attach_concurrent(nullptr);
    // An owner may hold a tensor of the backend, and a tensor holds the engine with the owner.
    shared.engine->discard();
    shared.owners->release_ended();
    if (trace != nullptr) end_trace();
  }

  // The program's trace, or the trace of a failing case.
  TraceFile* trace_of(const Attachments& attached) {
    const bool is_plain = attached.trace == nullptr && attached.observer == nullptr &&
                          attached.chooser == nullptr && attached.schedules == nullptr;
    if (!is_plain) return attached.trace;
    trace_source = belfry::detail::trace_source;
    return trace_source == nullptr ? nullptr : trace_source->next();
  }

  void end_trace() {
    trace->writer().end(schedule().token, sink.log().hash());
    if (trace_source == nullptr || trace_source != belfry::detail::trace_source) return;
    Options same = options;
    if (has_all_choices()) same.schedule = {ScheduleKind::kReplayed, record.choices()};
    trace_source->ended(*trace, to_string(same));
  }

  // A cluster begins and ends the trace of its hosts itself.
  void begin_trace(TraceFile& file, const Attachments& attached, const CallSite& site) {
    if (attached.host < 0) {
      file.writer().begin(
          {.backend = "sim", .devices = options.devices, .options = to_string(options)}, site);
      trace = &file;
    }
    trace_observer.emplace(file, attached.host, options.devices, attached.observer);
  }

  std::unique_ptr<Executor> make_executor() {
    const ExecutorParts parts{.chooser = chooser.get(),
                              .sink = watch ? &*observing_sink : shared.sink,
                              .agents = shared.engine.get(),
                              .stack_bytes = options.stack_bytes};
    std::unique_ptr<Executor> made;
    switch (options.carrier) {
      case Carrier::kFiber:
        made = make_fiber_executor(parts);
        break;
      case Carrier::kBaton:
        made = make_baton_executor(parts);
        break;
      case Carrier::kConcurrent:
        made = make_concurrent_executor(parts);
        break;
    }
    if (watch) watch->attach(made.get());
    if (options.schedule.kind == ScheduleKind::kReplayed) {
      made = std::make_unique<ReplayExecutor>(std::move(made), replay);
    }
    if (watch) made = std::make_unique<WatchedExecutor>(std::move(made), *watch);
    return made;
  }

  bool has_all_choices() const { return options.record && record.kept() == record.made(); }

  // Threads that run at once make their choices in no order.
  ScheduleReport schedule() const override {
    const bool repeats = options.carrier != Carrier::kConcurrent && has_all_choices();
    return {options.seed, repeats ? encode_choices(record.choices()) : std::string()};
  }

  void require(int index) const {
    // The host follows the devices.
    if (index >= 0 && index <= options.devices) return;
    throw InvalidArgumentError(ErrorCode::kUnknownDevice,
                               "device " + std::to_string(index) + " of a backend with " +
                                   std::to_string(options.devices) + " devices",
                               "devices are numbered from 0", detail::submitting_site());
  }

  const Options options;
  const bool threads;
  const ScheduleSource* schedules = this;
  ChoiceRecord record;
  Replay replay;
  std::unique_ptr<Chooser> chooser;
  LogSink sink;
  LockedLogSink locked_sink;
  belfry::detail::FlightRing* flights = nullptr;
  engine::HostAccessWatch* host_watch = nullptr;
  TraceFile* trace = nullptr;                           // Ends with the backend.
  belfry::detail::TraceSource* trace_source = nullptr;  // Of `trace`, if not the program.
  std::optional<TraceObserver> trace_observer;
  std::optional<engine::Watch> watch;
  std::optional<ObservingSink> observing_sink;
  Shared shared;
  std::unique_ptr<Executor> executor;
  DeviceTable devices;
  const Connections connections;
  std::shared_ptr<ExploredProgram> program;  // The maker of the backend, if explored; else null.
};

// A program that sets no attachments hardly means a backend without devices.
Backend::Backend(const Options& options, CallSite site)
    : Backend(checked_options(options, site), Attachments{}, site) {}

Backend::Backend(const Options& options, const Attachments& attached, CallSite site)
    : state_(state_for(options, attached, site)) {}

std::shared_ptr<Backend::State> Backend::state_for(const Options& options,
                                                   const Attachments& attached,
                                                   const CallSite& site) {
  const Options checked = checked_options(options, site, LeastDevices::kNone);
  ProgramRun* const program = PresentBody::program();
  // The backend of an exploration in the program is none of the program's own.
  const bool of_exploration = dynamic_cast<engine::HostAccessWatch*>(attached.observer) != nullptr;
  if (program == nullptr || of_exploration) return std::make_shared<State>(checked, attached, site);
  const Backend* const explored = program->make({checked, site, refusal_of_exploration(attached)});
  const std::shared_ptr<State> state =
      explored != nullptr ? explored->state_
                          : std::make_shared<State>(checked, program->observed(attached), site);
  state->program = program->program();
  return state;
}

Backend::~Backend() { PresentBody::ends(); }

int Backend::device_count() const { return state_->options.devices; }

DeviceSpec Backend::device_spec(int index) const {
  state_->require(index);
  return simulated_device(index, state_->options.devices);
}

const Connections& Backend::connections() const { return state_->connections; }

Device& Backend::device(int index) {
  if (are_bodies_explored()) [[unlikely]] {
    PresentBody::uses(*this, state_->program.get());
  }
  state_->require(index);
  return state_->devices.at(index, state_->shared);
}

std::unique_ptr<Communicator> Backend::communicator(std::span<const int> devices) {
  if (devices.empty()) {
    throw InvalidArgumentError(ErrorCode::kNoDevices, "a communicator needs at least one device");
  }
  std::vector<int> sorted(devices.begin(), devices.end());
  std::ranges::sort(sorted);
  state_->require(sorted.front());
  state_->require(sorted.back());
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    throw InvalidArgumentError(ErrorCode::kDuplicateDevice,
                               "device " + std::to_string(*twice) + " is named twice");
  }
  return make_communicator(std::vector<int>(devices.begin(), devices.end()), state_->shared.engine,
                           state_->flights);
}

Executor& Backend::executor() {
  if (are_bodies_explored()) [[unlikely]] {
    PresentBody::uses(*this, state_->program.get());
    PresentBody::hands_out(*state_->executor);
  }
  // The caller begins a run: failures of the run before must not get into the new run.
  state_->shared.engine->forget_told();
  return *state_->executor;
}

const Options& Backend::options() const { return state_->options; }

RunSettings Backend::run_settings() const {
  const Options& options = state_->options;
  return {.verifies_mirrored = true,
          .records_host_values = options.record && options.digests == Digests::kAll,
          .functions_of = options.functions_of,
          .schedules = state_->schedules,
          .kernel_failures = state_->shared.kernel_failures.get(),
          .trace = state_->trace,
          .variable_tap = state_->trace_observer ? &*state_->observing_sink : nullptr,
          .max_steps = options.max_steps,
          .flights = state_->flights};
}

const Log& Backend::log() const {
  state_->shared.engine->asked("log");
  return state_->sink.log();
}

std::vector<Choice> Backend::choices() const {
  state_->shared.engine->asked("choices");
  return state_->record.choices();
}

std::string Backend::replay_token() const {
  state_->shared.engine->asked("choices");
  const ChoiceRecord& record = state_->record;
  if (!state_->options.record) {
    throw UnsupportedError(ErrorCode::kUnsupported, "nothing is recorded, so there is no token",
                           "set Options::record");
  }
  if (!state_->has_all_choices()) {
    throw UnsupportedError(ErrorCode::kUnsupported,
                           std::to_string(record.made()) + " choices were made, " +
                               std::to_string(record.kept()) + " kept: too few for a token",
                           "raise Options::record_limit, or run again with the same seed");
  }
  return encode_choices(record.choices());
}

std::vector<DeviceMemoryReport> Backend::memory_report() const {
  std::vector<DeviceMemoryReport> report;
  state_->devices.for_each(
      [&](const SimDevice& device) { report.push_back({device.index(), device.memory()}); });
  return report;
}

std::vector<LiveBuffer> Backend::leaks() const {
  state_->shared.engine->asked("leaks");
  std::vector<LiveBuffer> buffers;
  state_->devices.for_each([&](const SimDevice& device) {
    for (const engine::LiveAllocation& live : device.device_memory().live()) {
      buffers.push_back({live.device, live.number, live.bytes});
    }
  });
  return buffers;
}

std::string to_string(const DeviceMemoryReport& report) {
  return "device " + std::to_string(report.device) + ": " + to_string(report.use);
}

std::string to_string(const LiveBuffer& buffer) {
  const std::string place =
      buffer.device < 0 ? "the host" : "device " + std::to_string(buffer.device);
  return "buffer " + std::to_string(buffer.number) + " of " + place + " (" +
         std::to_string(buffer.bytes) + " bytes)";
}

}  // namespace belfry::sim
