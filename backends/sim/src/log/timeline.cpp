// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/timeline.h"

#include "belfry/detail/options_text.h"
#include "log/log_sequence.h"
#include "log/subject.h"
#include "log/unnamed_merges.h"
#include "owner.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace belfry::sim {
namespace {

// Columns in their printed order: a group, then the host of a cluster or -1, then a place in the
// group.
struct ColumnKey {
  int group = 0;
  int host = -1;
  std::int32_t place = 0;

  auto operator<=>(const ColumnKey&) const = default;
};
constexpr int kReplicaGroup = 0;
constexpr int kOthersGroup = 1;
constexpr int kMergeGroup = 2;
constexpr int kStreamGroup = 3;
constexpr int kHostGroup = 4;
constexpr int kCallGroup = 5;
constexpr int kAnnotationGroup = 6;

struct Column {
  std::string title;
  std::size_t width = 0;
  std::size_t begin = 0;
};

// A row of the table: an operation, or the mark of a run.
struct Row {
  std::string number;
  ColumnKey key{};
  std::string cell;
  std::string annotation;
  bool is_mark = false;
};

std::string title_of(const ColumnKey& key) {
  switch (key.group) {
    case kReplicaGroup:
      return host_prefix(key.host) + to_string(AgentId{AgentId::Kind::kReplica, key.place});
    case kOthersGroup:
      return "others";
    case kMergeGroup:
      return "merge";
    case kStreamGroup:
      return "streams";
    case kHostGroup:
      return "host";
    case kCallGroup:
      return "group";
    default:
      return "what";
  }
}

// Work of the host that no call of the program names.
bool is_bookkeeping(const LogRecord& record) {
  switch (record.kind) {
    case OperationKind::kHostValue:
    case OperationKind::kAllocate:
    case OperationKind::kFree:
    case OperationKind::kRecord:
    case OperationKind::kWait:
      return record.agent_kind == AgentId::Kind::kHost;
    default:
      return false;
  }
}

ColumnKey column_of(const LogSequence::Part& part, const AgentId& agent,
                    const TimelineOptions& options) {
  if (part.is_group) return {.group = kCallGroup};
  switch (agent.kind) {
    case AgentId::Kind::kReplica:
      if (agent.index < options.max_replicas) return {kReplicaGroup, part.host, agent.index};
      return {.group = kOthersGroup};
    case AgentId::Kind::kMerge:
      return {.group = kMergeGroup};
    case AgentId::Kind::kStream:
      return {.group = kStreamGroup};
    case AgentId::Kind::kHost:
      return {.group = kHostGroup};
  }
  return {.group = kHostGroup};
}

// The agent in front of an operation in a column that agents share.
std::string agent_prefix(const LogSequence::Part& part, const AgentId& owner, int group) {
  if (part.is_group) return host_prefix(owner.index);
  if (group == kReplicaGroup) return "";
  const bool nested = group == kMergeGroup && owner.index > 0;
  const bool is_named = group == kOthersGroup || group == kStreamGroup || nested;
  return host_prefix(part.host) + (is_named ? to_string(owner) + " " : "");
}

Row row_of(const LogSequence& sequence, std::uint64_t place, const TimelineOptions& options) {
  const LogSequence::Step& step = sequence.step(place);
  const LogSequence::Part& part = sequence.part_of(step);
  const LogRecord& record = sequence.record_of(step);
  const AgentId owner = owner_of(record, part.log->annotations().find(step.record));
  Row row;
  row.number = std::to_string(place);
  row.key = column_of(part, owner, options);
  row.cell = agent_prefix(part, owner, row.key.group) + to_string(record.kind);
  if (has_subject(record.kind)) row.cell += " " + std::to_string(record.subject);
  row.annotation = annotation_text(*part.log, step.record);
  return row;
}

Row row_of(const LogSequence::Part& part, const RunMark& mark) {
  const Annotations& annotations = part.log->annotations();
  Row row;
  row.is_mark = true;
  row.cell = host_prefix(part.host) + "run " + std::to_string(mark.run);
  if (mark.begins) {
    row.cell += " begins on " + std::to_string(mark.replicas) +
                (mark.replicas == 1 ? " replica" : " replicas");
    if (!mark.site.empty()) row.cell += ", " + to_string(mark.site);
  } else {
    row.cell += mark.failed ? " fails" : " ends";
    if (mark.name != 0) row.cell += ": " + std::string(annotations.name(mark.name));
  }
  return row;
}

class Table {
 public:
  Table(const LogSequence& sequence, const TimelineOptions& options)
      : sequence_(sequence), options_(options) {
    std::uint64_t next = 0;
    for (; next < sequence.size() && shown_ < options.max_rows; ++next) add(next);
    add_marks(next, next == sequence.size());
    left_ = sequence.total() - next;
  }

  std::string text() {
    place_columns();
    std::string text = line_of_titles();
    for (const Row& row : rows_) text += line_of(row);
    if (left_ != 0) text += "... and " + std::to_string(left_) + " more\n";
    if (hidden_ != 0) {
      text += "not shown: " + std::to_string(hidden_) +
              (hidden_ == 1 ? " operation" : " operations") + " of the host's bookkeeping\n";
    }
    return text + text_of_unnamed_merges();
  }

 private:
  void add(std::uint64_t place) {
    add_marks(place, true);
    if (!options_.bookkeeping && is_bookkeeping(sequence_.record_of(sequence_.step(place)))) {
      ++hidden_;
      return;
    }
    ++shown_;
    rows_.push_back(row_of(sequence_, place, options_));
  }

  // The marks before the step. A begin right before a step that is not shown is left out.
  void add_marks(std::uint64_t place, bool is_shown) {
    const std::vector<LogSequence::Mark>& marks = sequence_.marks();
    for (; marks_ < marks.size() && marks[marks_].place <= place; ++marks_) {
      const LogSequence::Mark& mark = marks[marks_];
      if (mark.place == place && !is_shown && mark.run->begins) return;
      rows_.push_back(row_of(sequence_.parts()[mark.part], *mark.run));
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

  void place_columns() {
    std::size_t widest_number = 0;
    for (const Row& row : rows_) {
      widest_number = std::max(widest_number, row.number.size());
      if (row.is_mark) continue;
      widen(row.key, row.cell);
      if (!row.annotation.empty()) widen({.group = kAnnotationGroup}, row.annotation);
    }
    number_width_ = std::max<std::size_t>(4, widest_number);
    std::size_t end = number_width_;
    for (auto& [key, column] : columns_) {
      column.begin = end + 2;
      end = column.begin + column.width;
    }
  }

  void widen(const ColumnKey& key, const std::string& cell) {
    Column& column = columns_[key];
    if (column.title.empty()) column.title = title_of(key);
    column.width = std::max({column.width, column.title.size(), cell.size()});
  }

  std::string line_of_titles() const {
    std::string line = "step";
    for (const auto& [key, column] : columns_) put(line, column.begin, column.title);
    return line + "\n";
  }

  std::string line_of(const Row& row) const {
    std::string line;
    put(line, number_width_ - row.number.size(), row.number);
    if (row.is_mark) {
      put(line, number_width_ + 2, row.cell);
    } else {
      put(line, columns_.at(row.key).begin, row.cell);
      if (!row.annotation.empty()) {
        put(line, columns_.at({.group = kAnnotationGroup}).begin, row.annotation);
      }
    }
    return line + "\n";
  }

  static void put(std::string& line, std::size_t begin, const std::string& text) {
    if (text.empty()) return;
    line.resize(std::max(line.size(), begin), ' ');
    line += text;
  }

  const LogSequence& sequence_;
  const TimelineOptions& options_;
  std::vector<Row> rows_;
  std::map<ColumnKey, Column> columns_;
  std::size_t number_width_ = 4;
  std::size_t marks_ = 0;  // The marks of runs among the rows.
  std::size_t shown_ = 0;
  std::size_t hidden_ = 0;
  std::uint64_t left_ = 0;
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
  return Table(sequence, options).text();
}

std::string timeline(const ClusterLog& log, const TimelineOptions& options) {
  const LogSequence sequence(log);
  return Table(sequence, options).text();
}

}  // namespace belfry::sim
