// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/merge_point.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace belfry::detail {
namespace {

bool is_digit_suffix(std::string_view part) {
  return part.size() >= 2 && part[part.size() - 2] == '_' &&
         std::isdigit(static_cast<unsigned char>(part.back())) != 0;
}

std::string name_of(const VariableRequest& request) {
  std::string text = words_of(request);
  if (request.structure && !request.structure->empty()) text += "," + *request.structure;
  if (request.tag) text += ", tagged \"" + *request.tag + "\"";
  return text;
}

bool same_signature(const VariableRequest& a, const VariableRequest& b) {
  return a.synchronization == b.synchronization && a.aggregation == b.aggregation &&
         a.trainable == b.trainable && *a.type == *b.type && a.tag == b.tag &&
         (!a.structure || !b.structure || *a.structure == *b.structure);
}

[[noreturn]] void throw_signatures_differ(int maker, const VariableRequest& first, int replica,
                                          const VariableRequest& other) {
  ErrorReport report;
  report.code = ErrorCode::kVariableMismatch;
  report.summary = "replicas made different variables under one name";
  report.site = other.site;
  report.replicas.push_back({maker, first.site, name_of(first)});
  report.replicas.push_back({replica, other.site, name_of(other)});
  report.expected = "the same type, kind, aggregation and structure on every replica";
  report.hint = "give different variables different names";
  if (first.tag != other.tag) {
    report.expected = "the same MergeTag on every replica";
    report.hint = "make variables in one order on every replica, or name them in VariableOptions";
  }
  throw VariableMismatchError(std::move(report));
}

[[noreturn]] void throw_values_differ(int maker, const VariableRequest& first, int replica,
                                      const VariableRequest& other) {
  ErrorReport report;
  report.code = ErrorCode::kVariableMismatch;
  report.summary = "replicas gave one variable different first values";
  report.site = other.site;
  report.replicas.push_back({maker, first.site, name_of(first) + ", with its own value"});
  report.replicas.push_back({replica, other.site, name_of(other) + ", with another value"});
  report.expected = "the same first value on every replica";
  report.hint = "hand over a function instead of a value: it runs on the first replica alone";
  throw VariableMismatchError(std::move(report));
}

}  // namespace

std::string words_of(const VariableRequest& request) {
  return "asked for \"" + request.name + "\", " + to_string(request.synchronization) +
         ", aggregation " + to_string(request.aggregation) +
         (request.trainable ? "" : ", not trainable");
}

std::string canonical_name(std::string_view name) {
  if (name.empty()) return "Variable";
  std::string canonical;
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t slash = std::min(name.find('/', begin), name.size());
    std::string_view part = name.substr(begin, slash - begin);
    if (is_digit_suffix(part)) part.remove_suffix(2);
    canonical += part;
    if (slash < name.size()) canonical += '/';
    begin = slash + 1;
  }
  return canonical.empty() ? "Variable" : canonical;
}

// Most runs make no variables, and need no lists.
void ReplicaVariables::begin() {
  sites_.resize(static_cast<std::size_t>(replicas_));
  taken_.resize(static_cast<std::size_t>(replicas_));
}

const MadeVariable* ReplicaVariables::find(int replica, const VariableRequest& request) const {
  const std::string name = canonical_name(request.name);
  const auto made = made_.find(name);
  if (made == made_.end()) return nullptr;
  const auto& taken = taken_[static_cast<std::size_t>(replica)];
  const auto count = taken.find(name);
  const std::size_t ordinal = count == taken.end() ? 0 : count->second;
  if (ordinal >= made->second.size()) return nullptr;
  const MadeVariable& variable = made->second[ordinal];
  if (!same_signature(variable.request, request)) {
    throw_signatures_differ(maker_, variable.request, replica, request);
  }
  const std::uint64_t made_from = variable.request.host_digest;
  if (made_from != 0 && request.host_digest != 0 && made_from != request.host_digest) {
    throw_values_differ(maker_, variable.request, replica, request);
  }
  return &variable;
}

void ReplicaVariables::count(int replica, const VariableRequest& request) {
  std::vector<CallSite>& sites = sites_[static_cast<std::size_t>(replica)];
  sites.push_back(request.site);
  try {
    taken_[static_cast<std::size_t>(replica)][canonical_name(request.name)] += 1;
  } catch (...) {
    sites.pop_back();
    throw;
  }
}

std::shared_ptr<void> ReplicaVariables::take(int replica, const VariableRequest& request) {
  const std::lock_guard lock(mutex_);
  begin();
  const MadeVariable* const variable = find(replica, request);
  if (variable == nullptr) return nullptr;
  count(replica, request);
  return variable->state;
}

void ReplicaVariables::add(const VariableRequest& request, std::shared_ptr<void> state) {
  const std::lock_guard lock(mutex_);
  begin();
  std::vector<MadeVariable>& made = made_[canonical_name(request.name)];
  made.push_back({request, std::move(state)});
  try {
    count(maker_, request);
  } catch (...) {
    made.pop_back();
    throw;
  }
}

void ReplicaVariables::require_equal_counts(const Participants& present) const {
  const auto taken_by = [&](int position) -> const std::map<std::string, std::size_t>& {
    return taken_[static_cast<std::size_t>(present.id(position))];
  };
  for (int i = 1; i < present.count(); ++i) {
    if (taken_by(i) == taken_by(0)) continue;
    ErrorReport report;
    report.code = ErrorCode::kVariableMismatch;
    report.summary = "replicas have made different variables by the time they meet";
    for (int k = 0; k < present.count(); ++k) {
      const int replica = present.id(k);
      const std::vector<CallSite>& sites = sites_[static_cast<std::size_t>(replica)];
      report.replicas.push_back({replica,
                                 sites.empty() ? CallSite{} : sites.back(),
                                 "made " + std::to_string(sites.size()) +
                                     (sites.size() == 1 ? " variable" : " variables"),
                                 {}});
    }
    report.expected = "the same variables on every replica";
    report.hint = "make variables outside branches that depend on the replica";
    throw VariableMismatchError(std::move(report));
  }
}

}  // namespace belfry::detail
