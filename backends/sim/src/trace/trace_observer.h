// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/trace_recorder.h"
#include "belfry/sim/observer.h"
#include "belfry/trace.h"
#include "engine/watch.h"
#include "trace/traced_memory.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim {

/// Writes the runs of a backend into a trace, and hands every observation on.
class TraceObserver final : public Observer, public engine::WorkTap {
 public:
  /// `host`: of a cluster, or -1. `next` may be null.
  TraceObserver(TraceFile& trace, int host, int devices, Observer* next)
      : memory_(trace.writer()),
        recorder_(trace.writer(), host, &memory_),
        devices_(devices),
        next_(next) {}

  void observe(const Observation& seen) override;
  void works_on(const BufferView& view) override;
  void begins(const engine::Command& command) override;
  void ended(const engine::Command& command, std::span<engine::CommandQueue* const> queues,
             bool failed) override;
  /// The begin or end of the run `run`.
  void run(const Operation& operation, const Actor& actor);
  /// As belfry::detail::VariableTap, by `actor`.
  void made(const std::shared_ptr<const belfry::detail::VariableView>& variable,
            const Actor& actor) noexcept;
  void changed(const belfry::detail::VariableView& variable, const Actor& actor) noexcept;

 private:
  using Steps = std::vector<std::uint64_t>;
  using Record = std::pair<EventName, std::uint64_t>;
  struct Stream {
    std::optional<std::uint64_t> last;                // Its last work.
    std::set<std::uint64_t> passed;                   // Work before the waits since.
    std::map<std::uint64_t, std::uint64_t> enqueued;  // The step of each item in the stream.
  };

  void record(const Observation& seen);
  belfry::detail::TraceStep step_of(const char* kind, const Observation& seen);
  std::string stream_id(std::int32_t number);
  std::string event_text(const EventName& event);
  void submit(const Observation& seen);
  void queue_record(const Observation& seen);
  void queue_wait(const Observation& seen);
  void host_waited(const Observation& seen);
  void write_work(const engine::Command& command, std::span<engine::CommandQueue* const> queues,
                  bool failed);
  bool are_of_one_device(std::int32_t stream, std::int32_t other) const;
  Steps waits_of(const engine::CommandQueue& queue, std::span<engine::CommandQueue* const> members);

  TracedMemory memory_;
  belfry::detail::TraceRecorder recorder_;
  int devices_;
  Observer* next_;
  std::vector<belfry::detail::TracedValue> reads_;  // Of the command that runs.
  std::map<std::int32_t, Stream> streams_;
  std::map<Record, std::int32_t> recorded_;  // The stream of each record.
  std::map<Record, std::uint64_t> reached_;  // The work before each record.
  std::map<Actor, std::uint64_t> waits_;     // Since when each agent waits.
  std::map<std::uint32_t, Actor> callers_;   // Of the runs.
};

}  // namespace belfry::sim
