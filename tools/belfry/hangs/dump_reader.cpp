// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "hangs/dump_reader.h"

#include "belfry/detail/json.h"
#include "belfry/detail/json_value.h"
#include "belfry/error.h"
#include "exit_code.h"
#include "hangs/pickle.h"
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

using detail::JsonValue;

constexpr std::size_t kBegin = 4096;  // Bytes that tell the kind of a file.

constexpr char kPickle = '\x80';  // The first byte of a pickle.

// The members of an object, with checks of their types. `where` is for errors.
class Members {
 public:
  Members(const JsonValue& object, std::string where) : object_(object), where_(std::move(where)) {
    if (object.kind != JsonValue::Kind::kObject) fail("an object");
  }

  std::int64_t number(std::string_view name, std::int64_t absent) const {
    const JsonValue* value = find(name);
    if (value == nullptr || value->text == "-1") return absent;
    const auto number = value->whole_number();
    if (!number.has_value()) fail(fmt::format("a whole number as {}", name));
    return *number;
  }
  std::int64_t number(std::string_view name) const {
    if (find(name) == nullptr) fail(fmt::format("the member {}", name));
    return number(name, 0);
  }
  std::string text(std::string_view name) const {
    const JsonValue* value = find(name);
    if (value == nullptr) return {};
    if (value->kind != JsonValue::Kind::kString) fail(fmt::format("a string as {}", name));
    return value->text;
  }
  bool flag(std::string_view name) const {
    const JsonValue* value = find(name);
    if (value == nullptr) return false;
    if (value->kind != JsonValue::Kind::kBool) fail(fmt::format("true or false as {}", name));
    return value->text == "true";
  }
  std::vector<std::string> texts(std::string_view name) const {
    std::vector<std::string> texts;
    for (const JsonValue& part : list(name)) texts.push_back(part.text);
    return texts;
  }
  Sizes sizes(std::string_view name) const {
    Sizes sizes;
    for (const JsonValue& shape : list(name)) {
      std::vector<std::int64_t>& lengths = sizes.emplace_back();
      for (const JsonValue& length : shape.parts) {
        const auto number = length.whole_number();
        if (!number.has_value()) fail(fmt::format("lists of lengths as {}", name));
        lengths.push_back(*number);
      }
    }
    return sizes;
  }
  const std::vector<JsonValue>& list(std::string_view name) const {
    static const std::vector<JsonValue> none;
    const JsonValue* value = find(name);
    if (value == nullptr) return none;
    if (value->kind != JsonValue::Kind::kArray) fail(fmt::format("a list as {}", name));
    return value->parts;
  }
  // The members of an object inside; none without the object.
  const std::vector<JsonValue>& members(std::string_view name) const {
    static const std::vector<JsonValue> none;
    const JsonValue* value = find(name);
    if (value == nullptr) return none;
    if (value->kind != JsonValue::Kind::kObject) fail(fmt::format("an object as {}", name));
    return value->parts;
  }
  // A member with the value null is null, too.
  const JsonValue* find(std::string_view name) const {
    const JsonValue* value = object_.member(name);
    return value == nullptr || value->kind == JsonValue::Kind::kNull ? nullptr : value;
  }
  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& expected) const {
    throw InvalidArgumentError(ErrorCode::kFileFormat,
                               fmt::format("{}: expected {}", where_, expected));
  }

 private:
  const JsonValue& object_;
  std::string where_;
};

// `[0, 1, 2]`, a string in dumps of PyTorch; without other digits.
std::vector<int> ranks_of(const JsonValue& value, const Members& members) {
  std::vector<int> ranks;
  std::string digits;
  for (const char c : value.text + ",") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      digits += c;
    } else if (!digits.empty()) {
      if (digits.size() > 6) members.fail("ranks below 1,000,000");
      ranks.push_back(std::stoi(std::exchange(digits, {})));
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

State state_of(const Members& members) {
  const std::string state = members.text("state");
  if (state == "completed") return State::kCompleted;
  if (state == "started") return State::kStarted;
  if (state == "scheduled") return State::kScheduled;
  members.fail("scheduled, started or completed as state");
}

HostState host_state_of(const Members& ours) {
  const std::string state = ours.text("host_state");
  if (state == "running") return HostState::kRunning;
  if (state == "waiting") return HostState::kWaiting;
  if (state == "ended") return HostState::kEnded;
  if (state == "failed") return HostState::kFailed;
  return HostState::kUnknown;
}

Entry entry_of(const Members& members) {
  Entry entry;
  entry.record = members.number("record_id");
  const std::vector<std::string> group = members.texts("process_group");
  entry.group = group.empty() ? std::to_string(members.number("pg_id")) : group.front();
  entry.seq = members.number("collective_seq_id");
  const std::string name = members.text("profiling_name");
  entry.kind = name.substr(name.find(':') + 1);  // All without a colon.
  entry.p2p = members.flag("is_p2p");
  entry.input_sizes = members.sizes("input_sizes");
  entry.output_sizes = members.sizes("output_sizes");
  entry.input_types = members.texts("input_dtypes");
  entry.output_types = members.texts("output_dtypes");
  entry.state = state_of(members);
  entry.retired = members.flag("retired");
  if (const JsonValue* ours = members.find("belfry")) {
    const Members more(*ours, members.where());
    entry.op = more.text("op");
    if (more.find("root") != nullptr) entry.root = more.number("root");
    entry.line = more.text("line");
    entry.variable = more.text("variable");
  }
  return entry;
}

void read_groups(const Members& top, Dump& dump) {
  for (const JsonValue& config : top.members("pg_config")) {
    const Members members(config, dump.file + ": the group '" + config.name + "'");
    const JsonValue* list = members.find("ranks");
    if (list == nullptr) continue;
    std::vector<int> ranks = ranks_of(*list, members);
    if (!ranks.empty()) dump.ranks = std::max(dump.ranks, ranks.back() + 1);
    if (config.name.empty()) continue;  // gloo describes the last group alone, without its name.
    dump.groups.push_back({config.name, members.text("desc"), std::move(ranks)});
  }
}

// The states of groups stand by the number of the group in the process; entries tell the name.
void read_last_entered(const Members& top, const std::map<std::string, std::string>& names,
                       Dump& dump) {
  for (const JsonValue& status : top.members("pg_status")) {
    const auto name = names.find(status.name);
    if (name == names.end()) continue;
    const Members members(status, dump.file + ": the state of group '" + status.name + "'");
    dump.last_entered.emplace_back(name->second, members.number("last_enqueued_collective", 0));
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
  const Members ours(value, dump.file + ": belfry");
  dump.ours = true;
  const std::int64_t rank = ours.number("rank");
  const std::int64_t ranks = ours.number("ranks", 0);
  if (rank > 999'999 || ranks > 1'000'000) ours.fail("ranks below 1,000,000");
  dump.rank = static_cast<int>(rank);
  dump.ranks = static_cast<int>(ranks);
  dump.host = host_state_of(ours);
  dump.where = ours.text("in");
  if (!ours.text("line").empty()) {
    dump.where += (dump.where.empty() ? "" : " at ") + ours.text("line");
  }
  if (const JsonValue* error = ours.find("error")) {
    const Members members(*error, dump.file + ": error");
    dump.error =
        members.text("code") + (members.text("code").empty() ? "" : " ") + members.text("text");
  }
}

Dump dump_of(const JsonValue& value, const std::string& file) {
  const Members top(value, file);
  const std::string version = top.text("version");
  if (!version.starts_with("2.")) {
    top.fail("the dump of a flight recorder, version 2, not '" + version + "'");
  }
  Dump dump{.file = file};
  if (const JsonValue* ours = top.find("belfry")) {
    read_ours(*ours, dump);
  } else {
    dump.rank = rank_in_name(file);
  }
  read_groups(top, dump);
  std::map<std::string, std::string> names;  // By number.
  std::map<std::string, std::string> descriptions;
  for (const JsonValue& object : top.list("entries")) {
    const std::string where = fmt::format("{}: entry {}", file, dump.entries.size());
    const Members members(object, where);
    Entry& entry = dump.entries.emplace_back(entry_of(members));
    names[std::to_string(members.number("pg_id"))] = entry.group;
    const std::vector<std::string> group = members.texts("process_group");
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
      top.fail(
          fmt::format("rank {} in group {} (is it the dump of another rank?)", dump.rank, name));
    }
  }
  std::sort(dump.entries.begin(), dump.entries.end(),
            [](const Entry& a, const Entry& b) { return a.record < b.record; });
  read_last_entered(top, names, dump);
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
