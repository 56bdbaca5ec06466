// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/annotations.h"

#include <algorithm>
#include <new>

namespace belfry::sim {

std::string to_string(const Annotation& annotation) {
  std::string text = "record " + std::to_string(annotation.record);
  if (annotation.name != 0) text += ", name " + std::to_string(annotation.name);
  if (annotation.reads != 0) text += ", reads " + std::to_string(annotation.reads) + " B";
  if (annotation.writes != 0) text += ", writes " + std::to_string(annotation.writes) + " B";
  if (annotation.members != 0) text += ", " + std::to_string(annotation.members) + " members";
  if (annotation.replica >= 0) text += ", replica " + std::to_string(annotation.replica);
  if (!annotation.site.empty()) text += ", " + to_string(annotation.site);
  return annotation.failed ? text + ", failed" : text;
}

std::string to_string(const RunMark& mark) {
  std::string text = "run " + std::to_string(mark.run);
  if (mark.begins) text += " of " + std::to_string(mark.replicas) + " replicas";
  text += (mark.begins ? " begins" : " ends") + (" before record " + std::to_string(mark.record));
  if (!mark.site.empty()) text += ", " + to_string(mark.site);
  return mark.failed ? text + ", failed" : text;
}

const Annotation* Annotations::find(std::uint64_t record) const {
  const auto found = std::ranges::lower_bound(annotations_, record, {}, &Annotation::record);
  return found == annotations_.end() || found->record != record ? nullptr : &*found;
}

std::string_view Annotations::name(std::uint32_t name) const {
  return name == 0 ? std::string_view() : names_[name - 1];
}

void Annotations::add(const Operation& operation, std::uint64_t record,
                      std::int32_t replica) noexcept {
  Annotation added;
  added.record = record;
  add_bytes(operation, added);
  added.site = operation.site;
  added.replica = replica;
  added.members = operation.members;
  added.failed = operation.failed;
  try {
    added.name = number_of(operation.name, operation.subject);
    annotations_.push_back(added);
  } catch (const std::bad_alloc&) {  // People do without.
  }
}

// Members of a collective come one after another, each with a common list of the bytes of all
// members. Only the first member adds up the list: n sums of n members would take most of the time
// of a collective of hundreds.
void Annotations::add_bytes(const Operation& operation, Annotation& added) noexcept {
  const bool is_collective = operation.kind == OperationKind::kCollective;
  if (is_collective && collective_.left != 0 && collective_.list == operation.footprints.data()) {
    --collective_.left;
    added.reads = collective_.reads;
    added.writes = collective_.writes;
    return;
  }
  for (const Footprint& bytes : operation.footprints) {
    const bool read = bytes.mode == AccessMode::kRead;
    (read ? added.reads : added.writes) += bytes.end - bytes.begin;
  }
  if (!is_collective) return;
  // 65535 also stands for more members.
  const bool is_exact = operation.members != 0 && operation.members != 0xFFFF;
  const auto left = static_cast<std::uint16_t>(is_exact ? operation.members - 1 : 0);
  collective_ = {operation.footprints.data(), left, added.reads, added.writes};
}

void Annotations::add_run(const Operation& operation, std::uint64_t record,
                          bool keeps_begins) noexcept {
  try {
    if (operation.kind == OperationKind::kRunEnd) return end_run(operation, record);
    if (keeps_begins) begin_run(operation, record);
  } catch (const std::bad_alloc&) {  // People do without.
  }
}

void Annotations::begin_run(const Operation& operation, std::uint64_t record) {
  open_.push_back({operation.value, operation.site, begun_ + 1});
  ++begun_;
  runs_.push_back({.record = record,
                   .run = begun_,
                   .replicas = static_cast<int>(operation.subject),
                   .begins = true,
                   .site = operation.site});
}

// Runs nest: the end belongs to the last begin. Only runs of several threads, on the concurrent
// carrier, end in another order; their strategies and calls tell them apart as far as they differ.
void Annotations::end_run(const Operation& operation, std::uint64_t record) {
  const auto begun = std::find_if(open_.rbegin(), open_.rend(), [&](const OpenRun& run) {
    return run.ordinal == operation.value && same_place(run.site, operation.site);
  });
  if (begun == open_.rend()) return;
  RunMark mark{.record = record, .run = begun->run, .failed = operation.failed};
  mark.site = operation.site;
  open_.erase(std::next(begun).base());
  mark.name = number_of(operation.name, 0);
  runs_.push_back(mark);
}

std::uint32_t Annotations::number_of(std::string_view name, std::uint64_t hint) {
  if (name.empty()) return 0;
  std::uint32_t& recent = recent_[hint % recent_.size()];
  if (recent != 0 && names_[recent - 1] == name) return recent;
  const auto known = numbers_.find(name);
  if (known != numbers_.end()) return recent = known->second;
  const auto number = static_cast<std::uint32_t>(names_.size() + 1);
  names_.emplace_back(name);
  try {
    numbers_.emplace(name, number);
  } catch (const std::bad_alloc&) {
    names_.pop_back();
    throw;
  }
  return recent = number;
}

}  // namespace belfry::sim
