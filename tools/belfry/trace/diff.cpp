// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/diff.h"

#include "trace/data_flow.h"
#include "trace/first_causes.h"
#include "trace/json_object.h"
#include "trace/parting_operation.h"
#include "trace/result_differences.h"
#include "trace/step_differences.h"
#include "trace/step_words.h"
#include "trace/trace_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace belfry::tool {
namespace {

constexpr std::size_t kShown = 8;  // Differences that follow from the first.

// Differences of several agents at an operation.
struct Cause {
  std::string place{};  // `scale at train.cpp:9`
  std::string who{};    // `replicas 0 and 1`
  std::vector<const StepDifference*> of{};
  std::string reason{};  // Of a difference from one replica.
};

const TraceStep& step_of(const StepDifference& difference) {
  return *(difference.a != nullptr ? difference.a : difference.b);
}

class Difference {
 public:
  Difference(const Trace& a, const Trace& b)
      : a_(a),
        b_(b),
        flow_of_a_(a),
        flow_of_b_(b),
        of_results_(a.replicas != b.replicas || a.hosts != b.hosts),
        found_(of_results_ ? compare_results(a, b) : compare_steps(a, b)) {
    if (of_results_) {
      if (!found_.all.empty()) add_parting(found_.all.front());
    } else {
      for (const std::size_t i : first_causes(a, b, found_.all)) add_cause(found_.all[i]);
    }
    if (same() && a.fails() && b.fails()) {
      found_.notes.push_back("both runs failed: belfry explain " + a.file + " has the failure");
    }
    // At least a shift of lines.
    if (found_.all.empty() && !found_.lines.empty()) {
      found_.notes.push_back(
          fmt::format("{} equal steps have other lines: the first is {} in A, {} "
                      "in B",
                      found_.lines.size(), place_of(*found_.lines.front().a),
                      place_of(*found_.lines.front().b)));
    }
  }

  bool same() const { return found_.all.empty(); }

  void print(Console& console) const {
    for (const auto& [name, trace] : {std::pair{"A", &a_}, std::pair{"B", &b_}}) {
      console.line(fmt::format("{}: {}, {} steps on {}, {} replicas, {}", name, trace->file,
                               trace->total, trace->backend, trace->replicas, trace->options));
      for (const std::string& note : trace->notes) console.line("   note: " + note);
    }
    for (const std::string& note : found_.notes) console.line("note: " + note);
    if (same()) {
      console.verdict(
          true, of_results_ ? "the results are the same" : "each agent does the same in A and B");
      return;
    }
    console.verdict(false, headline());
    std::string above;  // A step of a single replica stands once.
    for (const StepDifference* const difference : causes_.front().of) {
      for (const std::string& line : lines_of(*difference)) {
        if (line != above) console.result("  " + line);
        if (line.starts_with(a_.replicas == 1 ? "A " : "B ")) above = line;
      }
    }
    const std::string advice = advice_on(causes_.front());
    if (!advice.empty()) console.result("  " + advice);
    print_others(console);
    print_consequences(console);
  }

  std::string json() const {
    std::vector<std::string> causes;
    for (const Cause& cause : causes_) {
      std::vector<std::string> steps;
      steps.reserve(cause.of.size());
      for (const StepDifference* const difference : cause.of) steps.push_back(json_of(*difference));
      causes.push_back(JsonObject()
                           .text("place", cause.place)
                           .text("replicas", cause.who)
                           .text("advice", advice_on(cause))
                           .list("differences", steps)
                           .str());
    }
    std::vector<std::string> all;
    all.reserve(found_.all.size());
    for (const StepDifference& difference : found_.all) all.push_back(json_of(difference));
    return JsonObject()
        .number("belfry_tool", 1)
        .text("command", "diff")
        .texts("files", {a_.file, b_.file})
        .flag("same", same())
        .list("causes", causes)
        .list("differences", all)
        .texts("notes", found_.notes)
        .str();
  }

 private:
  // The first operation that differs from the one of a single replica; else the first result.
  void add_parting(const StepDifference& first) {
    const bool is_a_one = a_.replicas == 1;
    const bool are_known = first.a != nullptr && first.b != nullptr;
    std::optional<PartingOperation> parting;
    if (are_known && (is_a_one || b_.replicas == 1)) {
      parting = is_a_one ? parting_operation(a_, b_, *first.a, *first.b)
                         : parting_operation(b_, a_, *first.b, *first.a);
    }
    if (!parting.has_value()) return add_cause(first);
    partings_.reserve(parting->many.size());  // Causes keep pointers.
    for (const TraceStep* const step : parting->many) {
      partings_.push_back({StepDifference::Kind::kValues, is_a_one ? parting->one : step,
                           is_a_one ? step : parting->one});
      add_cause(partings_.back());
    }
    causes_.front().reason = parting->reason;
  }

  void add_cause(const StepDifference& difference) {
    const TraceStep& step = step_of(difference);
    const Trace& trace = difference.a != nullptr ? a_ : b_;
    const auto same_place = [&](const Cause& cause) {
      const TraceStep& first = step_of(*cause.of.front());
      return first.name == step.name && first.line == step.line && first.kind == step.kind &&
             cause.of.front()->kind == difference.kind;
    };
    auto cause = std::ranges::find_if(causes_, same_place);
    if (cause == causes_.end()) {
      cause = causes_.insert(causes_.end(), Cause{.place = place_in_words(trace, step)});
    }
    cause->of.push_back(&difference);
    cause->who = who(*cause);
  }

  static std::string place_in_words(const Trace& trace, const TraceStep& step) {
    TraceStep named = step;
    if (step.variable >= 0) named.name = trace.variable_of(step);
    if (named.name.empty() && step.round >= 0) named.name = fmt::format("merge {}", step.round);
    return place_of(named);
  }

  // `replicas 0, 1`; or else names of agents.
  std::string who(const Cause& cause) const {
    std::set<std::string> replicas;
    std::set<std::string> agents;
    for (const StepDifference* const difference : cause.of) {
      // The trace with more replicas has the replica.
      const bool is_of_b =
          difference->a == nullptr || (difference->b != nullptr && b_.replicas > a_.replicas);
      const Trace& trace = is_of_b ? b_ : a_;
      const TraceStep& step = is_of_b ? *difference->b : *difference->a;
      const TraceAgent* agent = &trace.agent_of(step);
      if (agent->replica < 0 && step.stream >= 0) {
        agent = &trace.agents[static_cast<std::size_t>(step.stream)];
      }
      if (agent->replica < 0) {
        agents.insert(agent_words(trace, step.agent));
      } else {
        replicas.insert(replica_words(trace, *agent));
      }
    }
    if (replicas.empty()) return fmt::format("{}", fmt::join(agents, ", "));
    return replicas_words(replicas);
  }

  std::string headline() const {
    const Cause& first = causes_.front();
    const StepDifference& one = *first.of.front();
    std::string what;
    switch (one.kind) {
      case StepDifference::Kind::kValues:
        what = "other values at ";
        break;
      case StepDifference::Kind::kMissing:
        what = one.a == nullptr ? "a step of B alone: " : "a step of A alone: ";
        break;
      default:
        return fmt::format("the runs part: {} in A, {} in B, {}", first.place,
                           place_in_words(b_, *one.b), first.who);
    }
    return "the runs part: " + what + first.place + ", " + first.who;
  }

  std::vector<std::string> lines_of(const StepDifference& difference) const {
    std::vector<std::string> lines;
    const auto add = [&lines](const char* name, const Trace& trace, const TraceStep* step) {
      if (step == nullptr) return lines.push_back(fmt::format("{} has no such step", name));
      lines.push_back(fmt::format("{} step {}: {}", name, step->step, step_words(trace, *step)));
    };
    add("A", a_, difference.a);
    add("B", b_, difference.b);
    return lines;
  }

  // The meaning of a difference of values for the operation.
  std::string advice_on(const Cause& cause) const {
    const StepDifference& difference = *cause.of.front();
    if (difference.kind != StepDifference::Kind::kValues) return "";
    const TraceStep& a = *difference.a;
    const TraceStep& b = *difference.b;
    std::string advice;
    if (!cause.reason.empty()) advice = cause.reason + ": look at " + where(a);
    if (of_results_ && a.kind == StepKind::kResume) {
      advice += advice.empty() ? "" : "; ";
      advice += "the replicas brought, in A: " + brought_in(a_, a) + "; in B: " + brought_in(b_, b);
    } else if (!cause.reason.empty()) {
      return advice;
    } else if (differ(a.reads, b.reads)) {
      const std::string in_a = computed_by(a_, a, b);
      const std::string in_b = computed_by(b_, b, a);
      advice = "the values before differ: computed in A by " + in_a + ", in B by " + in_b;
    } else if (!a.reads.empty() && !differ(a.reads, b.reads)) {
      advice = "both read the same, so that the operation itself differs: look at " + where(a);
    } else if (a.reads.empty() && !a.writes.empty()) {
      advice = "no step before differs: look at " + where(a);
    } else if (!a.brings.empty()) {
      advice = "no step before differs: look at what the replica computes before " + where(a);
    }
    for (const auto list : {&TraceStep::writes, &TraceStep::gets, &TraceStep::brings}) {
      if ((a.*list).size() != 1 || (b.*list).size() != 1) continue;
      const std::string factor = factor_between((a.*list).front(), (b.*list).front());
      if (!factor.empty()) advice += (advice.empty() ? "" : "; ") + factor;
      break;
    }
    return advice;
  }

  static std::string where(const TraceStep& step) {
    return step.line.empty() ? place_of(step) : short_line(step.line);
  }

  // In the order of the replicas.
  static std::string brought_in(const Trace& trace, const TraceStep& result) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> brought;
    for (const TraceStep& step : trace.steps) {
      const TraceAgent& agent = trace.agent_of(step);
      if (step.kind == StepKind::kArrive && merge_of(step) == merge_of(result) &&
          !step.brings.empty() && brought.size() < kShown) {
        brought[{agent.host, agent.index}] = to_string(step.brings);
      }
    }
    std::vector<std::string> texts;
    texts.reserve(brought.size());
    for (const auto& [replica, text] : brought) texts.push_back(text);
    return texts.empty() ? "nothing known" : fmt::format("{}", fmt::join(texts, " and "));
  }

  // The work that wrote the first operand that differs from the other trace.
  std::string computed_by(const Trace& trace, const TraceStep& step, const TraceStep& other) const {
    std::int64_t buffer = -1;
    for (std::size_t i = 0; i < std::min(step.reads.size(), other.reads.size()) && buffer < 0;
         ++i) {
      if (differ(step.reads[i], other.reads[i])) buffer = step.reads[i].buffer;
    }
    const TraceStep* const work =
        (&trace == &a_ ? flow_of_a_ : flow_of_b_).producer_of(buffer, step);
    return work == nullptr ? "no known step" : place_of(*work);
  }

  void print_others(Console& console) const {
    if (causes_.size() < 2) return;
    console.heading("Differences that do not follow from this one");
    for (std::size_t i = 1; i < std::min(causes_.size(), kShown); ++i) {
      console.result(fmt::format("  {}, {}", causes_[i].place, causes_[i].who));
      for (const std::string& line : lines_of(*causes_[i].of.front()))
        console.result("    " + line);
    }
  }

  void print_consequences(Console& console) const {
    std::vector<const StepDifference*> rest;
    for (const StepDifference& difference : found_.all) {
      const bool known = std::ranges::any_of(causes_, [&](const Cause& cause) {
        return std::ranges::any_of(cause.of, [&](const StepDifference* one) {
          return one->a == difference.a && one->b == difference.b;
        });
      });
      if (!known) rest.push_back(&difference);
    }
    if (rest.empty()) return;
    console.heading(of_results_ ? "Further results that differ" : "What follows");
    for (std::size_t i = 0; i < std::min(rest.size(), kShown); ++i) {
      for (const std::string& line : lines_of(*rest[i])) console.result("  " + line);
    }
    if (rest.size() > kShown) {
      console.result(fmt::format("  and {} more steps; --json has all", rest.size() - kShown));
    }
  }

  std::string json_of(const StepDifference& difference) const {
    JsonObject object;
    const char* const kinds[] = {"step", "values", "missing"};
    object.text("kind", kinds[static_cast<int>(difference.kind)]);
    const auto add = [&object](const char* name, const Trace& trace, const TraceStep* step) {
      if (step == nullptr) return;
      object.raw(name, JsonObject()
                           .number("step", step->step)
                           .text("agent", agent_words(trace, step->agent))
                           .text("line", step->line)
                           .text("text", step_words(trace, *step))
                           .str());
    };
    add("a", a_, difference.a);
    add("b", b_, difference.b);
    return object.str();
  }

  const Trace& a_;
  const Trace& b_;
  DataFlow flow_of_a_;
  DataFlow flow_of_b_;
  bool of_results_;
  StepDifferences found_;
  std::vector<StepDifference> partings_;
  std::vector<Cause> causes_;
};

}  // namespace

ExitCode diff(const DiffOptions& options, Console& console) {
  const TraceReading how = reading_with_progress(console);
  return diff_traces(read_trace(options.a, how), read_trace(options.b, how), options.json, console);
}

ExitCode diff_traces(const Trace& a, const Trace& b, bool json, Console& console) {
  const Difference difference(a, b);
  if (json) {
    console.result(difference.json());
  } else {
    difference.print(console);
  }
  return difference.same() ? ExitCode::kGood : ExitCode::kMismatch;
}

}  // namespace belfry::tool
