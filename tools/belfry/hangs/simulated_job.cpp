// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/simulated_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace belfry::tool::hangs {
namespace {

constexpr const char* kKinds[] = {"all_reduce", "broadcast", "_allgather_base",
                                  "_reduce_scatter_base"};

bool has(const SimulatedGroup& group, std::size_t rank) {
  return std::find(group.ranks.begin(), group.ranks.end(), static_cast<int>(rank)) !=
         group.ranks.end();
}

}  // namespace

// The groups are all ranks and, for an even number, a grid: blocks of neighbours, and the ranks of
// equal place in the blocks.
SimulatedJob::SimulatedJob(int ranks, std::uint32_t seed)
    : random_(seed), programs_(static_cast<std::size_t>(ranks)) {
  depth_ = random(2) == 0 ? 1 : 1 + random(4);
  groups_.push_back({"0", {}});
  for (int rank = 0; rank < ranks; ++rank) groups_[0].ranks.push_back(rank);
  std::size_t axes = 1;
  if (ranks >= 4 && ranks % 2 == 0) {
    const int block = ranks % 4 == 0 && ranks > 4 && random(2) == 0 ? 4 : 2;
    for (int first = 0; first < ranks; first += block) {
      SimulatedGroup& group = groups_.emplace_back();
      for (int i = 0; i < block; ++i) group.ranks.push_back(first + i);
    }
    for (int place = 0; place < block; ++place) {
      SimulatedGroup& group = groups_.emplace_back();
      for (int rank = place; rank < ranks; rank += block) group.ranks.push_back(rank);
    }
    for (std::size_t i = 1; i < groups_.size(); ++i) groups_[i].name = std::to_string(i);
    axes_ = {{groups_.begin() + 1, groups_.begin() + 1 + ranks / block}};
    axes = 3;
  }
  for (std::size_t axis = 0; axis < axes; ++axis) add_call(axis);
  const std::size_t calls = 12 + random(20);
  for (std::size_t i = 0; i < calls; ++i) add_call(random(axes));
  stop_.assign(programs_.size(), calls + axes);
  run();
}

// A call of all groups of the axis: 0 all ranks, 1 blocks, 2 ranks of equal place.
void SimulatedJob::add_call(std::size_t axis) {
  const std::size_t blocks = axes_.empty() ? 0 : axes_[0].size();
  const std::size_t begin = axis == 0 ? 0 : (axis == 1 ? 1 : 1 + blocks);
  const std::size_t end = axis == 0 ? 1 : (axis == 1 ? 1 + blocks : groups_.size());
  SimulatedCall call{.kind = kKinds[random(4)], .rows = 8 << random(5)};
  for (call.group = begin; call.group < end; ++call.group) {
    for (const int rank : groups_[call.group].ranks) {
      programs_[static_cast<std::size_t>(rank)].push_back(call);
    }
  }
}

std::int64_t SimulatedJob::seq_of(const Program& program, std::size_t at) const {
  return std::count_if(program.begin(), program.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                       [&](const SimulatedCall& call) { return call.group == program[at].group; });
}

std::optional<std::size_t> SimulatedJob::next_in_group(const Program& program,
                                                       std::size_t at) const {
  for (std::size_t i = at + 1; i < program.size(); ++i) {
    if (program[i].group == program[at].group) return i;
  }
  return std::nullopt;
}

bool SimulatedJob::change(Mistake mistake, std::size_t rank, std::size_t at) {
  Program& program = programs_[rank];
  const Program right = program;
  SimulatedCall& call = program[at];
  const auto next = next_in_group(right, at);
  truth_ = {.rank = static_cast<int>(rank),
            .group = groups_[call.group].name,
            .first_seq = seq_of(right, at)};
  truth_.last_seq = truth_.first_seq;
  switch (mistake) {
    case Mistake::kNone:
      return false;
    case Mistake::kLeftOut:
      for (auto later = next; later.has_value() && right[*later] == call;
           later = next_in_group(right, *later)) {
        ++truth_.last_seq;
      }
      program.erase(program.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    case Mistake::kOrder:
      if (!next.has_value() || right[*next] == call) return false;
      std::swap(call, program[*next]);
      return true;
    case Mistake::kKind:
      call.kind = call.kind == kKinds[0] ? kKinds[1] : kKinds[0];
      return true;
    case Mistake::kShape:
      call.rows += 1;
      return true;
    case Mistake::kType:
      call.type = "Half";
      return true;
    case Mistake::kGroupOrder:
      if (at + 1 == program.size() || program[at + 1].group == call.group) return false;
      truth_.second_group = groups_[program[at + 1].group].name;
      truth_.second_seq = seq_of(right, at + 1);
      std::swap(call, program[at + 1]);
      return true;
    case Mistake::kCrash:
    case Mistake::kSlow:
      stop_[rank] = at;
      return true;
  }
  return false;
}

bool SimulatedJob::make(Mistake mistake) {
  mistake_ = mistake;
  const std::vector<Program> right = programs_;
  const std::vector<std::size_t> stop = stop_;
  for (int tries = 0; tries < 200; ++tries) {
    const std::size_t rank = random(programs_.size());
    // Not the first calls: a rank without a call of a group is unknown to the dumps of the group.
    const std::size_t at = 3 + random(programs_[rank].size() - 3);
    if (change(mistake, rank, at)) {
      run();
      for (std::size_t i = 0; i < programs_.size(); ++i) {
        if (entered_[i] > done_[i]) return true;
      }
    }
    programs_ = right;
    stop_ = stop;
  }
  return false;
}

// All members have the call at the head of their devices' work, with the same properties.
bool SimulatedJob::completes(std::size_t rank) const {
  const SimulatedCall& call = programs_[rank][done_[rank]];
  for (const int other : groups_[call.group].ranks) {
    const auto member = static_cast<std::size_t>(other);
    if (done_[member] == entered_[member]) return false;
    if (programs_[member][done_[member]] != call) return false;
    if (seq_of(programs_[member], done_[member]) != seq_of(programs_[rank], done_[rank])) {
      return false;
    }
  }
  return true;
}

void SimulatedJob::run() {
  entered_.assign(programs_.size(), 0);
  done_ = entered_;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
      const std::size_t last =
          std::min({programs_[rank].size(), stop_[rank], done_[rank] + depth_});
      moved |= entered_[rank] < last;
      entered_[rank] = std::max(entered_[rank], last);
      if (done_[rank] == entered_[rank] || !completes(rank)) continue;
      const std::size_t group = programs_[rank][done_[rank]].group;
      for (const int member : groups_[group].ranks) ++done_[static_cast<std::size_t>(member)];
      moved = true;
    }
  }
}

std::string SimulatedJob::entry(Format format, std::size_t rank, std::size_t at) const {
  const SimulatedCall& call = programs_[rank][at];
  const SimulatedGroup& group = groups_[call.group];
  const auto members = static_cast<std::int64_t>(group.ranks.size());
  const bool gathers = call.kind == kKinds[2];
  const bool scatters = call.kind == kKinds[3];
  const char* state = at < done_[rank] ? "completed" : at == done_[rank] ? "started" : "scheduled";
  if (format == Format::kGloo) state = "scheduled";
  std::string ours;
  if (format == Format::kBelfry) {
    ours = fmt::format(R"(,"belfry":{{"line":"train.cpp:{}"{}}})", 10 + at,
                       call.kind == kKinds[0] ? R"(,"op":"sum")" : "");
  }
  return fmt::format(
      R"({{"record_id":{},"pg_id":{},"process_group":["{}","{}"],"collective_seq_id":{},)"
      R"("p2p_seq_id":0,"op_id":{},"profiling_name":"{}:{}","time_created_ns":{},)"
      R"("input_sizes":[[{},4]],"output_sizes":[[{},4]],"input_dtypes":["{}"],)"
      R"("output_dtypes":["{}"],"state":"{}","time_discovered_started_ns":null,)"
      R"("time_discovered_completed_ns":null,"retired":{},"timeout_ms":5000,"is_p2p":false{}}})",
      at, call.group, group.name, group.name == "0" ? "default_pg" : "undefined",
      seq_of(programs_[rank], at), at + 1, format == Format::kGloo ? "gloo" : "nccl", call.kind,
      1795834480026215303 + static_cast<std::int64_t>(at), call.rows * (scatters ? members : 1),
      call.rows * (gathers ? members : 1), call.type, call.type, state,
      at < done_[rank] ? "true" : "false", ours);
}

std::string SimulatedJob::dump(Format format, std::size_t rank, std::size_t ring) const {
  std::string configs;
  std::string status;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const SimulatedGroup& group = groups_[i];
    if (!has(group, rank)) continue;
    const std::string config =
        fmt::format(R"({{"name":"{0}","desc":"{1}","ranks":"[{2}]"}})", group.name,
                    group.name == "0" ? "default_pg" : "undefined", fmt::join(group.ranks, ", "));
    if (format == Format::kGloo) {
      configs = R"("":)" + config;  // The last group alone.
    } else {
      configs += fmt::format(R"({}"{}":{})", configs.empty() ? "" : ",", group.name, config);
    }
    const auto count = [&](std::size_t end) {
      const auto begin = programs_[rank].begin();
      return std::count_if(begin, begin + static_cast<std::ptrdiff_t>(end),
                           [&](const SimulatedCall& call) { return call.group == i; });
    };
    status += fmt::format(
        R"({}"{}":{{"last_enqueued_collective":"{}","last_completed_collective":"{}"}})",
        status.empty() ? "" : ",", i, count(entered_[rank]), count(done_[rank]));
  }
  std::string entries;
  const std::size_t begin = entered_[rank] > ring ? entered_[rank] - ring : 0;
  for (std::size_t at = begin; at < entered_[rank]; ++at) {
    entries += (at == begin ? "" : ",") + entry(format, rank, at);
  }
  std::string ours;
  if (format == Format::kBelfry) {
    const bool ended = entered_[rank] == programs_[rank].size() && done_[rank] == entered_[rank];
    const bool stopped = entered_[rank] == stop_[rank] && done_[rank] == entered_[rank];
    const char* const stopped_state = mistake_ == Mistake::kCrash ? "failed" : "running";
    ours = fmt::format(R"(,"belfry":{{"rank":{},"ranks":{},"host_state":"{}"}})", rank, ranks(),
                       ended ? "ended" : (stopped ? stopped_state : "waiting"));
  }
  return fmt::format(
      R"({{"version":"2.10","entries":[{}],"pg_config":{{{}}},"pg_status":{{{}}}{}}})", entries,
      configs, status, ours);
}

// A crashed rank writes no dump; with belfry an even rank does, after an error.
std::vector<std::string> SimulatedJob::dumps(Format format, std::size_t ring) const {
  std::vector<std::string> dumps;
  for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
    const bool crashed = mistake_ == Mistake::kCrash && static_cast<int>(rank) == truth_.rank &&
                         (format != Format::kBelfry || rank % 2 == 0);
    dumps.push_back(crashed ? "" : dump(format, rank, ring));
  }
  return dumps;
}

}  // namespace belfry::tool::hangs
