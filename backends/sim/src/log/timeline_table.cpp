// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "log/timeline_table.h"

#include "belfry/backend/operation.h"
#include "belfry/detail/options_text.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::sim {
namespace {

constexpr std::size_t kMostInCell = 64;
// In front of the values of a stream.
constexpr std::string_view kEquals = " = ";

std::string title_of(const TimelineColumn& key) {
  switch (key.group) {
    case TimelineColumn::kReplica:
      return (key.host < 0 ? "" : "H" + std::to_string(key.host) + " ") +
             to_string(AgentId{AgentId::Kind::kReplica, key.place});
    case TimelineColumn::kOthers:
      return "others";
    case TimelineColumn::kMerge:
      return "merge";
    case TimelineColumn::kStream:
      return "streams";
    case TimelineColumn::kHost:
      return "host";
    case TimelineColumn::kWhat:
      break;
  }
  return "what";
}

bool is_of_one_agent(const TimelineColumn& column) {
  return column.group == TimelineColumn::kReplica || column.group == TimelineColumn::kHost;
}

/// The lines of a cell: as many words in a line as fit, and at least one.
std::vector<std::string> lines_of(const std::string& cell, std::size_t width) {
  if (width == 0 || cell.size() <= width) return {cell};
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (cell.size() - begin > width) {
    std::size_t end = cell.rfind(' ', begin + width);
    if (end == std::string::npos || end <= begin) end = cell.find(' ', begin + width);
    if (end == std::string::npos) break;
    lines.push_back(cell.substr(begin, end - begin));
    begin = end + 1;
  }
  lines.push_back(cell.substr(begin));
  return lines;
}

void put(std::string& line, std::size_t begin, const std::string& text) {
  if (text.empty()) return;
  line.resize(std::max(line.size(), begin), ' ');
  line += text;
}

}  // namespace

std::string to_string(const TimelineOptions& options) {
  const TimelineOptions usual;
  detail::OptionsText text;
  text.add("max_rows", options.max_rows, usual.max_rows);
  text.add("max_replicas", options.max_replicas, usual.max_replicas);
  text.add("bookkeeping", options.bookkeeping, usual.bookkeeping);
  text.add("streams", options.streams, usual.streams);
  text.add("max_elements", options.max_elements, usual.max_elements);
  text.add("max_width", options.max_width, usual.max_width);
  return text.text();
}

void TimelineTable::add(TimelineRow row) {
  const bool may_join = !options_.bookkeeping && !rows_.empty();
  if (!may_join || !join(rows_.back(), row)) rows_.push_back(std::move(row));
}

// The next step of the same agent, or the begin of a run right after the end of another.
bool TimelineTable::join(TimelineRow& last, const TimelineRow& next) {
  if (last.is_mark != next.is_mark) return false;
  if (last.is_mark) {
    if (last.what == "begins" || next.what != "begins") return false;
    last.text += "; " + next.text;
    return true;
  }
  const bool is_same = last.column == next.column && last.agent == next.agent;
  if (!is_same || !is_of_one_agent(next.column)) return false;
  const std::size_t size = last.text.size() + last.values.size() + next.text.size();
  if (size + next.values.size() > kMostInCell) return false;
  last.text += last.values + ", " + next.text;
  last.values = next.values;
  last.steps += next.steps;
  if (!next.what.empty() && next.what != last.what) {
    last.what += (last.what.empty() ? "" : ", ") + next.what;
  }
  return true;
}

bool TimelineTable::is_alike(const Line& line, const TimelineRow& next) {
  if (line.is_mark || next.is_mark) return false;
  const TimelineRow& first = line.rows.front();
  if (first.column.group != next.column.group || first.text != next.text ||
      first.what != next.what || first.before != next.before) {
    return false;
  }
  const auto is_same = [&](const TimelineRow& row) {
    return row.column == next.column && row.agent == next.agent;
  };
  const bool may_share = next.column.group == TimelineColumn::kReplica ||
                         (next.column.group == TimelineColumn::kStream && !next.agent.empty());
  return may_share && std::ranges::none_of(line.rows, is_same);
}

void TimelineTable::fold_neighbours() {
  for (TimelineRow& row : rows_) {
    if (!options_.bookkeeping && !lines_.empty() && is_alike(lines_.back(), row)) {
      lines_.back().rows.push_back(std::move(row));
      continue;
    }
    Line line;
    line.number = row.number;
    line.is_mark = row.is_mark;
    line.what = row.what;
    line.rows.push_back(std::move(row));
    lines_.push_back(std::move(line));
  }
  for (Line& line : lines_) write_cells(line);
}

void TimelineTable::write_cells(Line& line) {
  if (line.rows.front().column.group == TimelineColumn::kReplica) {
    for (const TimelineRow& row : line.rows) line.cells[row.column] = row.text + row.values;
    return;
  }
  std::ranges::sort(line.rows, {},
                    [](const TimelineRow& row) { return std::pair(row.agent.size(), row.agent); });
  const TimelineRow& first = line.rows.front();
  std::string agents;
  std::string values;
  for (const TimelineRow& row : line.rows) {
    agents += (agents.empty() ? "" : ", ") + row.agent;
    if (values.empty()) {
      values = row.values;
    } else if (row.values != first.values) {
      values += ", " + row.values.substr(std::min(row.values.size(), kEquals.size()));
    }
  }
  std::string before = first.before;
  if (!before.empty()) before += line.rows.size() > 1 ? "s " : " ";
  if (!agents.empty()) agents += first.before.empty() ? " " : ": ";
  line.cells[first.column] = before + agents + first.text + values;
}

std::string TimelineTable::text(std::uint64_t left, const std::string& notes) {
  fold_neighbours();
  std::size_t shown = 0;
  auto end = lines_.begin();
  for (; end != lines_.end() && (end->is_mark || shown < options_.max_rows); ++end) {
    if (!end->is_mark) ++shown;
  }
  // A run that begins with the first row beyond is beyond, too.
  while (end != lines_.end() && end != lines_.begin() && std::prev(end)->is_mark &&
         std::prev(end)->what == "begins") {
    --end;
  }
  const auto steps_of = [](const Line& line) {
    std::uint64_t steps = 0;
    for (const TimelineRow& row : line.rows) steps += row.is_mark ? 0 : row.steps;
    return steps;
  };
  for (auto beyond = end; beyond != lines_.end(); ++beyond) left += steps_of(*beyond);
  lines_.erase(end, lines_.end());
  place_columns();
  std::string text = "step";
  for (const auto& [key, column] : columns_) put(text, column.begin, column.title);
  text += "\n";
  for (const Line& line : lines_) text += text_of(line);
  if (left != 0) text += "... and " + std::to_string(left) + " more\n";
  if (hidden_ != 0) {
    text += "not shown: " + std::to_string(hidden_) +
            (hidden_ == 1 ? " operation" : " operations") + " of " +
            (options_.streams ? "" : "streams and ") + "bookkeeping\n";
  }
  return text + notes;
}

void TimelineTable::place_columns() {
  std::size_t widest = 0;
  for (const Line& line : lines_) {
    if (line.is_mark) continue;
    widest = std::max(widest, std::to_string(line.number).size());
    for (const auto& [key, cell] : line.cells) widen(key, cell);
    if (!line.what.empty()) widen({.group = TimelineColumn::kWhat}, line.what);
  }
  number_width_ = std::max<std::size_t>(4, widest);
  std::size_t end = number_width_;
  for (auto& [key, column] : columns_) {
    column.begin = end + 2;
    end = column.begin + column.width;
  }
}

void TimelineTable::widen(const TimelineColumn& key, const std::string& cell) {
  Column& column = columns_[key];
  if (column.title.empty()) column.title = title_of(key);
  column.width = std::max(column.width, column.title.size());
  for (const std::string& line : lines_of(cell, options_.max_width)) {
    column.width = std::max(column.width, line.size());
  }
}

std::string TimelineTable::text_of(const Line& line) const {
  std::vector<std::string> texts(1);
  if (line.is_mark) {
    put(texts.front(), number_width_ + 2, line.rows.front().text);
    return texts.front() + "\n";
  }
  const std::string number = std::to_string(line.number);
  put(texts.front(), number_width_ - number.size(), number);
  const auto put_cell = [&](const TimelineColumn& key, const std::string& cell) {
    const auto lines = lines_of(cell, options_.max_width);
    if (texts.size() < lines.size()) texts.resize(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) put(texts[i], columns_.at(key).begin, lines[i]);
  };
  for (const auto& [key, cell] : line.cells) put_cell(key, cell);
  if (!line.what.empty()) put_cell({.group = TimelineColumn::kWhat}, line.what);
  std::string all;
  for (const std::string& each : texts) all += each + "\n";
  return all;
}

}  // namespace belfry::sim
