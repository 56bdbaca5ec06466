// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {

/// Groups of a strategy's replicas: `Strategy::groups`. The members of a group meet without the
/// other replicas: `ReplicaContext::in`. Copies share the description.
///
///     const ReplicaGroups pairs = strategy.groups({{0, 2}, {1, 3}});
///     strategy.run([&](ReplicaContext& replica) {
///       const int sum = replica.in(pairs).all_reduce(ReduceOp::kSum, replica.replica_id());
///     });    // 2, 4, 2, 4.
///
/// Groups with equal members meet, whichever object describes them (SEM-270).
class ReplicaGroups {
 public:
  /// Strategy::groups for `replicas` replicas. Throws: as Strategy::groups.
  ReplicaGroups(int replicas, std::vector<std::vector<int>> members, CallSite site);

  int num_replicas() const { return table_->replicas; }                  ///< Of the strategy.
  int size() const { return static_cast<int>(table_->members.size()); }  ///< Number of groups.
  /// The ids of the members of a group, in ascending order: `index` of a member is its position.
  const std::vector<int>& members(int group) const {
    return table_->members[static_cast<std::size_t>(group)];
  }
  /// The number of the group of `replica`; -1 for a replica in no group.
  int group_of(int replica) const { return table_->group_of[static_cast<std::size_t>(replica)]; }

 private:
  struct Table {
    int replicas = 0;
    std::vector<std::vector<int>> members;
    std::vector<int> group_of;  // By replica.
  };

  std::shared_ptr<const Table> table_;
};

/// `{{0, 2}, {1, 3}}`.
std::string to_string(const ReplicaGroups& groups);

/// An axis of a mesh of replicas: its name and its number of places.
struct MeshAxis {
  std::string name{};  ///< For `ReplicaContext::along`.
  int size = 0;        ///< At least 1.

  bool operator==(const MeshAxis&) const = default;
};

/// `data 2`.
std::string to_string(const MeshAxis& axis);

/// The replicas of a strategy in a mesh with named axes, the last axis the fastest:
/// `Strategy::mesh`. The replicas that differ along one axis alone are a group:
/// `ReplicaContext::along`. Copies share the description.
///
///     const ReplicaMesh mesh = strategy.mesh({{"data", 2}, {"model", 3}});
///     strategy.run([&](ReplicaContext& replica) {    // Replica 3 * data + model.
///       const int sum = replica.along(mesh, "data").all_reduce(ReduceOp::kSum, 1);    // 2.
///     });
class ReplicaMesh {
 public:
  /// Strategy::mesh for `replicas` replicas. Throws: as Strategy::mesh.
  ReplicaMesh(int replicas, std::vector<MeshAxis> axes, CallSite site);

  const std::vector<MeshAxis>& axes() const { return *axes_; }  ///< In the order of the mesh.
  /// The groups along an axis, in the order of their lowest members.
  /// Throws: InvalidArgumentError (kInvalidArgument) for the name of no axis.
  const ReplicaGroups& along(std::string_view axis, CallSite site = CallSite::here()) const;

 private:
  std::shared_ptr<const std::vector<MeshAxis>> axes_;
  std::vector<ReplicaGroups> along_;  // By axis.
};

/// `data 2 x model 3`.
std::string to_string(const ReplicaMesh& mesh);

}  // namespace belfry
