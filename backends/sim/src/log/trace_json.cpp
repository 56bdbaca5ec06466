// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/trace_json.h"

#include "belfry/detail/json.h"
#include "log/log_sequence.h"
#include "log/subject.h"
#include "log/trace_track.h"
#include "owner.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::sim {
namespace {

using belfry::detail::json_string;

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
  explicit Trace(const LogSequence& sequence) : sequence_(sequence) {
    for (std::uint64_t i = 0; i < sequence.size(); ++i) {
      const LogSequence::Step& step = sequence.step(i);
      const LogRecord& record = sequence.record_of(step);
      if (is_execution(record.kind)) executions_.emplace(work_of(step, record), i);
      if (is_call(step, record)) ++calls_[record.subject].members;
    }
  }

  std::string text(std::uint64_t hash) {
    const std::uint64_t end = sequence_.size();
    add_runs(end);
    for (std::uint64_t i = 0; i < end; ++i) add(i);
    while (!open_.empty()) close(open_.begin()->first, end);
    std::erase(events_, "");
    for (const Track& track : tracks_) add_titles(track);
    std::string text = fmt::format(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"operations\":{},\"dropped\":{},\"hash\":"
        "\"{:#018x}\"}},\"traceEvents\":[\n",
        end, sequence_.total() - end, hash);
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
  // A part of the sequence, a stream of the part, and the number of its work.
  using Work = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;
  // The arrivals of hosts at a call of their group.
  struct Call {
    int members = 0;
    int arrived = 0;
    std::uint64_t first = 0;
  };

  static Work work_of(const LogSequence::Step& step, const LogRecord& execution) {
    return {step.part, static_cast<std::uint64_t>(execution.agent_index), execution.subject};
  }
  bool is_call(const LogSequence::Step& step, const LogRecord& record) const {
    return sequence_.part_of(step).is_group && record.kind == OperationKind::kArrive;
  }
  std::string_view name_of(const LogSequence::Step& step, std::uint32_t name) const {
    return sequence_.part_of(step).log->annotations().name(name);
  }

  // A run without an end goes on to `end`.
  void add_runs(std::uint64_t end) {
    using Mark = LogSequence::Mark;
    std::map<std::pair<std::uint32_t, std::uint64_t>, const Mark*> ends;
    for (const Mark& mark : sequence_.marks()) {
      if (!mark.run->begins) ends.emplace(std::pair{mark.part, mark.run->run}, &mark);
    }
    const RunMark unknown{};
    for (const Mark& mark : sequence_.marks()) {
      if (!mark.run->begins) continue;
      const auto known = ends.find({mark.part, mark.run->run});
      const Mark last = known == ends.end() ? Mark{end, mark.part, &unknown} : *known->second;
      const Track first_row = track_of_runs(sequence_.parts()[mark.part]);
      add_run(row_of_run(first_row, mark.place, last.place), mark, last);
    }
  }

  // The first row in which the run lies inside another run, or apart from all runs: Perfetto drops
  // a slice that overlaps the end of another. The last row takes all further runs.
  Track row_of_run(Track row, std::uint64_t begin, std::uint64_t end) {
    while (row.row != kFirstReplicaRow - 1) {
      std::vector<std::uint64_t>& outer = ends_of_runs_[row];
      while (!outer.empty() && outer.back() <= begin) outer.pop_back();
      if (outer.empty() || end <= outer.back()) {
        outer.push_back(end);
        break;
      }
      row.row = row.row == kRunsRow ? kOtherRunsRow : row.row + 1;
    }
    return row;
  }

  void add_run(const Track& row, const LogSequence::Mark& begin, const LogSequence::Mark& end) {
    const RunMark& run = *begin.run;
    const bool failed = end.run->failed;
    const Annotations& annotations = sequence_.parts()[begin.part].log->annotations();
    std::string title = fmt::format("run {}", run.run);
    if (failed) title += fmt::format(" fails: {}", annotations.name(end.run->name));
    write("X", row, begin.place,
          fmt::format(
              "\"dur\":{},\"cat\":\"span\",\"name\":{}{},\"args\":{{\"replicas\":{},\"at\":{}}}",
              end.place - begin.place, json_string(title), colour_of(failed, "bad"), run.replicas,
              json_string(to_string(run.site))));
  }

  void add(std::uint64_t index) {
    const LogSequence::Step& step = sequence_.step(index);
    const LogSequence::Part& part = sequence_.part_of(step);
    const LogRecord& record = sequence_.record_of(step);
    const Annotation* const known = part.log->annotations().find(step.record);
    const Track track = track_of(part, owner_of(record, known));
    if (part.host >= 0) devices_[track.group] = part.log->devices();
    switch (record.kind) {
      case OperationKind::kStart:
        open(track, part.is_group ? "program" : "body", index);
        add_slice(index, track, known);
        return;
      case OperationKind::kResume:
        close_wait(track, index);
        add_slice(index, track, known);
        return;
      case OperationKind::kArrive:
        add_slice(index, track, known);
        if (is_call(step, record)) add_to_call(index, track, calls_[record.subject]);
        open(track,
             fmt::format("waits for {} {}", part.is_group ? "call" : "merge", record.subject),
             index + 1, true);
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
    const LogSequence::Step& step = sequence_.step(index);
    const LogRecord& record = sequence_.record_of(step);
    std::string_view name;
    std::string about = fmt::format("\"step\":{},\"subject\":{}", index, record.subject);
    if (known != nullptr) {
      name = name_of(step, known->name);
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
    const LogSequence::Step& step = sequence_.step(index);
    const LogRecord& record = sequence_.record_of(step);
    if (record.kind == OperationKind::kEnqueue) {
      const auto executed = executions_.find({step.part, record.value, record.subject});
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

  // An arrow leads through the arrivals at a call, from the first host to the last.
  void add_to_call(std::uint64_t index, const Track& track, Call& call) {
    if (call.members < 2) return;
    if (call.arrived == 0) call.first = index;
    ++call.arrived;
    const char* const phase = call.arrived == call.members ? "f" : (call.arrived == 1 ? "s" : "t");
    arrow(phase, "call", 2 * call.first, track, index);
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
                                  place, json_string(title_of(track, devices_of(track.group)))));
    events_.push_back(
        fmt::format(R"({{"ph":"M",{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
                    place, track.row));
    if (!titled_groups_.insert(track.group).second) return;
    events_.push_back(fmt::format(R"({{"ph":"M",{},"name":"process_name","args":{{"name":"{}"}}}})",
                                  place, group_title_of(track)));
  }

  int devices_of(int group) const {
    const auto known = devices_.find(group);
    return known == devices_.end() ? sequence_.parts().front().log->devices() : known->second;
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

  const LogSequence& sequence_;
  std::vector<std::string> events_;
  std::set<Track> tracks_;
  std::set<int> titled_groups_;
  std::map<Track, std::vector<Span>> open_;  // The open spans of a row, outer spans first.
  std::map<Track, std::vector<std::uint64_t>> ends_of_runs_;  // Of a row, outer runs first.
  std::map<int, int> devices_;                                // Of the groups of a host.
  std::map<std::uint64_t, Call> calls_;                       // By number.
  std::map<Work, std::uint64_t> executions_;         // The record of each work's execution.
  std::map<std::uint64_t, std::uint64_t> enqueued_;  // The record of its enqueueing.
  std::uint64_t collective_ = 0;                     // The record of its first member,
  int member_ = 0;                                   // and how many members have been written.
};

}  // namespace

std::string trace_json(const Log& log) {
  const LogSequence sequence(log);
  return Trace(sequence).text(log.hash());
}

std::string trace_json(const ClusterLog& log) {
  const LogSequence sequence(log);
  return Trace(sequence).text(log.hash());
}

}  // namespace belfry::sim
