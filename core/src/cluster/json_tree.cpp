// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/json_tree.h"

namespace belfry::detail {

JsonTree::JsonTree(std::string_view text) { read_json(text, true, *this); }

const JsonTree::Node* JsonTree::member(const Node& object, std::string_view name) const {
  for (const std::size_t part : object.parts) {
    const Node& found = nodes_[part];
    if (found.name == name) return found.kind == Kind::kNull ? nullptr : &found;
  }
  return nullptr;
}

void JsonTree::key(std::string name) {
  if (!open_.back().names.insert(name).second) {
    throw JsonError(0, "a second member \"" + name + "\"");
  }
  name_ = std::move(name);
}

JsonTree::Node& JsonTree::add(Kind kind) {
  if (!open_.empty()) nodes_[open_.back().node].parts.push_back(nodes_.size());
  nodes_.push_back({.kind = kind, .name = std::move(name_)});
  name_.clear();
  return nodes_.back();
}

void JsonTree::open(Kind kind) {
  add(kind);
  open_.push_back({.node = nodes_.size() - 1, .names = {}});
}

}  // namespace belfry::detail
