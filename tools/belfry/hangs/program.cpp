// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/program.h"

#include "belfry/error.h"
#include "console.h"
#include "hangs/dump_reader.h"
#include "hangs/entry_words.h"
#include "trace/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace belfry::tool::hangs {
namespace {

constexpr std::string_view kFirstLines = R"(#include <belfry/belfry.h>
#include <belfry/sim/backend.h>

#include <iostream>

using namespace belfry;

namespace {

// A call with values: a number stands for the tensors of the job.
[[maybe_unused]] double all_reduce(ReplicaContext& replica, const char* name) {
  return replica.all_reduce(MergeTag{name}, ReduceOp::kSum, 1.0);
}
// A call without a verb of replicas.
[[maybe_unused]] void call(ReplicaContext& replica, const char* name) {
  replica.merge_call(MergeTag{name}, [](CrossReplicaContext&) {});
}
)";

[[noreturn]] void refuse(const std::string& why) {
  throw UnsupportedError(ErrorCode::kUnsupported, "no program can be written: " + why,
                         "belfry explain tells the calls in words");
}

std::vector<int> ranks_of(const Group& group) {
  std::vector<int> ranks;
  for (const Track& track : group.tracks) ranks.push_back(track.rank);
  return ranks;
}

// The text of a string in C++; the texts of dumps may have any bytes.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
    safe += plain ? c : '_';
  }
  return safe;
}

class Program {
 public:
  explicit Program(const Job& job) : job_(job), waits_(job) {
    choose_groups();
    for (const std::size_t group : groups_) find_begin(group);
    for (const int rank : ranks_) {
      std::string body = body_of(rank);
      const auto same = std::find_if(bodies_.begin(), bodies_.end(),
                                     [&](const auto& other) { return other.first == body; });
      if (same == bodies_.end())
        bodies_.push_back({std::move(body), {rank}});
      else
        same->second.push_back(rank);
    }
  }

  void write(std::ostream& out) const {
    out << fmt::format("// The calls of {} up to the open ones, for the simulator.\n",
                       words(ranks_))
        << kFirstLines;
    std::string cases;
    for (const auto& [body, ranks] : bodies_) {
      const int first = ranks.front();
      out << fmt::format("\n// {}.\nvoid calls_{}({}) {{\n{}}}\n", words(ranks), first,
                         body.empty() ? "ReplicaContext& /*replica*/" : "ReplicaContext& replica",
                         body);
      for (const int rank : ranks) cases += fmt::format("        case {}:\n", place_of(rank));
      cases += fmt::format("          return calls_{}(replica);\n", first);
    }
    out << fmt::format(
        "\n}}  // namespace\n\nint main() {{\n  sim::Backend backend{{{{.devices = {}}}}};\n"
        "  MirroredStrategy strategy{{backend}};\n  try {{\n"
        "    strategy.run([](ReplicaContext& replica) {{\n"
        "      switch (replica.replica_id()) {{\n{}      }}\n    }});\n"
        "  }} catch (const Error& error) {{\n    std::cout << error.what() << '\\n';\n"
        "    return 1;\n  }}\n}}\n",
        ranks_.size(), cases);
  }

 private:
  // The groups of open calls and of divergences.
  void choose_groups() {
    const Hang hang = hang_of(job_, waits_);
    for (const Finding& finding : hang.causes) {
      groups_.insert(finding.call->group);
      for (const CallId& call : finding.more_calls) groups_.insert(call.group);
      if (finding.call->seq == 0) refuse("the ranks wait in sends or receives");
    }
    if (groups_.empty()) refuse("no rank waits in a call");
    ranks_ = ranks_of(job_.groups[*groups_.begin()]);
    for (const std::size_t group : groups_) {
      if (ranks_of(job_.groups[group]) == ranks_) continue;
      refuse(fmt::format("ranks wait in {} and {}, which have different ranks",
                         job_.groups[*groups_.begin()].words(), job_.groups[group].words()));
    }
  }

  // Calls overwritten in a ring are left out on all ranks.
  void find_begin(std::size_t group) {
    for (const Track& track : job_.groups[group].tracks) {
      if (track.dump == nullptr) continue;
      if (track.calls.empty() && track.last_entered > 0) {
        refuse("the rings have no common call of " + job_.groups[group].words());
      }
      if (track.calls.empty() || !track.dump->is_cut()) continue;
      begin_[group] = std::max(begin_[group], track.calls.front()->seq + 1);
    }
  }

  const Dump* dump_of(int rank) const { return job_.groups[*groups_.begin()].track(rank)->dump; }
  std::size_t place_of(int rank) const {
    return static_cast<std::size_t>(std::lower_bound(ranks_.begin(), ranks_.end(), rank) -
                                    ranks_.begin());
  }

  // The calls of the rank up to the open call. A rank without a dump took part in the completed
  // calls of the group.
  std::string body_of(int rank) const {
    const Dump* dump = dump_of(rank);
    const bool complete_ones = dump == nullptr;
    for (std::size_t i = 0; dump == nullptr && i < ranks_.size(); ++i) dump = dump_of(ranks_[i]);
    if (dump == nullptr) refuse("no rank of the group has a dump");
    const std::vector<CallId>& calls =
        job_.calls[static_cast<std::size_t>(dump - job_.dumps.data())];
    const std::vector<const Entry*>& open = waits_.open(dump->rank);
    std::string body;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Entry& entry = dump->entries[i];
      const bool is_open = !open.empty() && &entry == open.front();
      if (is_open && complete_ones) break;
      if (!entry.p2p && groups_.contains(calls[i].group) && is_shown(calls[i])) {
        body += line_of(entry, calls[i]);
      }
      if (is_open) break;
    }
    return body;
  }

  bool is_shown(const CallId& call) const {
    const auto begin = begin_.find(call.group);
    return begin == begin_.end() || call.seq >= begin->second;
  }

  // The name is from the first rank with a fitting entry: sizes may differ rightly.
  std::string line_of(const Entry& entry, const CallId& call) const {
    Entry shown = entry;
    for (const Track& track : job_.groups[call.group].tracks) {
      const Entry* const other = track.at(call);
      if (other == nullptr || difference(*other, entry).has_value()) continue;
      shown = *other;
      break;
    }
    shown.line.clear();
    const std::string name =
        escaped(fmt::format("{} {}{}: {}", job_.groups[call.group].words(), call.seq,
                            call.part == 0 ? "" : "+", words(shown)));
    return fmt::format("  {}(replica, \"{}\");{}\n",
                       entry.kind == "all_reduce" ? "all_reduce" : "call", name,
                       entry.line.empty() ? "" : "  // " + escaped(entry.line));
  }

  const Job& job_;
  Waits waits_;
  std::set<std::size_t> groups_;
  std::vector<int> ranks_;                                        // Of each of the groups.
  std::map<std::size_t, std::int64_t> begin_;                     // The first call shown, by group.
  std::vector<std::pair<std::string, std::vector<int>>> bodies_;  // With the ranks of each.
};

}  // namespace

void write_program(const Job& job, std::ostream& out) { Program(job).write(out); }

void export_program(const std::vector<std::string>& files, const std::string& out,
                    Console& console) {
  const Job job(read_dumps(files));
  for (const std::string& file : files) require_other_file(file, out);
  const Program program(job);
  std::ofstream file(out, std::ios::binary);
  program.write(file);
  if (!file.flush()) {
    throw InvalidArgumentError(ErrorCode::kFile,
                               fmt::format("cannot write {}: {}", out, std::strerror(errno)));
  }
  console.line(out + ": compile it with belfry, and run it: it stops where the ranks do");
}

}  // namespace belfry::tool::hangs
