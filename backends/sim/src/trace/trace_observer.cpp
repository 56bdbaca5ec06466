// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_observer.h"

#include "engine/command.h"
#include "engine/command_queue.h"
#include "stream_numbers.h"

#include <fmt/format.h>

#include <algorithm>

namespace belfry::sim {
namespace {

using belfry::detail::TraceActor;
using belfry::detail::TracedStream;
using belfry::detail::TracedValue;
using belfry::detail::TraceStep;

constexpr int kAnyDevice = -1;

TraceActor actor_of(const Actor& actor) { return {actor.agent, actor.run}; }

// The values of the accesses to the memory of a device.
std::vector<TracedValue> of_device(int device, const std::vector<engine::Access>& accesses,
                                   const std::vector<TracedValue>& values) {
  std::vector<TracedValue> own;
  for (std::size_t i = 0; i < std::min(accesses.size(), values.size()); ++i) {
    const bool is_own = device == kAnyDevice || accesses[i].allocation->device() == device;
    if (is_own) own.push_back(values[i]);
  }
  return own;
}

}  // namespace

void TraceObserver::observe(const Observation& seen) {
  recorder_.locked([&] { record(seen); });
  if (next_ != nullptr) next_->observe(seen);
}

void TraceObserver::record(const Observation& seen) {
  using Kind = Observation::Kind;
  switch (seen.kind) {
    case Kind::kRunBegan:
      callers_[seen.run] = seen.actor;
      return;
    case Kind::kRunEnded:
      callers_.erase(seen.run);
      return;
    case Kind::kOperation:
      return recorder_.operation(*seen.operation, actor_of(seen.actor), {});
    case Kind::kAllocated: {
      const Footprint& bytes = seen.footprints.front();
      TraceStep step = step_of("allocate", seen);
      step.number("buffer", bytes.resource).number("bytes", bytes.end);
      recorder_.writer().step(step.json("bookkeeping", "true"));
      return;
    }
    case Kind::kSubmitted:
      return submit(seen);
    case Kind::kRecorded:
      return queue_record(seen);
    case Kind::kWaitQueued:
      return queue_wait(seen);
    case Kind::kReached: {
      const Stream& stream = streams_[seen.actor.agent.index];
      if (stream.last) reached_[{seen.event, seen.record}] = *stream.last;
      return;
    }
    case Kind::kPassed: {
      const auto before = reached_.find({seen.event, seen.record});
      if (before != reached_.end()) {
        streams_[seen.actor.agent.index].passed.insert(before->second);
      }
      return;
    }
    case Kind::kHostWaits:
      waits_[seen.actor] = recorder_.writer().steps();
      return;
    case Kind::kHostWaited:
      return host_waited(seen);
    case Kind::kHostRead: {
      TraceStep step = step_of("host_read", seen);
      step.values("reads", {memory_.value_of(seen.footprints.front())});
      if (seen.failed) step.json("failed", "true");
      recorder_.writer().step(step);
      return;
    }
    default:
      return;
  }
}

TraceStep TraceObserver::step_of(const char* kind, const Observation& seen) {
  TraceStep step(kind, recorder_.agent(seen.actor.agent));
  if (seen.actor.run != 0) step.number("run", seen.actor.run);
  if (!seen.name.empty()) step.text("name", seen.name);
  return step.line(seen.site);
}

std::string TraceObserver::stream_id(std::int32_t number) {
  const AgentId agent{AgentId::Kind::kStream, number};
  TracedStream stream;
  const std::int32_t own = number % kStreamsOfDevice;
  if (number < devices_ * kStreamsOfDevice) {
    stream.device = number / kStreamsOfDevice;
    stream.role = own == 0 ? "compute" : own == 1 ? "communication" : "other";
    stream.replica = belfry::detail::replica_on_device(stream.device);
  }
  return recorder_.writer().agent(recorder_.host(), agent, stream);
}

// `event 2 of R1 of run 2`, and on a host of a cluster `event 2 of H1.R1 of run 2`.
std::string TraceObserver::event_text(const EventName& event) {
  const std::string text =
      fmt::format("event {} of {}", event.number, recorder_.agent(event.maker.agent));
  return event.maker.run == 0 ? text : fmt::format("{} of run {}", text, event.maker.run);
}

void TraceObserver::submit(const Observation& seen) {
  memory_.submitted(seen.footprints);
  for (const StreamItem& item : seen.items) {
    const std::string stream = stream_id(item.stream);
    TraceStep step = step_of("enqueue", seen);
    step.text("stream", stream).number("item", item.item);
    const auto number = recorder_.writer().step(step);
    if (number) streams_[item.stream].enqueued[item.item] = *number;
  }
}

void TraceObserver::queue_record(const Observation& seen) {
  const StreamItem& item = seen.items.front();
  recorded_[{seen.event, seen.record}] = item.stream;
  TraceStep step = step_of("record", seen);
  step.text("stream", stream_id(item.stream)).number("item", item.item);
  step.text("event", event_text(seen.event)).number("record", seen.record);
  recorder_.writer().step(step.json("bookkeeping", "true"));
}

void TraceObserver::queue_wait(const Observation& seen) {
  if (seen.items.empty()) return;
  const StreamItem& item = seen.items.front();
  TraceStep step = step_of("wait", seen);
  step.text("stream", stream_id(item.stream)).number("item", item.item);
  step.text("event", event_text(seen.event)).number("record", seen.record);
  const auto recorded = recorded_.find({seen.event, seen.record});
  if (recorded != recorded_.end()) {
    step.text("for", stream_id(recorded->second));
    if (are_of_one_device(item.stream, recorded->second)) step.json("bookkeeping", "true");
  }
  recorder_.writer().step(step);
}

bool TraceObserver::are_of_one_device(std::int32_t stream, std::int32_t other) const {
  return stream / kStreamsOfDevice == other / kStreamsOfDevice;
}

void TraceObserver::host_waited(const Observation& seen) {
  TraceStep step = step_of("host_wait", seen);
  Steps before;
  if (!seen.items.empty()) {
    const StreamItem& item = seen.items.front();
    step.text("stream", stream_id(item.stream)).number("item", item.item);
    const Stream& stream = streams_[item.stream];
    before.assign(stream.passed.begin(), stream.passed.end());
    if (stream.last) before.push_back(*stream.last);
  } else {
    step.text("event", event_text(seen.event)).number("record", seen.record);
    const auto reached = reached_.find({seen.event, seen.record});
    if (reached != reached_.end()) before.push_back(reached->second);
  }
  const auto since = waits_.find(seen.actor);
  if (since != waits_.end()) step.number("since", since->second);
  step.after(before);
  if (seen.failed) step.json("failed", "true");
  recorder_.writer().step(step);
}

void TraceObserver::works_on(const BufferView& view) {
  recorder_.locked([&] { memory_.works_on(view); });
}

void TraceObserver::begins(const engine::Command& command) {
  recorder_.locked([&] {
    reads_.clear();
    reads_ = memory_.values_of(command.reads);
  });
}

void TraceObserver::ended(const engine::Command& command,
                          std::span<engine::CommandQueue* const> queues, bool failed) {
  recorder_.locked([&] { write_work(command, queues, failed); });
}

void TraceObserver::write_work(const engine::Command& command,
                               std::span<engine::CommandQueue* const> queues, bool failed) {
  const bool is_collective = queues.front()->head().kind == engine::QueueItem::Kind::kCollective;
  const auto values = memory_.values_of(command.writes);
  Steps done;
  for (const engine::CommandQueue* const queue : queues) {
    Stream& stream = streams_[queue->number()];
    TraceStep step(is_collective ? "collective" : "execute", stream_id(queue->number()));
    step.text("name", command.name).number("item", queue->done() + 1);
    if (command.op) step.text("op", to_string(*command.op));
    if (is_collective) step.number("members", queues.size());
    step.line(command.site).after(waits_of(*queue, queues));
    if (failed) {
      step.json("failed", "true");
    } else {
      const int device = is_collective ? queue->device() : kAnyDevice;
      step.values("reads", of_device(device, command.reads, reads_));
      step.values("writes", of_device(device, command.writes, values));
    }
    if (const auto number = recorder_.writer().step(step)) done.push_back(*number);
    stream.enqueued.erase(queue->done() + 1);
  }
  for (std::size_t i = 0; i < done.size(); ++i) {
    Stream& stream = streams_[queues[i]->number()];
    stream.last = done[i];
    stream.passed.clear();
  }
  memory_.written(command, failed);
}

TraceObserver::Steps TraceObserver::waits_of(const engine::CommandQueue& queue,
                                             std::span<engine::CommandQueue* const> members) {
  Steps steps;
  const Stream& own = streams_[queue.number()];
  const auto enqueued = own.enqueued.find(queue.done() + 1);
  if (enqueued != own.enqueued.end()) steps.push_back(enqueued->second);
  for (const engine::CommandQueue* const member : members) {
    const Stream& stream = streams_[member->number()];
    steps.insert(steps.end(), stream.passed.begin(), stream.passed.end());
    if (member != &queue && stream.last) steps.push_back(*stream.last);
  }
  return steps;
}

void TraceObserver::run(const Operation& operation, const Actor& actor) {
  recorder_.locked(
      [&] { recorder_.operation(operation, actor_of(actor), actor_of(callers_[actor.run])); });
}

void TraceObserver::made(const std::shared_ptr<const belfry::detail::VariableView>& variable,
                         const Actor& actor) noexcept {
  recorder_.locked([&] { recorder_.variables().made(variable, actor_of(actor)); });
}

void TraceObserver::changed(const belfry::detail::VariableView& variable,
                            const Actor& actor) noexcept {
  recorder_.locked([&] { recorder_.variables().changed(variable, actor_of(actor)); });
}

}  // namespace belfry::sim
