// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/perfetto.h"

#include "belfry/detail/json.h"
#include "belfry/error.h"
#include "trace/json_object.h"
#include "trace/step_words.h"
#include "trace/trace_job.h"
#include "trace/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <tuple>
#include <utility>

namespace belfry::tool {
namespace {

using Index = std::int64_t;

// Perfetto takes a row with the number of the group for a main thread.
constexpr Index kFirstGroup = 1'000'000'000;
constexpr Index kArrow = -1;  // The length of an arrow: its ends come after all slices of a time.

struct Event {
  Index time;
  Index length;
  bool is_span;
  std::string text;
};

// A slice around several steps.
struct Span {
  std::string name;
  Index begin;
  bool is_wait;
};

class Writer {
 public:
  explicit Writer(const TraceJob& job) : job_(job), end_(std::ssize(job.order)) {
    for (const Trace& trace : job.processes) positions_.emplace_back(trace.steps.size());
    for (Index i = 0; i < end_; ++i) {
      const JobStep& at = job.order[static_cast<std::size_t>(i)];
      positions_[at.process][at.index] = i;
      add(at, i);
    }
    while (!open_.empty()) close(open_.begin()->first, end_);
    for (const auto& [run, begin] : runs_) add_run(run.first, begin, end_, nullptr);
  }

  void write(std::ostream& out) {
    // Of two slices at a time the outer comes first.
    std::vector<std::size_t> order(events_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, [this](std::size_t one, std::size_t other) {
      const auto key = [this](std::size_t i) {
        return std::tuple(events_[i].time, -events_[i].length, !events_[i].is_span, i);
      };
      return key(one) < key(other);
    });
    Index cut = 0;
    for (const Trace& trace : job_.processes) cut += trace.cut;
    out << fmt::format(
        R"({{"displayTimeUnit":"ns","otherData":{{"operations":{},"dropped":{}}},"traceEvents":[)",
        end_, cut);
    const char* gap = "\n";
    for (const std::size_t i : order) out << std::exchange(gap, ",\n") << events_[i].text;
    for (const std::string& title : titles_) out << std::exchange(gap, ",\n") << title;
    out << "\n]}\n";
  }

 private:
  using Row = std::pair<Index, Index>;  // The group and the number.

  void add(const JobStep& at, Index time) {
    const Trace& trace = job_.trace_of(at);
    const TraceStep& step = job_.step(at);
    const Row row = row_of(at.process, step.agent);
    if (step.kind == StepKind::kResume || step.kind == StepKind::kEnd ||
        step.kind == StepKind::kThrow) {
      close_wait(row, time);
    }
    if (step.kind == StepKind::kStart) open_[row].push_back({"body", time, false});
    add_slice(at, row, time);
    add_arrows(at, row, time);
    if (step.kind == StepKind::kEnd || step.kind == StepKind::kThrow) close(row, time + 1);
    if (step.kind == StepKind::kArrive || step.kind == StepKind::kCall) {
      const char* const what = step.kind == StepKind::kCall ? "call" : "merge";
      open_[row].push_back(
          {fmt::format("waits for {} {}{}", what, step.round, of_group(step)), time + 1, true});
    }
    const std::pair<std::size_t, Index> run{at.process, step.run};
    if (step.kind == StepKind::kRunBegin) runs_[run] = {time, step_words(trace, step)};
    if (step.kind == StepKind::kRunEnd && runs_.contains(run)) {
      add_run(at.process, runs_[run], time + 1, &step);
      runs_.erase(run);
    }
  }

  static std::string of_group(const TraceStep& step) {
    return step.group.empty() ? "" : " of group " + step.group;
  }

  // Work has a name, and all else a verb.
  static std::string title_of(const Trace& trace, const TraceStep& step) {
    std::string title = step.variable >= 0 ? trace.variable_of(step) : step.name;
    if (!is_work(step) || title.empty())
      title = step.kind_name + (title.empty() ? "" : " ") + title;
    if (step.round >= 0) title += fmt::format(" {}{}", step.round, of_group(step));
    return (step.failed ? "FAILED " : "") + title;
  }

  void add_slice(const JobStep& at, const Row& row, Index time) {
    const Trace& trace = job_.trace_of(at);
    const TraceStep& step = job_.step(at);
    JsonObject about;
    about.number("step", time)
        .text("number", job_.number_of(at))
        .text("text", step_words(trace, step));
    if (!step.line.empty()) about.text("at", step.line);
    const bool failed = step.failed || step.kind == StepKind::kThrow;
    add_event(row, time, 1, false,
              fmt::format(R"("ph":"X","dur":1,"cat":"operation","name":{},{}"args":{})",
                          detail::json_string(title_of(trace, step)),
                          failed ? R"("cname":"terrible",)" : "", about.str()));
  }

  void add_arrows(const JobStep& at, const Row& row, Index time) {
    const Trace& trace = job_.trace_of(at);
    for (const std::int64_t number : job_.step(at).after) {
      const TraceStep* const before = trace.find(number);
      if (before == nullptr) continue;
      const char* const name = before->kind == StepKind::kEnqueue ? "enqueued" : "waited";
      const auto index = static_cast<std::size_t>(before - trace.steps.data());
      const auto arrow = fmt::format(R"("cat":"arrow","name":"{}","id":{})", name, ++arrows_);
      add_event(row_of(at.process, before->agent), positions_[at.process][index], kArrow, false,
                R"("ph":"s",)" + arrow);
      add_event(row, time, kArrow, false, R"("ph":"f","bp":"e",)" + arrow);
    }
  }

  void add_span(const Row& row, const Span& span, Index end) {
    if (end == span.begin) return;  // A wait that a failure ends at once.
    add_event(row, span.begin, end - span.begin, true,
              fmt::format(R"("ph":"X","dur":{},"cat":"span","name":{},"args":{{}})",
                          end - span.begin, detail::json_string(span.name)));
  }

  void close(const Row& row, Index end) {
    const auto spans = open_.find(row);
    if (spans == open_.end()) return;
    add_span(row, spans->second.back(), end);
    spans->second.pop_back();
    if (spans->second.empty()) open_.erase(spans);
  }

  void close_wait(const Row& row, Index end) {
    const auto spans = open_.find(row);
    if (spans != open_.end() && spans->second.back().is_wait) close(row, end);
  }

  // Slices of a row may not overlap: runs of several threads have a row each.
  void add_run(std::size_t process, const std::pair<Index, std::string>& begin, Index end,
               const TraceStep* last) {
    std::string name = begin.second;
    if (last != nullptr && last->failed) name = "FAILED " + name;
    Index number = 0;
    for (;; ++number) {
      std::vector<std::pair<Index, Index>>& taken = runs_of_rows_[{process, number}];
      const bool fits = std::ranges::all_of(taken, [&](const auto& other) {
        const bool apart = end <= other.first || other.second <= begin.first;
        const bool inside = other.first <= begin.first && end <= other.second;
        const bool around = begin.first <= other.first && other.second <= end;
        return apart || inside || around;
      });
      if (fits) {
        taken.emplace_back(begin.first, end);
        break;
      }
    }
    add_span(row_of_runs(process, number), {name, begin.first, false}, end);
  }

  Row row_of(std::size_t process, int agent) {
    const Trace& trace = job_.processes[process];
    const TraceAgent& known = trace.agents[static_cast<std::size_t>(agent)];
    const bool stream = known.kind == TraceAgent::Kind::kStream;
    return row_named(process, known.host, stream, agent_words(trace, agent));
  }

  Row row_of_runs(std::size_t process, Index number) {
    const std::string name = number == 0 ? "runs" : fmt::format("runs {}", number + 1);
    return row_named(process, 0, false, name);
  }

  Row row_named(std::size_t process, Index host, bool stream, const std::string& name) {
    const auto [group, new_group] =
        groups_.try_emplace({process, host, stream}, kFirstGroup + std::ssize(groups_));
    const auto [row, new_row] =
        rows_.try_emplace({group->second, name}, static_cast<Index>(rows_.size()) + 1);
    if (new_group) {
      std::string owner = job_.processes.size() > 1
                              ? fmt::format("process {} ", job_.processes[process].process)
                              : "";
      if (job_.processes[process].hosts > 1) owner += fmt::format("host {} ", host);
      titles_.push_back(
          fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"{}{}"}}}})",
                      group->second, owner, stream ? "streams" : "program"));
    }
    if (new_row) {
      titles_.push_back(
          fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                      group->second, row->second, detail::json_string(name)));
    }
    return {group->second, row->second};
  }

  void add_event(const Row& row, Index time, Index length, bool is_span, const std::string& rest) {
    events_.push_back(
        {time, length, is_span,
         fmt::format(R"({{"pid":{},"tid":{},"ts":{},{}}})", row.first, row.second, time, rest)});
  }

  const TraceJob& job_;
  Index end_;
  Index arrows_ = 0;
  std::vector<std::vector<Index>> positions_;  // Of the steps of each process, in the order.
  std::vector<Event> events_;
  std::vector<std::string> titles_;
  std::map<Row, std::vector<Span>> open_;  // Of each row, outer spans first.
  std::map<std::pair<std::size_t, Index>, std::pair<Index, std::string>> runs_;  // Open runs.
  std::map<std::pair<std::size_t, Index>, std::vector<std::pair<Index, Index>>> runs_of_rows_;
  std::map<std::tuple<std::size_t, Index, bool>, Index> groups_;
  std::map<std::pair<Index, std::string>, Index> rows_;
};

}  // namespace

void write_perfetto(const TraceJob& job, std::ostream& out) { Writer(job).write(out); }

ExitCode export_perfetto(const ExportOptions& options, Console& console) {
  const TraceJob job = read_job(options.files, reading_with_progress(console));
  for (const std::string& file : options.files) require_other_file(file, options.out);
  std::ofstream file(options.out, std::ios::binary);
  write_perfetto(job, file);
  if (!file.flush()) {
    throw InvalidArgumentError(
        ErrorCode::kFile, fmt::format("cannot write {}: {}", options.out, std::strerror(errno)));
  }
  console.line(
      fmt::format("{} steps in {}: open it in ui.perfetto.dev", job.order.size(), options.out));
  return ExitCode::kGood;
}

}  // namespace belfry::tool
