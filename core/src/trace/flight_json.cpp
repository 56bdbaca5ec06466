// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/flight_json.h"

#include "belfry/detail/json.h"
#include "belfry/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace belfry::detail {
namespace {

// Names of PyTorch, and names of belfry for unsigned types.
std::string type_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "Float";
    case DType::kFloat64:
      return "Double";
    case DType::kFloat16:
      return "Half";
    case DType::kBFloat16:
      return "BFloat16";
    case DType::kInt8:
      return "Char";
    case DType::kInt16:
      return "Short";
    case DType::kInt32:
      return "Int";
    case DType::kInt64:
      return "Long";
    case DType::kUInt8:
      return "Byte";
    case DType::kBool:
      return "Bool";
    default:
      return to_string(dtype);
  }
}

const char* name_of(FlightState state) {
  switch (state) {
    case FlightState::kScheduled:
      return "scheduled";
    case FlightState::kStarted:
      return "started";
    case FlightState::kCompleted:
      return "completed";
  }
  return "?";
}

std::string place_text(const CallSite& site) { return fmt::format("{}:{}", site.file, site.line); }

// The member of belfry's own fields.
std::string own_fields(const FlightEntry& entry) {
  std::string text = "\"verb\":" + json_string(entry.verb);
  if (!entry.site.empty()) text += ",\"line\":" + json_string(place_text(entry.site));
  if (!entry.has_values) return text;
  const FlightValues& values = entry.values;
  if (values.op) text += ",\"op\":" + json_string(to_string(*values.op));
  if (values.root >= 0) text += fmt::format(",\"root\":{}", values.root);
  if (values.tensors > 1) text += fmt::format(",\"tensors\":{}", values.tensors);
  const auto variable = entry.group->variables.find(values.variable - 1);
  if (variable != entry.group->variables.end()) {
    text += ",\"variable\":" + json_string(variable->second);
  }
  return text;
}

// Groups of one process alone have the names of other groups elsewhere.
std::string name_of(const FlightFile& file, const FlightGroup& group) {
  const bool is_alone = group.size == 0 && group.members.empty() && file.processes > 1;
  return is_alone ? fmt::format("{} of process {}", group.name, file.process) : group.name;
}

std::string entry_json(const FlightFile& file, const FlightEntry& entry, std::uint64_t record) {
  const FlightGroup& group = *entry.group;
  const bool has_type = entry.has_values && entry.values.dtype.has_value();
  const std::string sizes = has_type ? fmt::format("[[{}]]", entry.values.count) : "[]";
  const std::string types =
      has_type ? "[" + json_string(type_name(*entry.values.dtype)) + "]" : "[]";
  const auto group_number =
      std::ranges::find_if(file.groups, [&](const FlightGroup& other) { return &other == &group; });
  const bool is_started = entry.state != FlightState::kScheduled;
  return fmt::format(
      "{{\"record_id\":{},\"pg_id\":{},\"process_group\":[{},{}],\"collective_seq_id\":{},"
      "\"p2p_seq_id\":0,\"op_id\":{},\"is_p2p\":false,\"profiling_name\":{},\"input_sizes\":{},"
      "\"output_sizes\":{},\"input_dtypes\":{},\"output_dtypes\":{},\"state\":\"{}\","
      "\"time_created_ns\":{},\"time_discovered_started_ns\":{},"
      "\"time_discovered_completed_ns\":{},\"retired\":{},\"timeout_ms\":{},\"thread_id\":\"0\","
      "\"thread_name\":\"\",\"belfry\":{{{}}}}}",
      record, group_number - file.groups.begin(), json_string(name_of(file, group)),
      json_string(group.about), entry.number, entry.number,
      json_string(group.carrier + ":" + entry.verb), sizes, sizes, types, types,
      name_of(entry.state), entry.created_ns, is_started ? entry.created_ns : 0, entry.completed_ns,
      entry.state == FlightState::kCompleted, file.deadline_ms, own_fields(entry));
}

std::string ranks_of(const FlightGroup& group) {
  std::vector<int> ranks = group.members.empty() ? group.own : group.members;
  if (group.size > 0) {
    ranks.clear();
    for (int rank = 0; rank < group.size; ++rank) ranks.push_back(rank);
  }
  return fmt::format("[{}]", fmt::join(ranks, ", "));
}

bool has_rank(const FlightGroup& group, int rank) {
  return std::ranges::find(group.own, rank) != group.own.end();
}

// The last operation of the group in each state.
std::string status_of(const FlightGroup& group, const std::vector<FlightEntry>& entries) {
  std::int64_t enqueued = static_cast<std::int64_t>(group.begun);
  std::int64_t started = enqueued;
  std::int64_t completed = enqueued;
  for (const FlightEntry& entry : entries) {
    if (entry.group != &group) continue;
    const auto before = static_cast<std::int64_t>(entry.number) - 1;
    enqueued = std::max(enqueued, before + 1);
    if (entry.state == FlightState::kScheduled) started = std::min(started, before);
    if (entry.state != FlightState::kCompleted) completed = std::min(completed, before);
  }
  const auto text = [](std::int64_t number) { return number == 0 ? -1 : number; };
  return fmt::format(
      "{{\"last_enqueued_collective\":\"{}\",\"last_started_collective\":\"{}\","
      "\"last_completed_collective\":\"{}\"}}",
      text(enqueued), text(started), text(completed));
}

// The present state of the rank.
std::string rank_json(const FlightFile& file) {
  const FlightRank& rank = file.rank;
  std::string text = fmt::format(
      "\"recorder\":1,\"rank\":{},\"ranks\":{},\"process\":{},\"processes\":{},\"replica\":{},"
      "\"host_state\":\"{}\"",
      rank.rank, file.ranks, file.process, file.processes, rank.rank, rank.state);
  if (rank.in != nullptr) text += ",\"in\":" + json_string(rank.in);
  if (!rank.site.empty()) text += ",\"line\":" + json_string(place_text(rank.site));
  text += fmt::format(",\"reason\":\"{}\"", file.reason);
  if (file.error != nullptr) {
    text += fmt::format(",\"error\":{{\"code\":\"BF-{:03}\",\"text\":{}}}",
                        static_cast<int>(file.error->code), json_string(file.error->summary));
  }
  return text;
}

}  // namespace

std::string flight_json(const FlightFile& file) {
  std::vector<FlightEntry> entries;
  for (const FlightEntry* entry : file.entries) entries.push_back(*entry);
  // A rank that waits for others: the operation has not begun.
  if (file.rank.scheduled != nullptr) {
    FlightEntry entry;
    entry.group = file.rank.scheduled;
    entry.number = entry.group->begun + 1;
    entry.verb = file.rank.in;
    entry.site = file.rank.site;
    entry.has_values = true;
    entry.values = file.rank.values;
    entries.push_back(entry);
  }
  std::string groups;
  std::string statuses;
  int id = 0;
  for (const FlightGroup& group : file.groups) {
    if (has_rank(group, file.rank.rank)) {
      const char* const gap = groups.empty() ? "" : ",";
      groups += fmt::format("{}{}:{{\"name\":{},\"desc\":{},\"ranks\":\"{}\"}}", gap,
                            json_string(name_of(file, group)), json_string(name_of(file, group)),
                            json_string(group.about), ranks_of(group));
      statuses += fmt::format("{}\"{}\":{}", gap, id, status_of(group, entries));
    }
    ++id;
  }
  std::string list;
  std::uint64_t record = file.first;
  for (const FlightEntry& entry : entries) {
    list += (list.empty() ? "\n" : ",\n") + entry_json(file, entry, record++);
  }
  return fmt::format(
      "{{\"version\":\"2.10\",\"comm_lib_version\":\"\",\"nccl_comm_state\":{{}},\n"
      "\"pg_config\":{{{}}},\n\"pg_status\":{{{}}},\n\"belfry\":{{{}}},\n\"entries\":[{}]}}\n",
      groups, statuses, rank_json(file), list);
}

}  // namespace belfry::detail
