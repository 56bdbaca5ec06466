// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/timeline.h"

#include "belfry/detail/options_text.h"
#include "owner.h"
#include "subject.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace belfry::sim {
namespace {

// Columns in their printed order: a group, then a place in the group.
using ColumnKey = std::pair<int, std::int32_t>;
constexpr int kReplicaGroup = 0;
constexpr int kOthersGroup = 1;
constexpr int kMergeGroup = 2;
constexpr int kStreamGroup = 3;
constexpr int kHostGroup = 4;
constexpr int kAnnotationGroup = 5;

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
  switch (key.first) {
    case kReplicaGroup:
      return to_string(AgentId{AgentId::Kind::kReplica, key.second});
    case kOthersGroup:
      return "others";
    case kMergeGroup:
      return "merge";
    case kStreamGroup:
      return "streams";
    case kHostGroup:
      return "host";
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

ColumnKey column_of(const AgentId& agent, const TimelineOptions& options) {
  switch (agent.kind) {
    case AgentId::Kind::kReplica:
      if (agent.index < options.max_replicas) return {kReplicaGroup, agent.index};
      return {kOthersGroup, 0};
    case AgentId::Kind::kMerge:
      return {kMergeGroup, 0};
    case AgentId::Kind::kStream:
      return {kStreamGroup, 0};
    case AgentId::Kind::kHost:
      return {kHostGroup, 0};
  }
  return {kHostGroup, 0};
}

Row row_of(const Log& log, std::uint64_t index, const TimelineOptions& options) {
  const LogRecord& record = log.records()[index];
  const AgentId owner = owner_of(record, log.annotations().find(index));
  Row row;
  row.number = std::to_string(index);
  row.key = column_of(owner, options);
  const bool nested = row.key.first == kMergeGroup && record.agent_index > 0;
  if (row.key.first == kOthersGroup || row.key.first == kStreamGroup || nested) {
    row.cell = to_string(owner) + " ";
  }
  row.cell += to_string(record.kind);
  if (has_subject(record.kind)) row.cell += " " + std::to_string(record.subject);
  row.annotation = annotation_text(log, index);
  return row;
}

Row row_of(const Annotations& annotations, const RunMark& mark) {
  Row row;
  row.is_mark = true;
  row.cell = "run " + std::to_string(mark.run);
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
  Table(const Log& log, const TimelineOptions& options) : log_(log), options_(options) {
    std::uint64_t next = 0;
    for (; next < log.records().size() && shown_ < options.max_rows; ++next) add(next);
    const bool whole = next == log.records().size();
    add_marks(next, whole);
    left_ = log.size() - next;
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
    return text;
  }

 private:
  void add(std::uint64_t index) {
    add_marks(index, true);
    if (!options_.bookkeeping && is_bookkeeping(log_.records()[index])) {
      ++hidden_;
      return;
    }
    ++shown_;
    rows_.push_back(row_of(log_, index, options_));
  }

  // The marks before the record. A begin right before a record that is not shown is left out.
  void add_marks(std::uint64_t record, bool at_record) {
    const std::vector<RunMark>& runs = log_.annotations().runs();
    for (; marks_ < runs.size() && runs[marks_].record <= record; ++marks_) {
      if (runs[marks_].record == record && !at_record && runs[marks_].begins) return;
      rows_.push_back(row_of(log_.annotations(), runs[marks_]));
    }
  }

  void place_columns() {
    std::size_t widest_number = 0;
    for (const Row& row : rows_) {
      widest_number = std::max(widest_number, row.number.size());
      if (row.is_mark) continue;
      widen({row.key.first, row.key.second}, row.cell);
      if (!row.annotation.empty()) widen({kAnnotationGroup, 0}, row.annotation);
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
        put(line, columns_.at({kAnnotationGroup, 0}).begin, row.annotation);
      }
    }
    return line + "\n";
  }

  static void put(std::string& line, std::size_t begin, const std::string& text) {
    if (text.empty()) return;
    line.resize(std::max(line.size(), begin), ' ');
    line += text;
  }

  const Log& log_;
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
  return Table(log, options).text();
}

}  // namespace belfry::sim
