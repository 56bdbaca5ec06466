// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/replica_groups.h"

#include "belfry/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace belfry {
namespace {

[[noreturn]] void refuse(const std::string& summary, const char* hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, summary, hint, site);
}

constexpr const char* kGroupHint =
    "list each group's replicas once: strategy.groups({{0, 1}, {2, 3}})";
constexpr const char* kMeshHint =
    "name each axis once, with sizes whose product is the number of replicas";

std::string text_of(const std::vector<MeshAxis>& axes) {
  std::string text;
  for (const MeshAxis& axis : axes) {
    text += (text.empty() ? "" : " x ") + std::to_string(axis.size);
  }
  return text;
}

void require_mesh(int replicas, const std::vector<MeshAxis>& axes, CallSite site) {
  if (axes.empty()) refuse("a mesh without an axis", kMeshHint, site);
  std::int64_t places = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const MeshAxis& axis = axes[i];
    const auto is_same = [&](const MeshAxis& other) { return other.name == axis.name; };
    if (axis.size < 1) {
      refuse("axis \"" + axis.name + "\" of a mesh has size " + std::to_string(axis.size),
             kMeshHint, site);
    }
    if (std::find_if(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), is_same) !=
        axes.begin() + static_cast<std::ptrdiff_t>(i)) {
      refuse("two axes of a mesh have the name \"" + axis.name + "\"", kMeshHint, site);
    }
    // Beyond the number of replicas the product no longer matters, and stays small.
    places = std::min<std::int64_t>(places * axis.size, std::int64_t{replicas} + 1);
  }
  if (places == replicas) return;
  refuse("a mesh of " + text_of(axes) + " for " + std::to_string(replicas) + " replicas", kMeshHint,
         site);
}

// The groups along an axis of `size` places, whose neighbours are `stride` replicas apart.
ReplicaGroups groups_along(int replicas, int size, int stride, CallSite site) {
  std::vector<std::vector<int>> groups;
  for (int first = 0; first < replicas; ++first) {
    if (first / stride % size != 0) continue;
    std::vector<int>& members = groups.emplace_back();
    for (int place = 0; place < size; ++place) members.push_back(first + place * stride);
  }
  return {replicas, std::move(groups), site};
}

}  // namespace

std::string to_string(const ReplicaGroups& groups) {
  std::string text = "{";
  for (int group = 0; group < groups.size(); ++group) {
    text += group == 0 ? "{" : ", {";
    const std::vector<int>& members = groups.members(group);
    for (std::size_t i = 0; i < members.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(members[i]);
    }
    text += "}";
  }
  return text + "}";
}

std::string to_string(const MeshAxis& axis) { return axis.name + " " + std::to_string(axis.size); }

std::string to_string(const ReplicaMesh& mesh) {
  std::string text;
  for (const MeshAxis& axis : mesh.axes()) {
    text += (text.empty() ? "" : " x ") + to_string(axis);
  }
  return text;
}

ReplicaGroups::ReplicaGroups(int replicas, std::vector<std::vector<int>> members, CallSite site) {
  if (members.empty()) refuse("no group of replicas", kGroupHint, site);
  auto table = std::make_shared<Table>();
  table->replicas = replicas;
  table->group_of.assign(static_cast<std::size_t>(replicas), -1);
  for (std::size_t group = 0; group < members.size(); ++group) {
    const std::string name = "group " + std::to_string(group);
    if (members[group].empty()) refuse(name + " has no replica", kGroupHint, site);
    for (const int replica : members[group]) {
      if (replica < 0 || replica >= replicas) {
        refuse(name + " has replica " + std::to_string(replica) + " of " +
                   std::to_string(replicas) + " replicas",
               kGroupHint, site);
      }
      int& number = table->group_of[static_cast<std::size_t>(replica)];
      if (number >= 0) {
        refuse("replica " + std::to_string(replica) + " is twice in groups, in group " +
                   std::to_string(number) + " and in " + name,
               kGroupHint, site);
      }
      number = static_cast<int>(group);
    }
    std::ranges::sort(members[group]);
  }
  table->members = std::move(members);
  table_ = std::move(table);
}

ReplicaMesh::ReplicaMesh(int replicas, std::vector<MeshAxis> axes, CallSite site) {
  require_mesh(replicas, axes, site);
  int stride = replicas;
  for (const MeshAxis& axis : axes) {
    stride /= axis.size;
    along_.push_back(groups_along(replicas, axis.size, stride, site));
  }
  axes_ = std::make_shared<const std::vector<MeshAxis>>(std::move(axes));
}

const ReplicaGroups& ReplicaMesh::along(std::string_view axis, CallSite site) const {
  const auto found = std::ranges::find(*axes_, axis, &MeshAxis::name);
  if (found == axes_->end()) {
    std::string names;
    for (const MeshAxis& one : *axes_) names += (names.empty() ? "\"" : ", \"") + one.name + '"';
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "a mesh has no axis \"" + std::string(axis) + '"',
                               "name one of its axes: " + names, site);
  }
  return along_[static_cast<std::size_t>(found - axes_->begin())];
}

}  // namespace belfry
