// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/explain.h"

#include "belfry/error.h"
#include "trace/failure_words.h"
#include "trace/json_object.h"
#include "trace/remarks.h"
#include "trace/step_words.h"
#include "trace/trace_job.h"
#include "trace/variable_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belfry::tool {
namespace {

constexpr std::int64_t kNear = 8;          // Steps shown on each side of a step.
constexpr std::int64_t kKeptNear = 2'000;  // Steps kept on each side, hidden ones included.

std::int64_t number_in(const std::string& around) {
  const std::string digits = around.substr(around.find(':') + 1);  // All without a colon.
  const JsonValue number{.kind = JsonValue::Kind::kNumber, .text = digits};
  const auto step = number.whole_number();
  if (!step.has_value()) {
    throw UsageError(ErrorCode::kInvalidArgument, "'" + around + "' is no number of a step",
                     "a step of several processes is PROCESS:STEP");
  }
  return *step;
}

// The steps for the options.
class Selection {
 public:
  Selection(const TraceJob& job, const ExplainOptions& options) : job_(job), options_(options) {
    for (const JobStep& at : job.order) {
      if (is_shown(at)) steps_.push_back(at);
    }
    if (!options.replica.empty() && !found_replica_) fail("no replica " + options.replica);
    if (!options.variable.empty() && !found_variable_) fail("no variable " + options.variable);
    if (!options.around.empty()) cut_around();
  }

  const std::vector<JobStep>& steps() const { return steps_; }

 private:
  bool is_shown(const JobStep& at) {
    const TraceStep& step = job_.step(at);
    const Trace& trace = job_.trace_of(at);
    const bool replica = options_.replica.empty() || is_of_replica(trace, step);
    const bool variable = options_.variable.empty() || is_of_variable(trace, step);
    const bool wanted = !options_.around.empty() && job_.number_of(at) == options_.around;
    return wanted || (replica && variable && (options_.all || !step.bookkeeping));
  }

  // Steps of the replica, work for or on the streams of the replica, and merges.
  bool is_of_replica(const Trace& trace, const TraceStep& step) {
    const std::string number = options_.replica.substr(options_.replica.find('R') + 1);
    const std::int64_t host = trace.agent_of(step).host;
    const bool of_host =
        trace.hosts == 1 || options_.replica == fmt::format("H{}.R{}", host, number);
    const auto is_of = [&](int agent) {
      return agent >= 0 &&
             std::to_string(trace.agents[static_cast<std::size_t>(agent)].replica) == number;
    };
    const bool own = of_host && (is_of(step.agent) || is_of(step.stream) ||
                                 std::to_string(step.replica) == number);
    found_replica_ = found_replica_ || own;
    // The merge of a group is of the replicas that have arrived.
    const bool has_arrived = std::ranges::any_of(step.after, [&](std::int64_t number) {
      const TraceStep* const before = trace.find(number);
      return before != nullptr && is_of(before->agent);
    });
    const bool is_its_merge = step.kind == StepKind::kMerge && (step.group.empty() || has_arrived);
    const bool is_of_all = step.kind == StepKind::kRunBegin || step.kind == StepKind::kRunEnd;
    return own || (of_host && (is_of_all || is_its_merge));
  }

  // Steps of the variable, and work on the memory of a component.
  bool is_of_variable(const Trace& trace, const TraceStep& step) {
    const auto touches = [&](const std::vector<TraceValue>& values) {
      return std::ranges::any_of(values, [&](const TraceValue& value) {
        return value.buffer >= 0 && buffers_.contains({trace.process, value.buffer});
      });
    };
    if (step.variable < 0) return touches(step.reads) || touches(step.writes);
    if (trace.variable_of(step) != options_.variable &&
        std::to_string(step.variable) != options_.variable) {
      return false;
    }
    found_variable_ = true;
    for (const std::vector<TraceValue>* const values : {&step.reads, &step.writes}) {
      for (const TraceValue& value : *values) buffers_.emplace(trace.process, value.buffer);
    }
    return true;
  }

  void cut_around() {
    const auto middle = std::ranges::find_if(
        steps_, [&](const JobStep& at) { return job_.number_of(at) == options_.around; });
    if (middle == steps_.end()) fail("no step " + options_.around);
    const auto from = middle - std::min(middle - steps_.begin(), std::ptrdiff_t{kNear});
    const auto to = middle + std::min(steps_.end() - middle, std::ptrdiff_t{kNear + 1});
    steps_ = std::vector<JobStep>(from, to);
  }

  [[noreturn]] void fail(const std::string& what) const {
    const Trace& last = job_.processes.back();
    std::string variables;
    for (const auto& [number, variable] : last.variables) {
      variables += (variables.empty() ? "; variables: " : ", ") + variable.name;
    }
    throw UsageError(
        ErrorCode::kInvalidArgument, fmt::format("{} in {}", what, last.file),
        fmt::format("it has {} steps and {} replicas{}", last.total, last.replicas, variables));
  }

  const TraceJob& job_;
  const ExplainOptions& options_;
  std::vector<JobStep> steps_;
  std::set<std::pair<std::int64_t, std::int64_t>> buffers_;  // Of components: process, buffer.
  bool found_replica_ = false;
  bool found_variable_ = false;
};

class Explanation {
 public:
  Explanation(const TraceJob& job, const ExplainOptions& options)
      : job_(job), options_(options), selection_(job, options), states_(job) {}

  void print(Console& console) {
    for (const Trace& trace : job_.processes) {
      for (const std::string& line : heading_of(trace)) console.line(line);
    }
    for (const std::string& line : failure_lines(job_)) console.verdict(false, line);
    const std::vector<std::string> places = place_lines(job_);
    if (!places.empty()) console.heading("Where each replica stood");
    for (const std::string& line : places) console.result("  " + line);
    const std::vector<std::string> remarks = remarks_of_job();
    if (!remarks.empty()) console.heading("Remarks");
    for (const std::string& line : remarks) console.result("  " + line);
    console.heading("Steps");
    if (job_.processes.size() > 1) {
      console.line(
          "A number is PROCESS:STEP. Steps of different processes have no order but that "
          "of the merges.");
    }
    std::string text;
    walk([&](const JobStep& at, const TraceStep* before) {
      text += line_of(at, before);
      if (text.size() < 60'000) return;
      text.pop_back();
      console.result(text);
      text.clear();
    });
    if (!text.empty()) console.result(text.substr(0, text.size() - 1));
    const std::vector<std::string> variables = states_.lines();
    if (!variables.empty()) {
      console.heading(options_.around.empty() ? "Variables at the end"
                                              : "Variables after these steps");
    }
    for (const std::string& line : variables) console.result("  " + line);
    // A selection leaves other steps out, too.
    if (hidden_ > 0 && options_.replica.empty() && options_.variable.empty()) {
      console.line(fmt::format("\nhidden: {} steps of bookkeeping; --all shows them", hidden_));
    }
  }

  std::string json() {
    std::vector<std::string> steps;
    walk([&](const JobStep& at, const TraceStep* before) { steps.push_back(json_of(at, before)); });
    std::vector<std::string> notes;
    std::vector<std::string> files;
    for (const Trace& trace : job_.processes) {
      notes.insert(notes.end(), trace.notes.begin(), trace.notes.end());
      files.push_back(trace.file);
    }
    return JsonObject()
        .number("belfry_tool", 1)
        .text("command", "explain")
        .texts("files", files)
        .flag("failed", job_.fails())
        .texts("failures", failure_lines(job_))
        .texts("places", place_lines(job_))
        .texts("remarks", remarks_of_job())
        .list("steps", steps)
        .list("variables", states_.json())
        .texts("notes", notes)
        .str();
  }

 private:
  // Visits the selected steps, with the write before a write. Hidden steps change variables too.
  template <class Visit>
  void walk(Visit visit) {
    auto next = selection_.steps().begin();
    for (const JobStep& at : job_.order) {
      if (next == selection_.steps().end() && !options_.around.empty()) return;
      const TraceStep* const before = states_.add(at);
      const bool shown = next != selection_.steps().end() && next->process == at.process &&
                         next->index == at.index;
      if (shown) visit(at, before);
      if (shown) ++next;
      if (!shown && job_.step(at).bookkeeping && !options_.all) ++hidden_;
    }
  }

  std::vector<std::string> remarks_of_job() const {
    std::vector<std::string> remarks;
    for (const Trace& trace : job_.processes) {
      for (std::string& text : remarks_on(trace)) remarks.push_back(std::move(text));
    }
    return remarks;
  }

  static std::vector<std::string> heading_of(const Trace& trace) {
    std::string first = fmt::format("{}: {} steps on {}, {} {}", trace.file, trace.total,
                                    trace.backend == "sim" ? "the simulator" : trace.backend,
                                    trace.replicas, trace.replicas == 1 ? "replica" : "replicas");
    if (trace.hosts > 1) first += fmt::format(" on {} hosts", trace.hosts);
    if (trace.processes > 1) {
      first += fmt::format(", process {} of {}", trace.process, trace.processes);
    }
    std::vector<std::string> lines = {first};
    if (!trace.options.empty()) lines.push_back("options: " + trace.options);
    if (!trace.token.empty())
      lines.push_back("replay: sim::Schedule::replay(\"" + trace.token + "\")");
    for (const std::string& note : trace.notes) lines.push_back("note: " + note);
    return lines;
  }

  // A rule is told once.
  std::string line_of(const JobStep& at, const TraceStep* before) {
    const Trace& trace = job_.trace_of(at);
    const TraceStep& step = job_.step(at);
    std::string line =
        fmt::format("{:>6}  {}\n", job_.number_of(at), step_words(trace, step, before));
    const StepRule rule = rule_of(trace, step);
    if (*rule.number != '\0' && told_.insert(rule.number).second) {
      line += fmt::format("        {}: {}\n", rule.number, rule.text);
    }
    return line;
  }

  std::string json_of(const JobStep& at, const TraceStep* before) const {
    const Trace& trace = job_.trace_of(at);
    const TraceStep& step = job_.step(at);
    std::vector<std::string> after;
    after.reserve(step.after.size());
    for (const std::int64_t number : step.after) after.push_back(std::to_string(number));
    JsonObject object;
    object.number("process", trace.process)
        .number("step", step.step)
        .text("kind", step.kind_name)
        .text("agent", agent_words(trace, step.agent))
        .text("text", step_words(trace, step, before))
        .text("line", step.line)
        .text("rule", rule_of(trace, step).number)
        .list("after", after);
    if (step.kind == StepKind::kVariableWrite) {
      object.text("variable", trace.variable_of(step))
          .number("version", step.version)
          .text("from", before == nullptr ? "" : to_string(before->writes))
          .text("to", to_string(step.writes));
    }
    return object.str();
  }

  const TraceJob& job_;
  const ExplainOptions& options_;
  Selection selection_;
  VariableStates states_;
  std::set<std::string> told_;  // Numbers of rules.
  std::int64_t hidden_ = 0;
};

}  // namespace

ExitCode explain(const ExplainOptions& options, Console& console) {
  TraceReading how = reading_with_progress(console);
  const std::int64_t middle = options.around.empty() ? 0 : number_in(options.around);
  if (!options.around.empty()) {
    // Writes of variables are kept for the values before, failures for the begin of the text.
    how.keep = [middle](const TraceStep& step) {
      return step.failed || step.kind == StepKind::kVariableWrite ||
             (step.step >= middle - kKeptNear && step.step <= middle + kKeptNear);
    };
  }
  return explain_job(read_job(options.files, how), options, console);
}

ExitCode explain_job(const TraceJob& job, const ExplainOptions& options, Console& console) {
  Explanation explanation(job, options);
  if (options.json) {
    console.result(explanation.json());
  } else {
    explanation.print(console);
  }
  return job.fails() ? ExitCode::kMismatch : ExitCode::kGood;
}

}  // namespace belfry::tool
