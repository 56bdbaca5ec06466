// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/timeline.h"

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

struct Column {
  std::string title;
  std::size_t width = 0;
};

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
    default:
      return "host";
  }
}

bool has_subject(OperationKind kind) {
  return kind != OperationKind::kStart && kind != OperationKind::kEnd &&
         kind != OperationKind::kThrow;
}

std::string cell_of(const LogRecord& record, const ColumnKey& key) {
  std::string text;
  const bool nested = key.first == kMergeGroup && record.agent_index > 0;
  if (key.first == kOthersGroup || key.first == kStreamGroup || nested) {
    text = to_string(record.agent()) + " ";
  }
  text += to_string(record.kind);
  if (has_subject(record.kind)) text += " " + std::to_string(record.subject);
  return text;
}

void pad(std::string& line, std::size_t width) {
  if (line.size() < width) line.append(width - line.size(), ' ');
}

void finish(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

}  // namespace

std::string timeline(const Log& log, const TimelineOptions& options) {
  const std::size_t rows = std::min(options.max_rows, log.records().size());
  const std::span<const LogRecord> records(log.records().data(), rows);
  std::map<ColumnKey, Column> columns;
  for (const LogRecord& record : records) {
    const ColumnKey key = column_of(record.agent(), options);
    Column& column = columns[key];
    if (column.title.empty()) column.title = title_of(key);
    column.width = std::max({column.width, column.title.size(), cell_of(record, key).size()});
  }

  const std::size_t number_width = std::max<std::size_t>(4, std::to_string(rows).size());
  std::string line = "step";
  std::size_t end = number_width;
  std::map<ColumnKey, std::size_t> begins;
  for (const auto& [key, column] : columns) {
    pad(line, end + 2);
    begins[key] = end + 2;
    line += column.title;
    end += 2 + column.width;
  }
  std::string text;
  finish(text, std::move(line));
  for (std::size_t row = 0; row < rows; ++row) {
    const ColumnKey key = column_of(records[row].agent(), options);
    std::string number = std::to_string(row);
    line.assign(number_width - number.size(), ' ');
    line += number;
    pad(line, begins[key]);
    finish(text, line + cell_of(records[row], key));
  }
  if (rows < log.size()) text += "... and " + std::to_string(log.size() - rows) + " more\n";
  return text;
}

}  // namespace belfry::sim
