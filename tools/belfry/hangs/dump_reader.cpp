// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/dump_reader.h"

#include "belfry/detail/json.h"
#include "belfry/detail/json_value.h"
#include "belfry/error.h"
#include "exit_code.h"
#include "hangs/pickle.h"
#include "trace/line_members.h"
#include "trace/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <utility>

namespace belfry::tool::hangs {
namespace {

constexpr std::size_t kBegin = 4096;  // Bytes that tell the kind of a file.

constexpr char kPickle = '\x80';  // The first byte of a pickle.

// The file, and the part with the object.
class DumpPlace final : public MemberPlace {
 public:
  explicit DumpPlace(std::string where) : where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgumentError(ErrorCode::kFileFormat, fmt::format("{}: {}", where_, what));
  }
  [[noreturn]] void fail(std::string_view /*member*/, const std::string& what) const override {
    fail(what);
  }

  LineMembers members_of(const JsonValue& object) const {
    if (object.kind != JsonValue::Kind::kObject) fail("expected an object");
    return {object, *this};
  }

 private:
  std::string where_;
};

Sizes sizes_of(const LineMembers& members, std::string_view name) {
  Sizes sizes;
  for (const JsonValue& shape : members.list(name)) {
    std::vector<std::int64_t>& lengths = sizes.emplace_back();
    for (const JsonValue& length : shape.parts) {
      const auto number = length.whole_number();
      if (!number.has_value()) {
        members.place().fail(name, fmt::format("expected lists of lengths as {}", name));
      }
      lengths.push_back(*number);
    }
  }
  return sizes;
}

// `[0, 1, 2]`, a string in dumps of PyTorch; without other digits.
std::vector<int> ranks_of(const JsonValue& value, const DumpPlace& place) {
  std::vector<int> ranks;
  std::string digits;
  for (const char c : value.text + ",") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
    } else if (!digits.empty()) {
      if (digits.size() > 6) place.fail("expected ranks below 1,000,000");
      ranks.push_back(std::stoi(std::exchange(digits, {})));
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

State state_of(const LineMembers& members) {
  const std::string state = members.text("state");
  if (state == "completed") return State::kCompleted;
  if (state == "started") return State::kStarted;
  if (state != "scheduled") {
    members.place().fail("state", "expected scheduled, started or completed as state");
  }
  return State::kScheduled;
}

HostState host_state_of(const LineMembers& ours) {
  const std::string state = ours.text("host_state");
  if (state == "running") return HostState::kRunning;
  if (state == "waiting") return HostState::kWaiting;
  if (state == "ended") return HostState::kEnded;
  if (state == "failed") return HostState::kFailed;
  return HostState::kUnknown;
}

Entry entry_of(const LineMembers& members) {
  Entry entry;
  entry.record = members.number("record_id");
  const std::vector<std::string> group = members.elements("process_group");
  entry.group = group.empty() ? std::to_string(members.number("pg_id")) : group.front();
  entry.seq = members.number("collective_seq_id");
  const std::string name = members.text("profiling_name");
  entry.kind = name.substr(name.find(':') + 1);  // All without a colon.
  entry.p2p = members.flag("is_p2p");
  entry.input_sizes = sizes_of(members, "input_sizes");
  entry.output_sizes = sizes_of(members, "output_sizes");
  entry.input_types = members.elements("input_dtypes");
  entry.output_types = members.elements("output_dtypes");
  entry.state = state_of(members);
  entry.retired = members.flag("retired");
  if (const JsonValue* ours = members.find("belfry")) {
    const LineMembers more(*ours, members.place());
    entry.op = more.text("op");
    if (more.has("root")) entry.root = more.number("root");
    entry.line = more.text("line");
    entry.variable = more.text("variable");
  }
  return entry;
}

void read_groups(const JsonValue& top, Dump& dump) {
  for (const JsonValue& config : top.at("pg_config").parts) {
    const DumpPlace place(dump.file + ": the group '" + config.name + "'");
    const LineMembers members = place.members_of(config);
    const JsonValue* list = members.find("ranks");
    if (list == nullptr) continue;
    std::vector<int> ranks = ranks_of(*list, place);
    if (!ranks.empty()) dump.ranks = std::max(dump.ranks, ranks.back() + 1);
    if (config.name.empty()) continue;  // gloo describes the last group alone, without its name.
    dump.groups.push_back({config.name, members.text("desc"), std::move(ranks)});
  }
}

// The states of groups stand by the number of the group in the process; entries tell the name.
void read_last_entered(const JsonValue& top, const std::map<std::string, std::string>& names,
                       Dump& dump) {
  for (const JsonValue& status : top.at("pg_status").parts) {
    const auto name = names.find(status.name);
    if (name == names.end()) continue;
    dump.last_entered.emplace_back(name->second, status.number_of("last_enqueued_collective"));
  }
}

int rank_in_name(const std::string& file) {
  const std::string name = file.substr(0, file.find('.', file.find_last_of('/') + 1));
  const std::size_t begin = name.find_last_not_of("0123456789") + 1;
  const std::string digits = name.substr(begin);
  if (digits.empty() || digits.size() > 6) {
    throw UsageError(ErrorCode::kInvalidArgument, file + ": the rank of the dump is not known",
                     "end the name of the file with the rank, for example rank3.json");
  }
  return std::stoi(digits);
}

void read_ours(const JsonValue& value, Dump& dump) {
  const DumpPlace place(dump.file + ": belfry");
  const LineMembers ours = place.members_of(value);
  dump.ours = true;
  const std::int64_t rank = ours.number("rank");
  const std::int64_t ranks = ours.number("ranks", 0);
  if (rank > 999'999 || ranks > 1'000'000) place.fail("expected ranks below 1,000,000");
  dump.rank = static_cast<int>(rank);
  dump.ranks = static_cast<int>(ranks);
  dump.host = host_state_of(ours);
  dump.where = ours.text("in");
  if (!ours.text("line").empty()) {
    dump.where += (dump.where.empty() ? "" : " at ") + ours.text("line");
  }
  if (const JsonValue* error = ours.find("error")) {
    const LineMembers members = place.members_of(*error);
    dump.error =
        members.text("code") + (members.text("code").empty() ? "" : " ") + members.text("text");
  }
}

Dump dump_of(const JsonValue& value, const std::string& file) {
  const DumpPlace place(file);
  const LineMembers top = place.members_of(value);
  const std::string version = top.text("version");
  if (!version.starts_with("2.")) {
    place.fail("expected the dump of a flight recorder, version 2, not '" + version + "'");
  }
  Dump dump{.file = file};
  if (const JsonValue* ours = top.find("belfry")) {
    read_ours(*ours, dump);
  } else {
    dump.rank = rank_in_name(file);
  }
  read_groups(value, dump);
  std::map<std::string, std::string> names;  // By number.
  std::map<std::string, std::string> descriptions;
  for (const JsonValue& object : top.list("entries")) {
    const DumpPlace here(fmt::format("{}: entry {}", file, dump.entries.size()));
    const LineMembers members = here.members_of(object);
    Entry& entry = dump.entries.emplace_back(entry_of(members));
    names[std::to_string(members.number("pg_id"))] = entry.group;
    const std::vector<std::string> group = members.elements("process_group");
    descriptions[entry.group] = group.size() > 1 ? group[1] : "";
    dump.has_states |= entry.state != State::kScheduled;
  }
  for (const auto& [name, description] : descriptions) {
    const auto known = std::find_if(dump.groups.begin(), dump.groups.end(),
                                    [&](const DumpGroup& group) { return group.name == name; });
    if (known == dump.groups.end()) {
      dump.groups.push_back({name, description, {}});
    } else if (!known->ranks.empty() &&
               !std::binary_search(known->ranks.begin(), known->ranks.end(), dump.rank)) {
      place.fail(fmt::format("expected rank {} in group {} (is it the dump of another rank?)",
                             dump.rank, name));
    }
  }
  std::sort(dump.entries.begin(), dump.entries.end(),
            [](const Entry& a, const Entry& b) { return a.record < b.record; });
  read_last_entered(value, names, dump);
  return dump;
}

bool is_dump(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string begin(kBegin, '\0');
  in.read(begin.data(), kBegin);
  begin.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (begin.starts_with(kPickle)) return true;
  if (begin.find("\"belfry_trace\"") != std::string::npos) return false;
  constexpr std::array kSigns = {"\"entries\"", "\"pg_config\"", "\"pg_status\"",
                                 "\"comm_lib_version\"", "\"nccl_comm_state\""};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](const char* sign) { return begin.find(sign) != std::string::npos; });
}

}  // namespace

bool are_dumps(const std::vector<std::string>& paths) {
  const auto dumps = std::count_if(paths.begin(), paths.end(), is_dump);
  if (dumps == 0 || dumps == static_cast<std::ptrdiff_t>(paths.size())) return dumps != 0;
  const auto other = std::find_if_not(paths.begin(), paths.end(), is_dump);
  throw UsageError(ErrorCode::kInvalidArgument, *other + " is no dump of a flight recorder",
                   "explain dumps of ranks, or traces, not both at once");
}

Dump parse_dump(std::string_view text, const std::string& file) {
  try {
    return dump_of(text.starts_with(kPickle) ? parse_pickle(text) : detail::parse_json(text), file);
  } catch (const detail::JsonError& error) {
    throw InvalidArgumentError(
        ErrorCode::kFileFormat,
        fmt::format("{}: byte {}: expected a dump: {}", file, error.read, error.what()),
        "a dump that was cut short cannot be read: take the other ranks' dumps without it");
  }
}

std::vector<Dump> read_dumps(const std::vector<std::string>& files) {
  std::vector<Dump> dumps;
  for (const std::string& file : files) {
    std::ifstream in = open_trace(file);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    dumps.push_back(parse_dump(text, file));
  }
  std::sort(dumps.begin(), dumps.end(),
            [](const Dump& a, const Dump& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < dumps.size(); ++i) {
    if (dumps[i].rank != dumps[i - 1].rank) continue;
    throw UsageError(ErrorCode::kInvalidArgument,
                     fmt::format("{} and {} are both of rank {}", dumps[i - 1].file, dumps[i].file,
                                 dumps[i].rank));
  }
  return dumps;
}

}  // namespace belfry::tool::hangs
