// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "run/verbs/structure_hint.h"

#include "belfry/detail/group_reports.h"

#include <algorithm>
#include <cstddef>
#include <set>

namespace belfry::detail {
namespace {

using Paths = std::set<std::string>;

Paths paths_of(const std::vector<LeafDescription>& component) {
  Paths paths;
  for (const LeafDescription& leaf : component) {
    if (is_of_leaf(leaf)) paths.insert(leaf.path);
  }
  return paths;
}

// The length of the part of `path` with the same containers in a component of `paths`.
std::size_t shared_length(const std::string& path, const Paths& paths) {
  std::size_t shared = 0;
  for (const std::string& other : paths) {
    const auto [end, end_of_other] = std::ranges::mismatch(path, other);
    auto length = static_cast<std::size_t>(end - path.begin());
    // A step is a whole key or index.
    if (length < path.size()) length = path.find_last_of("{[", length);
    shared = std::max(shared, length == std::string::npos ? 0 : length);
  }
  return shared;
}

// Whether an empty optional takes the place of the leaf, or of a container around the leaf.
bool lacks_optional(const std::vector<LeafDescription>& component, const std::string& path) {
  return std::ranges::any_of(component, [&](const LeafDescription& leaf) {
    return leaf.type == kNothing && path.starts_with(leaf.path);
  });
}

}  // namespace

std::string structure_hint(const std::vector<int>& replicas,
                           const std::vector<std::vector<LeafDescription>>& components,
                           const char* otherwise) {
  std::vector<Paths> all;
  Paths some;
  for (const std::vector<LeafDescription>& component : components) {
    all.push_back(paths_of(component));
    some.insert(all.back().begin(), all.back().end());
  }
  for (const std::string& path : some) {
    std::vector<int> with, without;
    std::size_t lacks = all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      (all[i].contains(path) ? with : without).push_back(replicas[i]);
      if (lacks == all.size() && !all[i].contains(path)) lacks = i;
    }
    if (lacks == all.size()) continue;
    const std::string who = (path.empty() ? std::string("a value") : path) + " is on " +
                            replicas_text(with) + " and not on " + replicas_text(without) + ": ";
    if (lacks_optional(components[lacks], path)) {
      return who + "fill the optional on every replica, with zeros where a replica has no value";
    }
    const std::size_t step = shared_length(path, all[lacks]);
    if (step < path.size() && path[step] == '{') {
      return who + "bring the same keys on every replica, zeros where a replica has no value";
    }
    return who +
           "bring lists of the same length; join lists of tensors first (concatenate), in "
           "place of an empty list a tensor without rows: zeros({0, columns})";
  }
  return otherwise;
}

}  // namespace belfry::detail
