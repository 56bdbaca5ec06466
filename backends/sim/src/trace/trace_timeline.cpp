// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The timeline of a trace.
#include "belfry/detail/file_source.h"
#include "belfry/detail/json.h"
#include "belfry/detail/json_value.h"
#include "belfry/error.h"
#include "belfry/sim/timeline.h"
#include "belfry/trace.h"
#include "log/timeline_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::sim {
namespace {

using belfry::detail::JsonValue;

// `train.cpp:12`, without the folders.
std::string short_line(const std::string& line) {
  return line.substr(line.find_last_of("/\\") + 1);
}

// `[1, 2]`, `0.5`, `[1, 2, 3, 4, 5, 6, 7, 8, ...]`; without elements the type, `float32[2]`.
std::string value_text(const JsonValue& value, std::size_t most) {
  std::string text;
  if (value.has("text")) {
    text = value.text_of("text");
  } else if (value.has("first")) {
    const std::vector<JsonValue>& first = value.at("first").parts;
    const std::size_t shown = std::min(first.size(), most);
    for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + first[i].text;
    if (value.number_of("count") > shown) text += shown == 0 ? "..." : ", ...";
    if (!value.at("shape").parts.empty()) text = "[" + text + "]";
  } else {
    text = value.text_of("type");
    const std::vector<JsonValue>& shape = value.at("shape").parts;
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "[" : ",") + shape[i].text;
    if (!shape.empty()) text += "]";
  }
  const std::string& leaf = value.text_of("leaf");
  return leaf.empty() ? text : leaf + " " + text;
}

// ` of {0, 2}`; empty for merges of all replicas.
std::string group_text(const JsonValue& step) {
  if (!step.has("group")) return "";
  std::string text;
  for (const JsonValue& id : step.at("group").parts) text += (text.empty() ? "" : ", ") + id.text;
  return " of {" + text + "}";
}

std::string values_text(const std::string& before, const JsonValue& values, std::size_t most) {
  constexpr std::size_t kMostLetters = 16;
  std::string text;
  for (const JsonValue& value : values.parts) {
    if (text.size() > kMostLetters) return text + ", ...";
    text += (text.empty() ? before : ", ") + value_text(value, most);
  }
  return text;
}

// The steps of a trace, with the elements that later lines give.
class TraceSteps {
 public:
  explicit TraceSteps(const std::string& path) {
    std::ifstream in = belfry::detail::open_file(path, {});
    std::uint64_t number = 0;
    for (std::string text; std::getline(in, text);) {
      ++number;
      if (in.eof()) break;  // A line that was being written.
      try {
        add(belfry::detail::parse_json(text));
      } catch (const belfry::detail::JsonError& error) {
        throw InvalidArgumentError(
            ErrorCode::kFileFormat,
            fmt::format("line {} of {} is no line of a trace: {}", number, path, error.what()));
      }
    }
  }

  const std::vector<JsonValue>& steps() const { return steps_; }
  const JsonValue& agent(const std::string& id) const {
    static const JsonValue unknown;
    const auto found = agents_.find(id);
    return found == agents_.end() ? unknown : found->second;
  }
  /// Whether a step executes the item of the stream.
  bool executes(const std::string& stream, std::uint64_t item) const {
    return executed_.contains({stream, item});
  }
  bool has_hosts() const { return hosts_ > 1; }
  std::uint64_t cut() const { return cut_; }

 private:
  void add(JsonValue line) {
    if (line.has("step")) {
      const std::string& kind = line.text_of("kind");
      if (kind == "execute" || kind == "collective") {
        executed_.emplace(line.text_of("agent"), line.number_of("item"));
      }
      steps_.push_back(std::move(line));
    } else if (line.has("agent")) {
      std::string id = line.text_of("agent");
      agents_[std::move(id)] = std::move(line);
    } else if (line.has("value_of")) {
      give_elements(line);
    } else if (line.has("belfry_trace")) {
      hosts_ = line.number_of("hosts");
    } else if (line.has("end")) {
      cut_ = line.number_of("cut");
    }
  }

  void give_elements(const JsonValue& line) {
    const std::uint64_t step = line.number_of("value_of");
    if (step >= steps_.size()) return;
    const std::string& list = line.text_of("list");
    for (JsonValue& values : steps_[step].parts) {
      const std::uint64_t index = line.number_of("index");
      if (values.name != list || index >= values.parts.size()) continue;
      values.parts[index].parts.push_back(line.at("first"));  // With its name.
    }
  }

  std::vector<JsonValue> steps_;
  std::map<std::string, JsonValue, std::less<>> agents_;
  std::set<std::pair<std::string, std::uint64_t>> executed_;
  std::uint64_t hosts_ = 1;
  std::uint64_t cut_ = 0;
};

class TraceRows {
 public:
  TraceRows(const TraceSteps& trace, const TimelineOptions& options)
      : trace_(trace), options_(options), table_(options) {
    for (const JsonValue& step : trace.steps()) {
      count_merge(step);
      TimelineRow row = row_of(step);
      const bool is_of_streams = row.column.group == TimelineColumn::kStream ||
                                 (!options.bookkeeping && step.text_of("kind") == "enqueue");
      const bool is_left_out = !options.streams && is_of_streams;
      if (is_left_out || (!options.bookkeeping && is_hidden(step))) {
        table_.hide();
      } else {
        table_.add(std::move(row));
      }
    }
  }

  std::string text() { return table_.text(trace_.cut(), text_of_unnamed_merges()); }

 private:
  using MergeLine = std::pair<std::string, std::string>;  // The agent with the run, and the line.

  bool is_hidden(const JsonValue& step) const {
    const std::string& kind = step.text_of("kind");
    if (kind == "enqueue") {
      return trace_.executes(step.text_of("stream"), step.number_of("item"));
    }
    return step.has("bookkeeping") || (kind == "host_wait" && !step.has("failed"));
  }

  TimelineRow row_of(const JsonValue& step) const {
    TimelineRow row;
    row.number = step.number_of("step");
    const std::string& kind = step.text_of("kind");
    row.text = kind;
    row.what = short_line(step.text_of("line"));
    if (kind == "run_begin" || kind == "run_end") return mark_of(step, std::move(row));
    place(trace_.agent(step.text_of("agent")), row);
    describe(step, row);
    if (step.has("failed")) row.what = row.what.empty() ? "FAILED" : row.what + ", FAILED";
    return row;
  }

  TimelineRow mark_of(const JsonValue& step, TimelineRow row) const {
    row.is_mark = true;
    std::string run = "run " + step.text_of("run");
    const JsonValue& agent = trace_.agent(step.text_of("agent"));
    if (trace_.has_hosts()) run.insert(0, "H" + agent.text_of("host") + " ");
    if (step.text_of("kind") == "run_begin") {
      const std::string& replicas = step.text_of("replicas");
      row.text = run + " begins on " + replicas + (replicas == "1" ? " replica" : " replicas");
      if (!row.what.empty()) row.text += ", " + row.what;
      row.what = "begins";
      return row;
    }
    row.text = run + (step.has("failed") ? " fails: " : " ends");
    if (!step.has("failed")) return row;
    const JsonValue& failed = step.at("failed");
    if (failed.has("code")) row.text += failed.text_of("code") + " ";
    row.text += failed.text_of("text");
    return row;
  }

  // Sets the column and the agent.
  void place(const JsonValue& agent, TimelineRow& row) const {
    const std::string& kind = agent.text_of("kind");
    const std::string index = agent.text_of("index");
    const std::string host = trace_.has_hosts() ? "H" + agent.text_of("host") : "";
    const int host_number = trace_.has_hosts() ? static_cast<int>(agent.number_of("host")) : -1;
    const auto number = static_cast<std::int32_t>(agent.number_of("index"));
    if (kind == "replica" && number < options_.max_replicas) {
      row.column = {TimelineColumn::kReplica, host_number, number};
    } else if (kind == "replica") {
      row.column = {.group = TimelineColumn::kOthers};
      row.agent = host + (host.empty() ? "" : " ") + "R" + index;
    } else if (kind == "merge") {
      row.column = {.group = TimelineColumn::kMerge};
      row.agent = host;
      if (number > 0) row.agent += (host.empty() ? "M" : " M") + index;
    } else if (kind == "stream") {
      row.column = {.group = TimelineColumn::kStream};
      name_stream(agent, host, row);
    } else {
      row.column = {.group = TimelineColumn::kHost};
      row.agent = host;
    }
  }

  // `compute of replica` in front of the number, which neighbours share a row without.
  static void name_stream(const JsonValue& agent, const std::string& host, TimelineRow& row) {
    const std::string& name = agent.text_of("name");
    const bool has_replica = agent.has("replica");
    const std::string unit = has_replica ? " of replica" : " of device";
    const std::size_t end = name.find(unit);
    if (end == std::string::npos) {
      row.agent = name + ":";
      return;
    }
    row.before = (host.empty() ? "" : host + " ") + name.substr(0, end) + unit;
    row.agent = agent.text_of(has_replica ? "replica" : "device");
  }

  void describe(const JsonValue& step, TimelineRow& row) const {
    const std::string& kind = step.text_of("kind");
    const std::string& name = step.text_of("name");
    const std::string& round = step.text_of("round");
    if (kind == "arrive") {
      row.text += " " + round + group_text(step);
      row.values = values_text(" brings ", step.at("brings"), options_.max_elements);
    } else if (kind == "resume") {
      if (!round.empty()) row.text += " " + round + group_text(step);
      row.values = values_text(" gets ", step.at("gets"), options_.max_elements);
    } else if (kind == "merge" || kind == "call") {
      row.text += " " + round + group_text(step);
      row.what = row.what.empty() ? name : name + ", " + row.what;
    } else if (kind.starts_with("variable_")) {
      const bool reads = kind == "variable_read";
      row.text = (reads ? "reads " : kind == "variable_made" ? "makes " : "writes ") + name;
      row.values = values_text(" ", step.at("writes"), options_.max_elements);
    } else if (kind == "execute" || kind == "collective") {
      row.text = name;
      row.values = values_text(" = ", step.at("writes"), options_.max_elements);
    } else if (kind == "enqueue") {
      row.text += " " + name;
    } else if (kind == "wait" && step.has("for")) {
      row.column = {.group = TimelineColumn::kStream};
      row.agent.clear();
      row.text = trace_.agent(step.text_of("stream")).text_of("name") + " waits for " +
                 trace_.agent(step.text_of("for")).text_of("name");
    } else if (kind == "throw") {
      row.what = step.text_of("error");
    } else if (kind == "host_read") {
      row.text = "reads";
      row.values = values_text(" ", step.at("reads"), options_.max_elements);
    }
  }

  // A merge whose name has no tag, `all_reduce "weight"`. A line of several groups has a merge of
  // each.
  void count_merge(const JsonValue& step) {
    if (step.text_of("kind") != "merge" || step.text_of("name").ends_with('"') ||
        step.has("group")) {
      return;
    }
    const std::string line = short_line(step.text_of("line"));
    if (line.empty()) return;
    const int count = ++merges_[{step.text_of("agent") + step.text_of("run"), line}];
    int& most = most_merges_[line];
    if (most == 0) lines_.push_back(line);
    most = std::max(most, count);
  }

  std::string text_of_unnamed_merges() const {
    std::string text;
    for (const std::string& line : lines_) {
      const int count = most_merges_.at(line);
      if (count < 2) continue;
      text +=
          fmt::format("{} merges at {} have no names: their order is not compared\n", count, line);
    }
    return text;
  }

  const TraceSteps& trace_;
  const TimelineOptions& options_;
  TimelineTable table_;
  std::map<MergeLine, int> merges_;
  std::map<std::string, int> most_merges_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string timeline(const TraceFile& trace, const TimelineOptions& options) {
  const TraceSteps steps(trace.path());
  return TraceRows(steps, options).text();
}

}  // namespace belfry::sim
