// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "work_trace.h"

#include "belfry/backend/current_slot.h"
#include "belfry/detail/run_view.h"

#include <new>
#include <string>

namespace belfry::cuda {
namespace {

using detail::TracedStream;
using detail::TracedValue;
using detail::TraceStep;

constexpr int kStreamsOfDevice = 16;  // Numbers, as on the simulator.

AgentId agent_of(const detail::CurrentPlace& place) {
  if (place.replica >= 0) return {AgentId::Kind::kReplica, place.replica};
  if (place.depth > 0) return {AgentId::Kind::kMerge, place.depth - 1};
  return {};
}

}  // namespace

constinit thread_local int UntoldWork::depth_ = 0;

TraceStep WorkTrace::step_of(std::string_view kind) const {
  const detail::CurrentPlace place = detail::current_place(executor_);
  TraceStep step(kind, writer_.agent(-1, agent_of(place)));
  if (place.depth > 0) step.number("run", place.run);
  return step.line(detail::submitting_site());
}

void WorkTrace::enqueued(const StreamPlace& stream, std::uint64_t item,
                         std::string_view name) const noexcept {
  try {
    const AgentId id{AgentId::Kind::kStream, stream.device * kStreamsOfDevice + stream.ordinal};
    const TracedStream about{.device = stream.device,
                             .replica = detail::replica_on_device(stream.device),
                             .role = stream.ordinal == 0   ? "compute"
                                     : stream.ordinal == 1 ? "communication"
                                                           : "other"};
    TraceStep step = step_of("enqueue");
    step.text("name", name).text("stream", writer_.agent(-1, id, about)).number("item", item);
    writer_.step(step);
  } catch (const std::bad_alloc&) {  // The step is missing.
  }
}

void WorkTrace::read(const BufferView& from, const void* to) const noexcept {
  try {
    TracedValue value;
    value.type = to_string(from.dtype);
    value.count = from.count;
    value.extents = {static_cast<std::int64_t>(from.count)};
    if (writer_.options().values) {
      value.elements = detail::traced_elements(from.dtype, to, from.count);
    }
    writer_.step(step_of("host_read").values("reads", {value}));
  } catch (const std::bad_alloc&) {  // The step is missing.
  }
}

}  // namespace belfry::cuda
