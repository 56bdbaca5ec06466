// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/annotations.h"

#include <algorithm>
#include <new>

namespace belfry::sim {

std::string to_string(const Annotation& annotation) {
  std::string text = "record " + std::to_string(annotation.record);
  if (annotation.name != 0) text += ", name " + std::to_string(annotation.name);
  if (!annotation.site.empty()) text += ", " + to_string(annotation.site);
  return annotation.failed ? text + ", failed" : text;
}

const Annotation* Annotations::find(std::uint64_t record) const {
  const auto found = std::ranges::lower_bound(annotations_, record, {}, &Annotation::record);
  return found == annotations_.end() || found->record != record ? nullptr : &*found;
}

std::string_view Annotations::name(std::uint32_t name) const {
  return name == 0 ? std::string_view() : names_[name - 1];
}

void Annotations::add(const Operation& operation, std::uint64_t record) noexcept {
  Annotation added;
  added.record = record;
  added.site = operation.site;
  added.failed = operation.failed;
  try {
    added.name = number_of(operation.name, operation.subject);
    annotations_.push_back(added);
  } catch (const std::bad_alloc&) {  // People do without.
  }
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
