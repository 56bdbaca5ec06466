// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/log.h"

#include "engine/digest.h"
#include "log/unnamed_merges.h"

#include <algorithm>
#include <new>

namespace belfry::sim {
namespace {

constexpr std::int32_t kFarAgent = 1 << 22;
constexpr std::uint64_t kContext = 3;

std::string hex(std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[value >> shift & 15];
  return text;
}

std::optional<LogRecord> record_at(const Log& log, std::uint64_t index) {
  if (index >= log.records().size()) return std::nullopt;
  return log.records()[index];
}

// The record with its annotation, in a line of its own.
std::string line_of(const Log& log, std::uint64_t index) {
  const std::string annotation = annotation_text(log, index);
  return to_string(log.records()[index]) + (annotation.empty() ? "" : ", " + annotation) + "\n";
}

std::string side(const char* name, const Log& log, std::uint64_t index) {
  const std::string text = std::string("  ") + name + ": ";
  if (record_at(log, index)) return text + line_of(log, index);
  return text + (index < log.size() ? "not kept\n" : "has ended\n");
}

std::string describe(const Log& first, const Log& second, std::uint64_t index) {
  std::string text = "operation " + std::to_string(index) + " differs:\n";
  text += side("first ", first, index) + side("second", second, index);
  if (index != 0) text += "after, in both:\n";
  for (std::uint64_t i = index - std::min(index, kContext); i < index; ++i) {
    if (record_at(first, i)) text += "  " + line_of(first, i);
  }
  for (const UnnamedMerges& line : unnamed_merges(first)) text += to_string(line) + '\n';
  return text;
}

}  // namespace

std::string to_string(const LogRecord& record) {
  std::string text = to_string(record.agent()) + " " + to_string(record.kind) + " " +
                     std::to_string(record.subject);
  if (record.value != 0) text += " (" + hex(record.value) + ")";
  return text;
}

std::uint64_t& Log::hash_of(const AgentId& agent) {
  auto& hashes = agent_hashes_[static_cast<std::size_t>(agent.kind)];
  const auto index = static_cast<std::uint32_t>(agent.index);
  if (index < hashes.size()) [[likely]] {
    return hashes[index];
  }
  return new_hash(agent);
}

std::uint64_t& Log::new_hash(const AgentId& agent) {
  auto& hashes = agent_hashes_[static_cast<std::size_t>(agent.kind)];
  try {
    if (agent.index < 0 || agent.index >= kFarAgent) return far_agent_hashes_[agent];
    hashes.resize(static_cast<std::size_t>(agent.index) + 1);
  } catch (const std::bad_alloc&) {
    return lost_hash_;
  }
  replicas_ = static_cast<std::uint32_t>(agent_hashes_[kReplicas].size());
  return hashes.back();
}

std::uint64_t Log::order_free_hash() const {
  std::uint64_t sum = 0;
  const auto add = [&](std::uint64_t hash, std::uint64_t kind, std::int32_t index) {
    if (hash != 0) sum += engine::mix(hash, kind << 32 | static_cast<std::uint32_t>(index));
  };
  for (std::size_t kind = 0; kind < agent_hashes_.size(); ++kind) {
    std::int32_t index = 0;
    for (const std::uint64_t hash : agent_hashes_[kind]) add(hash, kind, index++);
  }
  for (const auto& [agent, hash] : far_agent_hashes_) {
    add(hash, static_cast<std::uint64_t>(agent.kind), agent.index);
  }
  add(lost_hash_, agent_hashes_.size(), 0);
  return sum;
}

void Log::append_other(const Operation& operation) {
  if (!is_step(operation.kind)) return;
  count(operation.agent, operation, hash_of(operation.agent));
  if (size_++ >= limit_) return;
  const bool has_site = keep_merge_sites_ && operation.kind == OperationKind::kMerge;
  if (has_site && !keep_site(operation)) return;
  if (operation.agent.kind == AgentId::Kind::kReplica) return keep(operation);
  if (keep_record(operation)) annotations_.add(operation, records_.size() - 1);
}

// Whether memory holds the site: every kept merge has a site.
bool Log::keep_site(const Operation& operation) {
  try {
    merge_sites_.push_back(operation.site);
    return true;
  } catch (const std::bad_alloc&) {
    limit_ = records_.size();
    return false;
  }
}

// The frequent steps of replicas have no name; the annotation of their merge has the line.
void Log::keep(const Operation& operation) {
  if (!keep_record(operation) || operation.name.empty()) return;
  annotations_.add(operation, records_.size() - 1);
}

bool Log::keep_record(const Operation& operation) {
  try {
    records_.push_back({operation.subject, operation.value, hash_, operation.agent.index,
                        operation.agent.kind, operation.kind, 0});
    return true;
  } catch (const std::bad_alloc&) {
    limit_ = records_.size();  // The first ones are kept, without a gap.
    return false;
  }
}

std::string annotation_text(const Log& log, std::uint64_t record) {
  const Annotation* const known = log.annotations().find(record);
  if (known == nullptr || record >= log.records().size()) return {};
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (known->name != 0) add(std::string(log.annotations().name(known->name)));
  const LogRecord& own = log.records()[record];
  if (own.kind == OperationKind::kAllocate) add(std::to_string(own.value) + " B");
  if (!known->site.empty()) add(to_string(known->site));
  if (known->failed) add("FAILED");
  return text;
}

std::string to_string(const LogDifference& difference) { return difference.text; }

std::optional<LogDifference> compare(const Log& first, const Log& second) {
  if (first.size() == second.size() && first.hash() == second.hash()) return std::nullopt;
  const auto& a = first.records();
  const auto& b = second.records();
  // Hashes are chained: after the first difference the hashes differ for good.
  std::size_t low = 0;
  std::size_t high = std::min(a.size(), b.size());
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (a[middle].hash == b[middle].hash) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return LogDifference{low, record_at(first, low), record_at(second, low),
                       describe(first, second, low)};
}

}  // namespace belfry::sim
