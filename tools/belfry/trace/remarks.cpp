// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/remarks.h"

#include "trace/data_flow.h"
#include "trace/step_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace belfry::tool {
namespace {

using Replicas = std::set<std::string>;                            // `0`, or `1 of host 0`.
using StepsByReplica = std::map<std::string, const TraceStep*>;    // By replica.
using Operation = std::tuple<StepKind, std::string, std::string>;  // With name and line.

class Remarks {
 public:
  explicit Remarks(const Trace& trace) : trace_(trace), flow_(trace) {
    const bool is_whole = trace.ended && trace.cut == 0 &&
                          static_cast<std::int64_t>(trace.steps.size()) == trace.total;
    if (!is_whole || trace.replicas < 2 || trace.fails()) return;
    for (const TraceStep& step : trace.steps) add_reads(step);
    const std::map<std::int64_t, std::int64_t> all_reads = std::exchange(last_reads_, {});
    for (const TraceStep& step : trace.steps) {
      // The result of a collective may be unread, too.
      const bool is_unread =
          step.kind == StepKind::kCollective &&
          std::ranges::none_of(step.writes, [&](const TraceValue& value) {
            const auto last = all_reads.find(value.buffer);
            return last != all_reads.end() && last->second > flow_.place_of(step);
          });
      if (!is_unread) add_reads(step);
      take(step);
    }
    for (const TraceStep& step : trace.steps) find_stale(step);
    for (const auto& [read, replicas] : stale_) {
      add(fmt::format("{} of {} reads the {} of before its change at {}", read[0],
                      replicas_words(replicas), read[1], read[2]));
    }
    for (const auto& [number, arrivals] : rounds_) {
      find_unread(arrivals);
      find_other_producers(arrivals);
    }
    for (auto& [key, open] : open_) end_stretch(key.second, open, {key.first, "", kEnd});
    for (const auto& [merges, stretch] : stretches_) find_left_out(stretch);
  }

  std::vector<std::string> take_texts() { return std::move(texts_); }

 private:
  // The operations of replicas from a merge to the next: replicas of different groups do different
  // things.
  struct Stretch {
    Replicas replicas{};
    std::map<Operation, StepsByReplica> operations{};
  };
  struct OpenStretch {
    bool has_begun = false;  // The replica.
    MergeId last{};
    std::map<Operation, const TraceStep*> steps{};
  };
  static constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();  // For a merge.

  void add_reads(const TraceStep& step) {
    const std::int64_t place = flow_.place_of(step);
    if (const TraceStep* const enqueued = flow_.enqueued_by(step)) done_.insert(enqueued->step);
    if (is_write(step)) {
      for (const TraceValue& value : step.writes) last_reads_[value.buffer] = place;
    }
    for (const auto list : {&TraceStep::reads, &TraceStep::gets}) {
      for (const TraceValue& value : step.*list) {
        std::int64_t& last = last_reads_[value.buffer];
        last = std::max(last, place);
      }
    }
  }

  // A variable has other memory; the memory of before keeps the old value.
  static bool is_write(const TraceStep& step) {
    return step.kind == StepKind::kVariableWrite || step.kind == StepKind::kVariableMade;
  }

  void note_write(const TraceStep& step) {
    // The components of a version stand in replica order.
    const TraceAgent& agent = trace_.agent_of(step);
    const bool is_own = agent.kind == TraceAgent::Kind::kReplica;
    const std::int64_t component =
        is_own ? agent.index : components_[{step.variable, step.version}]++;
    std::set<std::int64_t>& buffers = buffers_[{step.variable, component}];
    std::set<std::int64_t> now;
    for (const TraceValue& value : step.writes) {
      if (value.buffer >= 0) now.insert(value.buffer);
    }
    for (const std::int64_t buffer : buffers) {
      // A replica computes the value after the step in which the replica is given the component.
      if (!is_own && !now.contains(buffer)) changed_.emplace(buffer, &step);
    }
    if (!now.empty()) buffers = std::move(now);
  }

  // Work of a replica on memory that a variable had before a change.
  void find_stale(const TraceStep& step) {
    const TraceStep* const enqueued = flow_.enqueued_by(step);
    const TraceStep& at = enqueued == nullptr ? step : *enqueued;
    const bool is_read = enqueued != nullptr || step.kind == StepKind::kArrive;
    if (!is_read || trace_.agent_of(at).kind != TraceAgent::Kind::kReplica) return;
    for (const TraceValue& value : enqueued == nullptr ? step.brings : step.reads) {
      const auto found = changed_.find(value.buffer);
      if (found == changed_.end() || found->second->step > at.step) continue;
      const TraceStep* const producer = flow_.producer_of(value.buffer, step);
      if (producer != nullptr && flow_.place_of(*producer) > found->second->step) continue;
      const TraceStep& write = *found->second;
      stale_[{place_of(at), trace_.variable_of(write), short_line(write.line)}].insert(
          replica_words(trace_, trace_.agent_of(at)));
    }
  }

  void take(const TraceStep& step) {
    if (is_write(step)) note_write(step);
    if (step.kind == StepKind::kEnqueue && !done_.contains(step.step)) last_not_done_ = step.step;
    const TraceAgent& agent = trace_.agent_of(step);
    if (agent.kind != TraceAgent::Kind::kReplica) return;
    const std::string replica = replica_words(trace_, agent);
    OpenStretch& open = open_[{step.run, replica}];
    if (step.kind == StepKind::kStart) open.has_begun = true;
    if (step.kind == StepKind::kArrive) {
      rounds_[merge_of(step)][replica] = &step;
      end_stretch(replica, open, merge_of(step));
    }
    const bool is_operation =
        step.kind == StepKind::kEnqueue || step.kind == StepKind::kVariableWrite;
    if (!is_operation || step.bookkeeping) return;
    open.steps.emplace(Operation{step.kind, step.name, step.line}, &step);
  }

  void end_stretch(const std::string& replica, OpenStretch& open, const MergeId& next) {
    Stretch& stretch = stretches_[{std::exchange(open.last, next), next}];
    if (open.has_begun) stretch.replicas.insert(replica);
    for (const auto& [operation, step] : std::exchange(open.steps, {})) {
      stretch.operations[operation].emplace(replica, step);
    }
  }

  void add(std::string text) {
    if (std::ranges::find(texts_, text) == texts_.end()) texts_.push_back(std::move(text));
  }

  std::string merge_words(const TraceStep& arrival) const {
    const std::string op = arrival.op.empty() ? "" : " (" + arrival.op + ")";
    return fmt::format("the merge{} at {}", op, short_line(arrival.line));
  }

  // Tensors of replicas at a merge, without a later read. Work that is not done may read.
  void find_unread(const StepsByReplica& arrivals) {
    if (last_not_done_ > arrivals.begin()->second->step) return;
    for (std::size_t i = 0; i < arrivals.begin()->second->brings.size(); ++i) {
      Replicas unread;
      bool is_known = true;
      for (const auto& [replica, step] : arrivals) {
        is_known = is_known && i < step->brings.size() && step->brings[i].buffer >= 0;
        if (!is_known) break;
        const auto last = last_reads_.find(step->brings[i].buffer);
        if (last == last_reads_.end() || last->second < step->step) unread.insert(replica);
      }
      if (!is_known || unread.empty()) continue;
      const TraceStep& first = *arrivals.begin()->second;
      const std::string which =
          first.brings.size() == 1 ? "the value" : fmt::format("value {}", i + 1);
      add(fmt::format(
          "nothing reads {} that {} {} to {}{}", which, replicas_words(unread),
          unread.size() == 1 ? "brings" : "bring", merge_words(first),
          unread.size() == arrivals.size() ? "" : ", and those of the others are read"));
    }
  }

  // The replica's own operation behind a value for a merge; null for other values.
  const TraceStep* producer_of(const TraceStep& arrival, std::size_t i) const {
    if (i >= arrival.brings.size()) return nullptr;
    const TraceStep* const work = flow_.producer_of(arrival.brings[i].buffer, arrival);
    const TraceStep* const enqueued = work == nullptr ? nullptr : flow_.enqueued_by(*work);
    const bool is_own = enqueued != nullptr && enqueued->agent == arrival.agent;
    return is_own ? enqueued : nullptr;
  }

  void find_other_producers(const StepsByReplica& arrivals) {
    for (std::size_t i = 0; i < arrivals.begin()->second->brings.size(); ++i) {
      std::map<std::string, Replicas> places;
      for (const auto& [replica, arrival] : arrivals) {
        const TraceStep* const producer = producer_of(*arrival, i);
        if (producer != nullptr) places[place_of(*producer)].insert(replica);
      }
      if (places.size() < 2) continue;
      std::string text =
          merge_words(*arrivals.begin()->second) + " gets values of different operations";
      for (const auto& [place, replicas] : places) {
        text += fmt::format("{} {} of {}", text.ends_with("operations") ? ": that of" : ", that of",
                            place, replicas_words(replicas));
      }
      add(text);
    }
  }

  // The first operation of other replicas that a replica leaves out, and the number of further
  // ones.
  void find_left_out(const Stretch& stretch) {
    std::map<Replicas, std::vector<const TraceStep*>> left_out;
    for (const auto& [operation, steps] : stretch.operations) {
      Replicas without;
      for (const std::string& replica : stretch.replicas) {
        if (!steps.contains(replica)) without.insert(replica);
      }
      if (!without.empty()) left_out[without].push_back(steps.begin()->second);
    }
    // A replica without an upload, or without any work, may have no data.
    std::erase_if(left_out, [&](const auto& entry) {
      const bool has_upload = std::ranges::any_of(
          entry.second, [](const TraceStep* step) { return step->name == "write"; });
      return has_upload ||
             !std::ranges::all_of(entry.first, [&stretch](const std::string& replica) {
               return std::ranges::any_of(stretch.operations, [&replica](const auto& operation) {
                 return std::get<StepKind>(operation.first) == StepKind::kEnqueue &&
                        operation.second.contains(replica);
               });
             });
    });
    for (auto& [without, steps] : left_out) {
      std::ranges::sort(steps, {}, &TraceStep::step);
      const TraceStep& first = *steps.front();
      std::string text =
          fmt::format("{} {} not {} {}, and the others do", replicas_words(without),
                      without.size() == 1 ? "does" : "do",
                      first.kind == StepKind::kEnqueue ? "enqueue" : "write", place_of(first));
      if (steps.size() > 1) {
        text += fmt::format(", nor {} further operation{}", steps.size() - 1,
                            steps.size() == 2 ? "" : "s");
      }
      add(text);
    }
  }

  const Trace& trace_;
  DataFlow flow_;
  std::map<std::int64_t, std::int64_t> last_reads_;  // Of buffers: places in the program.
  std::set<std::int64_t> done_;                      // Steps that enqueued work which was done.
  std::int64_t last_not_done_ = -1;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>
      components_;  // So far, of a version.
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::int64_t>>
      buffers_;                                           // Of components.
  std::map<std::int64_t, const TraceStep*> changed_;      // The first change after a buffer.
  std::map<std::array<std::string, 3>, Replicas> stale_;  // Reader, variable, line of the change.
  std::map<MergeId, StepsByReplica> rounds_;
  std::map<std::pair<std::int64_t, std::string>, OpenStretch> open_;  // By run and replica.
  std::map<std::pair<MergeId, MergeId>, Stretch> stretches_;  // By the merges before and after.
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string> remarks_on(const Trace& trace) { return Remarks(trace).take_texts(); }

}  // namespace belfry::tool
