// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/timeline.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace belfry::sim {

/// A column of a timeline. The order is the printed order: a group, then the host of a cluster or
/// -1, then a place in the group.
struct TimelineColumn {
  enum Group : int { kReplica, kOthers, kMerge, kStream, kHost, kWhat };
  Group group = kHost;
  int host = -1;
  std::int32_t place = 0;

  auto operator<=>(const TimelineColumn&) const = default;
};

/// An operation, or the begin or end of a run, in a timeline.
struct TimelineRow {
  std::uint64_t number = 0;
  bool is_mark = false;  ///< Of a run: `text` has the whole width.
  TimelineColumn column{};
  std::size_t steps = 1;  ///< The number of steps in the row.
  std::string before{};   ///< `compute of replica`, in front of `agent`.
  std::string agent{};    ///< In front of `text`; empty for an agent with a column of its own.
  std::string text{};
  std::string values{};  ///< Behind the text.
  std::string what{};    ///< The last column.
};

/// Prints rows as a table. Neighbouring steps of an agent share a row, and so do neighbouring equal
/// steps of several agents; with bookkeeping each step has a row.
class TimelineTable {
 public:
  explicit TimelineTable(const TimelineOptions& options) : options_(options) {}

  void add(TimelineRow row);
  /// An operation that is not shown.
  void hide() { ++hidden_; }
  /// `left`: the number of operations that were not added; `notes`: lines for the end.
  std::string text(std::uint64_t left, const std::string& notes);

 private:
  struct Column {
    std::string title;
    std::size_t width = 0;
    std::size_t begin = 0;
  };
  struct Line {
    std::uint64_t number = 0;
    bool is_mark = false;
    std::map<TimelineColumn, std::string> cells{};
    std::vector<TimelineRow> rows{};
    std::string what{};
  };

  void fold_neighbours();
  static bool join(TimelineRow& last, const TimelineRow& next);
  static bool is_alike(const Line& line, const TimelineRow& next);
  static void write_cells(Line& line);
  std::string text_of(const Line& line) const;
  void place_columns();
  void widen(const TimelineColumn& key, const std::string& cell);

  TimelineOptions options_;
  std::vector<TimelineRow> rows_;
  std::vector<Line> lines_;
  std::map<TimelineColumn, Column> columns_;
  std::size_t number_width_ = 4;
  std::uint64_t hidden_ = 0;
};

}  // namespace belfry::sim
