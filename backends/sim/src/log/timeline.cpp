// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/timeline.h"

#include "belfry/detail/options_text.h"
#include "log/log_sequence.h"
#include "log/subject.h"
#include "log/timeline_table.h"
#include "log/unnamed_merges.h"
#include "owner.h"
#include "stream_numbers.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace belfry::sim {
namespace {

// Work of the host that no call of the program names.
bool is_bookkeeping(const LogRecord& record) {
  switch (record.kind) {
    case OperationKind::kHostValue:
    case OperationKind::kHostWait:
    case OperationKind::kAllocate:
    case OperationKind::kFree:
    case OperationKind::kRecord:
    case OperationKind::kWait:
      return record.agent_kind == AgentId::Kind::kHost;
    default:
      return false;
  }
}

bool is_execution(const LogRecord& record) {
  return record.kind == OperationKind::kExecute || record.kind == OperationKind::kCollective;
}

TimelineColumn column_of(const LogSequence::Part& part, const AgentId& agent,
                         const TimelineOptions& options) {
  if (part.is_group) return {.group = TimelineColumn::kCall};
  switch (agent.kind) {
    case AgentId::Kind::kReplica:
      if (agent.index >= options.max_replicas) return {.group = TimelineColumn::kOthers};
      return {TimelineColumn::kReplica, part.host, agent.index};
    case AgentId::Kind::kMerge:
      return {.group = TimelineColumn::kMerge};
    case AgentId::Kind::kStream:
      return {.group = TimelineColumn::kStream};
    case AgentId::Kind::kHost:
      break;
  }
  return {.group = TimelineColumn::kHost};
}

// The name of a stream; the device, where a neighbour has another, is the agent of the row.
void name_stream(const LogSequence::Part& part, std::int32_t number, TimelineRow& row) {
  const std::int32_t own = number % kStreamsOfDevice;
  if (number >= part.log->devices() * kStreamsOfDevice) {
    row.before = "stream";
    row.agent = std::to_string(number);
  } else {
    row.before = (own == 0   ? "compute"
                  : own == 1 ? "communication"
                             : "stream " + std::to_string(own)) +
                 " of device";
    row.agent = std::to_string(number / kStreamsOfDevice);
  }
  if (part.host >= 0) row.before = host_prefix(part.host) + row.before;
}

// The agent in front of an operation in a column that agents share.
std::string agent_of(const LogSequence::Part& part, const AgentId& owner,
                     TimelineColumn::Group group) {
  if (part.is_group) return host_prefix(owner.index);
  if (group == TimelineColumn::kReplica) return "";
  const bool nested = group == TimelineColumn::kMerge && owner.index > 0;
  const bool is_named = group == TimelineColumn::kOthers || nested;
  return host_prefix(part.host) + (is_named ? to_string(owner) : "");
}

TimelineRow row_of(const LogSequence& sequence, std::uint64_t place,
                   const TimelineOptions& options) {
  const LogSequence::Step& step = sequence.step(place);
  const LogSequence::Part& part = sequence.part_of(step);
  const LogRecord& record = sequence.record_of(step);
  const Annotation* const known = part.log->annotations().find(step.record);
  const AgentId owner = owner_of(record, known);
  TimelineRow row;
  row.number = place;
  row.column = column_of(part, owner, options);
  row.what = annotation_text(*part.log, step.record);
  row.text = to_string(record.kind);
  if (has_subject(record.kind)) row.text += " " + std::to_string(record.subject);
  if (row.column.group != TimelineColumn::kStream) {
    row.agent = agent_of(part, owner, row.column.group);
    if (row.agent.ends_with(' ')) row.agent.pop_back();
    return row;
  }
  name_stream(part, owner.index, row);
  const std::string_view name =
      known == nullptr ? std::string_view() : part.log->annotations().name(known->name);
  if (name.empty()) return row;
  row.text = name;
  row.what.erase(0, std::min(row.what.size(), name.size() + 2));
  return row;
}

TimelineRow row_of(const LogSequence::Part& part, const RunMark& mark) {
  const Annotations& annotations = part.log->annotations();
  TimelineRow row;
  row.is_mark = true;
  row.text = host_prefix(part.host) + "run " + std::to_string(mark.run);
  if (mark.begins) {
    row.what = "begins";
    row.text += " begins on " + std::to_string(mark.replicas) +
                (mark.replicas == 1 ? " replica" : " replicas");
    if (!mark.site.empty()) row.text += ", " + to_string(mark.site);
  } else {
    row.text += mark.failed ? " fails" : " ends";
    if (mark.name != 0) row.text += ": " + std::string(annotations.name(mark.name));
  }
  return row;
}

class Rows {
 public:
  Rows(const LogSequence& sequence, const TimelineOptions& options)
      : sequence_(sequence), options_(options), table_(options) {
    for (std::uint64_t i = 0; i < sequence.size(); ++i) {
      const LogRecord& record = sequence.record_of(sequence.step(i));
      if (is_execution(record)) {
        executed_.emplace(sequence.step(i).part, static_cast<std::uint64_t>(record.agent_index),
                          record.subject);
      }
    }
    for (std::uint64_t i = 0; i < sequence.size(); ++i) add(i);
    add_marks(sequence.size());
  }

  std::string text() {
    return table_.text(sequence_.total() - sequence_.size(), text_of_unnamed_merges());
  }

 private:
  void add(std::uint64_t place) {
    add_marks(place);
    if (!options_.bookkeeping && is_hidden(place)) return table_.hide();
    table_.add(row_of(sequence_, place, options_));
  }

  // The execution of work shows its enqueueing.
  bool is_hidden(std::uint64_t place) const {
    const LogSequence::Step& step = sequence_.step(place);
    const LogRecord& record = sequence_.record_of(step);
    const bool is_enqueueing = record.kind == OperationKind::kEnqueue;
    return is_bookkeeping(record) ||
           (is_enqueueing && executed_.contains({step.part, record.value, record.subject}));
  }

  void add_marks(std::uint64_t place) {
    const std::vector<LogSequence::Mark>& marks = sequence_.marks();
    for (; marks_ < marks.size() && marks[marks_].place <= place; ++marks_) {
      table_.add(row_of(sequence_.parts()[marks[marks_].part], *marks[marks_].run));
    }
  }

  std::string text_of_unnamed_merges() const {
    std::string text;
    for (const LogSequence::Part& part : sequence_.parts()) {
      for (const UnnamedMerges& line : unnamed_merges(*part.log)) {
        text += host_prefix(part.host) + to_string(line) + '\n';
      }
    }
    return text;
  }

  const LogSequence& sequence_;
  const TimelineOptions& options_;
  TimelineTable table_;
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> executed_;
  std::size_t marks_ = 0;  // The marks of runs among the rows.
};

}  // namespace

std::string to_string(const TimelineOptions& options) {
  const TimelineOptions usual;
  detail::OptionsText text;
  text.add("max_rows", options.max_rows, usual.max_rows);
  text.add("max_replicas", options.max_replicas, usual.max_replicas);
  text.add("bookkeeping", options.bookkeeping, usual.bookkeeping);
  return text.text();
}

std::string timeline(const Log& log, const TimelineOptions& options) {
  const LogSequence sequence(log);
  return Rows(sequence, options).text();
}

std::string timeline(const ClusterLog& log, const TimelineOptions& options) {
  const LogSequence sequence(log);
  return Rows(sequence, options).text();
}

}  // namespace belfry::sim
