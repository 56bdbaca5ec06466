// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/trace_json.h"

#include "owner.h"
#include "stream_numbers.h"
#include "subject.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::sim {
namespace {

// A row of the picture: the format calls the group a process, and the row a thread.
struct Track {
  int group = 0;
  std::int32_t row = 0;

  auto operator<=>(const Track&) const = default;
};
constexpr int kProgram = 1;
constexpr int kStreams = 2;
// Perfetto takes a row with the number 0 or the number of its group for the main thread of the
// group, and shows the row first.
constexpr Track kRuns{kProgram, 2};
constexpr Track kMerges{kProgram, 3};
constexpr Track kHost{kProgram, 4};
constexpr std::int32_t kOtherRuns = 5;  // To 9: runs that overlap a run in every row before.
constexpr std::int32_t kFirstReplica = 10;
constexpr std::int32_t kFirstStream = 10;

// In quotes, with escapes; bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Track track_of(const AgentId& owner) {
  switch (owner.kind) {
    case AgentId::Kind::kReplica:
      return {kProgram, kFirstReplica + owner.index};
    case AgentId::Kind::kMerge:
      return kMerges;
    case AgentId::Kind::kStream:
      return {kStreams, kFirstStream + owner.index};
    case AgentId::Kind::kHost:
      break;
  }
  return kHost;
}

std::string title_of(const Track& track, int devices) {
  if (track == kRuns) return "runs";
  if (track == kMerges) return "merges";
  if (track == kHost) return "host";
  if (track.group == kProgram && track.row < kFirstReplica) {
    return fmt::format("runs, row {}", track.row - kOtherRuns + 2);
  }
  if (track.group == kProgram) return fmt::format("R{}", track.row - kFirstReplica);
  const std::int32_t number = track.row - kFirstStream;
  if (number >= devices * kStreamsOfDevice) return fmt::format("S{}", number);
  return fmt::format(
      "S{} {}", number,
      stream_name(fmt::format("device {}", number / kStreamsOfDevice), number % kStreamsOfDevice));
}

bool is_variable(OperationKind kind) {
  return kind == OperationKind::kVariableRead || kind == OperationKind::kVariableWrite;
}

bool is_execution(OperationKind kind) {
  return kind == OperationKind::kExecute || kind == OperationKind::kCollective;
}

// `fill`, `enqueue fill`, `variable_read weight`, `arrive 1`, `start`.
std::string title_of(const LogRecord& record, std::string_view name) {
  std::string title = to_string(record.kind);
  if (name.empty() && has_subject(record.kind)) return title + " " + std::to_string(record.subject);
  if (name.empty()) return title;
  if (is_execution(record.kind) || record.kind == OperationKind::kMerge) return std::string(name);
  return title + " " + std::string(name);
}

// A colour of chrome://tracing, if work failed. Perfetto draws the colour of a slice from the name.
std::string colour_of(bool failed, const char* name) {
  return failed ? fmt::format(",\"cname\":\"{}\"", name) : "";
}

const char* kind_of_name(OperationKind kind) {
  if (is_variable(kind)) return "variable";
  if (kind == OperationKind::kMerge) return "verb";
  return kind == OperationKind::kThrow ? "exception" : "kernel";
}

class Trace {
 public:
  explicit Trace(const Log& log) : log_(log) {
    for (std::uint64_t i = 0; i < log.records().size(); ++i) {
      const LogRecord& record = log.records()[i];
      if (is_execution(record.kind)) executions_.emplace(work_of(record), i);
    }
  }

  std::string text() {
    const std::uint64_t end = log_.records().size();
    add_runs(end);
    for (std::uint64_t i = 0; i < end; ++i) add(i);
    while (!open_.empty()) close(open_.begin()->first, end);
    std::erase(events_, "");
    for (const Track& track : tracks_) add_titles(track);
    std::string text =
        "{\"displayTimeUnit\":\"ns\",\"otherData\":" + other_data() + ",\"traceEvents\":[\n";
    const char* between = "";
    for (const std::string& event : events_) {
      text += between;
      text += event;
      between = ",\n";
    }
    return text + "\n]}\n";
  }

 private:
  struct Span {
    std::string name;
    std::uint64_t begin = 0;
    std::size_t place = 0;  // Of the slice, in the events.
    bool is_wait = false;
  };
  // A stream, and the number of its work.
  using Work = std::pair<std::uint64_t, std::uint64_t>;

  static Work work_of(const LogRecord& execution) {
    return {static_cast<std::uint64_t>(execution.agent_index), execution.subject};
  }

  // A run without an end goes on to `end`.
  void add_runs(std::uint64_t end) {
    std::map<std::uint64_t, const RunMark*> ends;
    for (const RunMark& mark : log_.annotations().runs()) {
      if (!mark.begins) ends.emplace(mark.run, &mark);
    }
    for (const RunMark& mark : log_.annotations().runs()) {
      if (!mark.begins) continue;
      const auto known = ends.find(mark.run);
      const RunMark last = known == ends.end() ? RunMark{.record = end} : *known->second;
      add_run(row_of_run(mark.record, last.record), mark, last);
    }
  }

  // The first row in which the run lies inside another run, or apart from all runs: Perfetto drops
  // a slice that overlaps the end of another. The last row takes all further runs.
  Track row_of_run(std::uint64_t begin, std::uint64_t end) {
    Track row = kRuns;
    while (row.row != kFirstReplica - 1) {
      std::vector<std::uint64_t>& outer = ends_of_runs_[row];
      while (!outer.empty() && outer.back() <= begin) outer.pop_back();
      if (outer.empty() || end <= outer.back()) {
        outer.push_back(end);
        break;
      }
      row.row = row == kRuns ? kOtherRuns : row.row + 1;
    }
    return row;
  }

  void add_run(const Track& row, const RunMark& begin, const RunMark& end) {
    std::string title = fmt::format("run {}", begin.run);
    if (end.failed) title += fmt::format(" fails: {}", log_.annotations().name(end.name));
    write("X", row, begin.record,
          fmt::format(
              "\"dur\":{},\"cat\":\"span\",\"name\":{}{},\"args\":{{\"replicas\":{},\"at\":{}}}",
              end.record - begin.record, json_string(title), colour_of(end.failed, "bad"),
              begin.replicas, json_string(to_string(begin.site))));
  }

  void add(std::uint64_t index) {
    const LogRecord& record = log_.records()[index];
    const Annotation* const known = log_.annotations().find(index);
    const Track track = track_of(owner_of(record, known));
    switch (record.kind) {
      case OperationKind::kStart:
        open(track, "body", index);
        add_slice(index, track, known);
        return;
      case OperationKind::kResume:
        close_wait(track, index);
        add_slice(index, track, known);
        return;
      case OperationKind::kArrive:
        add_slice(index, track, known);
        open(track, fmt::format("waits for merge {}", record.subject), index + 1, true);
        return;
      case OperationKind::kEnd:
      case OperationKind::kThrow:
        close_wait(track, index);
        add_slice(index, track, known);
        close(track, index + 1);
        return;
      default:
        add_slice(index, track, known);
        add_arrows(index, track, known);
    }
  }

  void add_slice(std::uint64_t index, const Track& track, const Annotation* known) {
    const LogRecord& record = log_.records()[index];
    std::string_view name;
    std::string about = fmt::format("\"step\":{},\"subject\":{}", index, record.subject);
    if (known != nullptr) {
      name = log_.annotations().name(known->name);
      if (!name.empty())
        about += fmt::format(",\"{}\":{}", kind_of_name(record.kind), json_string(name));
      if (known->reads != 0) about += fmt::format(",\"bytes_read\":{}", known->reads);
      if (known->writes != 0) about += fmt::format(",\"bytes_written\":{}", known->writes);
      if (!known->site.empty()) about += ",\"at\":" + json_string(to_string(known->site));
      if (known->failed) about += ",\"failed\":true";
    }
    if (record.kind == OperationKind::kAllocate) {
      about += fmt::format(",\"bytes\":{}", record.value);
    } else if (is_execution(record.kind) || record.kind == OperationKind::kHostRead) {
      about += fmt::format(",\"digest\":\"{:#018x}\"", record.value);
    }
    const bool failed = known != nullptr && known->failed;
    const std::string title = (failed ? "FAILED " : "") + title_of(record, name);
    write("X", track, index,
          fmt::format(
              "\"dur\":1,\"cat\":\"operation\",\"name\":{}{},\"args\":{{{}}}", json_string(title),
              colour_of(failed || record.kind == OperationKind::kThrow, "terrible"), about));
  }

  // An arrow has the number of the record at its begin: even for work, odd for collectives.
  void add_arrows(std::uint64_t index, const Track& track, const Annotation* known) {
    const LogRecord& record = log_.records()[index];
    if (record.kind == OperationKind::kEnqueue) {
      const auto executed = executions_.find({record.value, record.subject});
      if (executed == executions_.end() || executed->second < index) return;
      arrow("s", "enqueued", 2 * index, track, index);
      enqueued_.emplace(executed->second, index);
    }
    if (!is_execution(record.kind)) return;
    const auto from = enqueued_.find(index);
    if (from != enqueued_.end()) arrow("f", "enqueued", 2 * from->second, track, index);
    if (known == nullptr || known->members < 2) return;
    add_member(index, track, known->members);
  }

  // A collective announces its members one after another.
  void add_member(std::uint64_t index, const Track& track, std::uint16_t members) {
    if (member_ == 0) collective_ = index;
    ++member_;
    const bool last = member_ == members;
    arrow(member_ == 1 ? "s" : (last ? "f" : "t"), "members", 2 * collective_ + 1, track, index);
    if (last) member_ = 0;
  }

  void arrow(const char* phase, const char* name, std::uint64_t id, const Track& track,
             std::uint64_t time) {
    write(phase, track, time,
          fmt::format("\"cat\":\"arrow\",\"name\":\"{}\",\"id\":{}{}", name, id,
                      *phase == 's' ? "" : ",\"bp\":\"e\""));
  }

  // A span is a slice, and no pair of a begin and an end: if a pair and a slice begin at one time,
  // Perfetto puts the pair into the slice, and reports an end without a begin. The place of the
  // slice is kept until the end is known: viewers take the first of two equal slices for the outer.
  void open(const Track& track, std::string name, std::uint64_t time, bool is_wait = false) {
    open_[track].push_back({std::move(name), time, events_.size(), is_wait});
    events_.emplace_back();
    tracks_.insert(track);
  }

  void close(const Track& track, std::uint64_t time) {
    const auto spans = open_.find(track);
    if (spans == open_.end()) return;
    const Span& span = spans->second.back();
    // A wait that a failure ends at once has no length, and its place stays empty.
    if (!span.is_wait || span.begin != time) {
      events_[span.place] =
          event("X", track, span.begin,
                fmt::format("\"dur\":{},\"cat\":\"span\",\"name\":{},\"args\":{{}}",
                            time - span.begin, json_string(span.name)));
    }
    spans->second.pop_back();
    // The row may be the key of the entry: last of all.
    if (spans->second.empty()) open_.erase(spans);
  }

  // Ends the wait of the row, if its innermost span is a wait.
  void close_wait(const Track& track, std::uint64_t time) {
    const auto spans = open_.find(track);
    if (spans != open_.end() && spans->second.back().is_wait) close(track, time);
  }

  void add_titles(const Track& track) {
    const std::string place = fmt::format("\"pid\":{},\"tid\":{}", track.group, track.row);
    events_.push_back(fmt::format(R"({{"ph":"M",{},"name":"thread_name","args":{{"name":{}}}}})",
                                  place, json_string(title_of(track, log_.devices()))));
    events_.push_back(
        fmt::format(R"({{"ph":"M",{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
                    place, track.row));
    if (!titled_groups_.insert(track.group).second) return;
    events_.push_back(fmt::format(R"({{"ph":"M",{},"name":"process_name","args":{{"name":"{}"}}}})",
                                  place, track.group == kProgram ? "program" : "streams"));
  }

  std::string other_data() const {
    return fmt::format("{{\"operations\":{},\"dropped\":{},\"hash\":\"{:#018x}\"}}",
                       log_.records().size(), log_.dropped(), log_.hash());
  }

  void write(const char* phase, const Track& track, std::uint64_t time, const std::string& rest) {
    tracks_.insert(track);
    events_.push_back(event(phase, track, time, rest));
  }

  static std::string event(const char* phase, const Track& track, std::uint64_t time,
                           const std::string& rest) {
    return fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{},{}}})", phase, track.group,
                       track.row, time, rest);
  }

  const Log& log_;
  std::vector<std::string> events_;
  std::set<Track> tracks_;
  std::set<int> titled_groups_;
  std::map<Track, std::vector<Span>> open_;  // The open spans of a row, outer spans first.
  std::map<Track, std::vector<std::uint64_t>> ends_of_runs_;  // Of a row, outer runs first.
  std::map<Work, std::uint64_t> executions_;         // The record of each work's execution.
  std::map<std::uint64_t, std::uint64_t> enqueued_;  // The record of its enqueueing.
  std::uint64_t collective_ = 0;                     // The record of its first member,
  int member_ = 0;                                   // and how many members have been written.
};

}  // namespace

std::string trace_json(const Log& log) { return Trace(log).text(); }

}  // namespace belfry::sim
