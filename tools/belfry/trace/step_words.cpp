// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/step_words.h"

#include "trace/verb_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <vector>

namespace belfry::tool {
namespace {

// `step 3`, `steps 3 and 6`, `steps 3, 4 and 6`.
std::string list_of(const std::vector<std::int64_t>& steps) {
  if (steps.size() == 1) return fmt::format("step {}", steps.front());
  return fmt::format("steps {} and {}", fmt::join(steps.begin(), steps.end() - 1, ", "),
                     steps.back());
}

std::string at(const TraceStep& step) {
  return step.line.empty() ? "" : " at " + short_line(step.line);
}

// `: reads [1], writes [2]`.
std::string operands_of(const TraceStep& step) {
  std::string text;
  if (!step.reads.empty()) text += ": reads " + to_string(step.reads);
  if (!step.writes.empty()) {
    text += (text.empty() ? ": writes " : ", writes ") + to_string(step.writes);
  }
  return text;
}

// The steps before the execution of work: the enqueueing, then further steps.
std::string waits_of(const Trace& trace, const TraceStep& step) {
  std::string enqueued;
  std::vector<std::int64_t> others;
  for (const std::int64_t number : step.after) {
    const TraceStep* const before = trace.find(number);
    if (before != nullptr && before->kind == StepKind::kEnqueue) {
      enqueued = fmt::format(", enqueued in step {}", number);
    } else {
      others.push_back(number);
    }
  }
  return enqueued + (others.empty() ? "" : ", after " + list_of(others));
}

std::string merge_number(const TraceStep& step) {
  std::string number = step.round < 0 ? "a merge" : fmt::format("merge {}", step.round);
  if (!step.group.empty()) number += " of group " + step.group;
  if (!step.name.empty()) return number + ", " + place_of(step);
  return number + (step.op.empty() ? "" : " (" + step.op + ")") + at(step);
}

std::string of_variable(const Trace& trace, const TraceStep& step, const TraceStep* before) {
  const std::string owner = step.replica < 0 ? "" : fmt::format(" of replica {}", step.replica);
  const std::string name = trace.variable_of(step) + owner;
  const std::string version = step.version < 1 ? "" : fmt::format(", version {}", step.version);
  if (step.kind == StepKind::kVariableRead) {
    const std::string values = step.reads.empty() ? to_string(step.writes) : to_string(step.reads);
    return "reads " + name + at(step) + (values.empty() ? "" : ": " + values) + version;
  }
  if (step.kind == StepKind::kVariableMade) {
    const auto known = trace.variables.find(step.variable);
    std::string text = "makes variable " + name;
    if (known != trace.variables.end() && !known->second.kind.empty()) {
      const std::string& kind = known->second.kind;
      text += fmt::format(", {} {}[{}]", kind == "replica_local" ? "replica-local" : kind,
                          known->second.type, fmt::join(known->second.shape, ","));
    }
    return text + at(step) + (step.writes.empty() ? "" : ": " + to_string(step.writes));
  }
  std::string text = "writes " + name + at(step);
  if (!step.writes.empty()) {
    const bool old = before != nullptr && !before->writes.empty();
    text += old ? ": " + to_string(before->writes) + " becomes " : ": ";
    text += to_string(step.writes);
  }
  return text + version;
}

// A host of a group arrives at calls, with the same words.
std::string of_call(const TraceStep& step) {
  const std::string call = fmt::format("call {} of the group{}", step.round,
                                       step.name.empty() ? "" : ", " + place_of(step));
  return (step.kind == StepKind::kCall ? "arrives at " : "goes on after ") + call;
}

std::string of_round(const TraceStep& step) {
  if (step.kind == StepKind::kThrow && step.error == "cancelled") {
    return "is cancelled, because the run has failed";
  }
  switch (step.kind) {
    case StepKind::kArrive: {
      const ExchangeWords words = exchange_words(step);
      return "arrives at " + merge_number(step) +
             (words.asked.empty() ? "" : ", asks for " + words.asked) +
             (words.values.empty() ? "" : ", and brings " + to_string(words.values));
    }
    case StepKind::kResume:
      return "goes on after " + merge_number(step) +
             (step.gets.empty() ? "" : ", and gets " + to_string(step.gets));
    case StepKind::kStart:
      return "starts";
    case StepKind::kEnd:
      return "ends";
    default:
      return "throws " + (step.error.empty() ? step.name : step.error) + at(step);
  }
}

std::string of_work(const Trace& trace, const TraceStep& step) {
  if (step.kind == StepKind::kEnqueue) {
    return "enqueues " + place_of(step) +
           (step.stream < 0 ? "" : ", to be done by " + agent_words(trace, step.stream));
  }
  std::string text = step.kind == StepKind::kExecute ? "executes " : "does its part of ";
  text += place_of(step);
  if (step.members > 1) text += fmt::format(" among {} members", step.members);
  return text + waits_of(trace, step) + operands_of(step);
}

std::string of_host(const Trace& trace, const TraceStep& step) {
  switch (step.kind) {
    case StepKind::kHostWait:
      return "waits for " + (step.stream < 0 ? "devices" : agent_words(trace, step.stream)) +
             at(step) + waits_of(trace, step);
    case StepKind::kHostRead:
      return "reads a device's memory" + at(step) + waits_of(trace, step) + operands_of(step);
    case StepKind::kRecord:
      return "records " + (step.event.empty() ? "an event" : step.event) +
             (step.stream < 0 ? "" : " in " + agent_words(trace, step.stream));
    case StepKind::kWait: {
      if (step.stream < 0)
        return "waits for " + (step.name.empty() ? step.event : step.name) + at(step);
      const std::string awaited =
          step.awaited < 0 ? "" : " for " + agent_words(trace, step.awaited);
      return "makes " + agent_words(trace, step.stream) + " wait" + awaited +
             (step.event.empty() ? "" : ", at " + step.event);
    }
    case StepKind::kCall:
      return of_call(step) + waits_of(trace, step);
    default: {
      const std::string name = step.name.empty() ? "" : " " + step.name;
      return step.kind_name + name + at(step) + operands_of(step);
    }
  }
}

bool is_of_variable(StepKind kind) {
  return kind == StepKind::kVariableRead || kind == StepKind::kVariableWrite ||
         kind == StepKind::kVariableMade;
}

std::string verb_phrase(const Trace& trace, const TraceStep& step, const TraceStep* before) {
  switch (step.kind) {
    case StepKind::kStart:
    case StepKind::kEnd:
    case StepKind::kThrow:
    case StepKind::kArrive:
    case StepKind::kResume:
      if (step.kind == StepKind::kResume && trace.agent_of(step).kind == TraceAgent::Kind::kHost) {
        return of_call(step);
      }
      return of_round(step);
    case StepKind::kEnqueue:
    case StepKind::kExecute:
    case StepKind::kCollective:
      return of_work(trace, step);
    default:
      return is_of_variable(step.kind) ? of_variable(trace, step, before) : of_host(trace, step);
  }
}

std::string run_words(const Trace& trace, const TraceStep& step) {
  std::string text = step.run < 0 ? "a run" : fmt::format("run {}", step.run);
  if (trace.hosts > 1 || trace.processes > 1) text += " of " + agent_words(trace, step.agent);
  if (step.kind == StepKind::kRunEnd) return text + (step.failed ? " fails" : " ends");
  text += " begins";
  if (step.replicas >= 0) {
    text += fmt::format(" on {} {}", step.replicas, step.replicas == 1 ? "replica" : "replicas");
  }
  return text + at(step);
}

// Empty in a trace of a single host.
std::string owner_words(const Trace& trace, const TraceAgent& agent) {
  if (trace.hosts > 1) return fmt::format("host {}", agent.host);
  return trace.processes > 1 ? fmt::format("process {}", trace.process) : "";
}

}  // namespace

std::string agent_words(const Trace& trace, int agent) {
  const TraceAgent& known = trace.agents[static_cast<std::size_t>(agent)];
  const std::string owner = owner_words(trace, known);
  switch (known.kind) {
    case TraceAgent::Kind::kHost:
      return owner.empty() ? "the host" : owner;
    case TraceAgent::Kind::kMerge: {
      const std::string merge = known.index > 0 ? "the merge of a nested run" : "the merge";
      return owner.empty() ? merge : merge + " of " + owner;
    }
    default:
      // The names in a cluster have the host.
      return trace.processes > 1 ? known.name + " of " + owner : known.name;
  }
}

std::string replica_words(const Trace& trace, const TraceAgent& agent) {
  if (trace.hosts == 1) return std::to_string(agent.replica);
  return fmt::format("{} of host {}", agent.replica, agent.host);
}

std::string replicas_words(const std::set<std::string>& numbers) {
  return fmt::format("{} {}", numbers.size() == 1 ? "replica" : "replicas",
                     fmt::join(numbers, ", "));
}

std::string step_words(const Trace& trace, const TraceStep& step, const TraceStep* before) {
  std::string text;
  if (step.kind == StepKind::kRunBegin || step.kind == StepKind::kRunEnd) {
    text = run_words(trace, step);
  } else if (step.kind == StepKind::kMerge) {
    const std::string owner = owner_words(trace, trace.agent_of(step));
    text = merge_number(step) + ", is done once for ";
    text += step.group.empty() ? "all replicas" : "the members";
    if (!owner.empty()) text += " of " + owner;
    if (!step.after.empty()) text += ": the replicas arrived in " + list_of(step.after);
  } else {
    text = agent_words(trace, step.agent) + " " + verb_phrase(trace, step, before);
  }
  if (step.failure.has_value()) {
    text += ". FAILED: " + step.failure->code + " " + step.failure->text;
  } else if (step.failed) {
    text += ". FAILED";
  }
  return text;
}

StepRule rule_of(const Trace& trace, const TraceStep& step) {
  switch (step.kind) {
    case StepKind::kRunBegin:
      return {"SEM-1", "a run calls the function once on each replica"};
    case StepKind::kArrive:
      if (!step.group.empty()) {
        return {"SEM-273",
                "a replica that reaches a merge of a group waits for the members alone; a group "
                "counts its own merges"};
      }
      return {"SEM-2", "a replica that reaches a merge waits until all replicas have arrived"};
    case StepKind::kMerge:
      if (const StepRule rule = rule_of_verb(step); *rule.number != '\0') return rule;
      if (!step.group.empty()) {
        return {
            "SEM-272",
            "the merge function of the lowest member runs once, with the values of the members"};
      }
      return {"SEM-3",
              "the merge function of replica 0 runs once, with the values of all replicas; what it "
              "captured is replica 0's"};
    case StepKind::kResume:
      if (trace.agent_of(step).kind == TraceAgent::Kind::kHost) return {};
      return {"SEM-13", "each replica receives its component of the result"};
    case StepKind::kVariableRead:
    case StepKind::kVariableWrite: {
      const auto known = trace.variables.find(step.variable);
      if (known == trace.variables.end() || known->second.kind.empty()) return {};
      if (known->second.kind == "mirrored") {
        return {"SEM-11", "the components of a mirrored variable are always equal"};
      }
      return {"SEM-52", "the components of a replica-local variable are independent"};
    }
    case StepKind::kEnqueue:
      return {"SEM-72",
              "enqueued work is done later, in the order of its stream; only events order "
              "two streams"};
    case StepKind::kCollective:
      if (const StepRule rule = rule_of_verb(step); *rule.number != '\0') return rule;
      return {"SEM-32", "the bits of a sum depend on the order of its additions"};
    case StepKind::kThrow:
      if (step.error == "cancelled") return {"SEM-7", "a run that failed cancels its replicas"};
      return {"SEM-6",
              "a run fails if a replica throws, and throws the exception of the lowest replica"};
    default:
      return {};
  }
}

}  // namespace belfry::tool
