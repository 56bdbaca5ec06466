// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cluster_spec.h"
#include "belfry/detail/prints.h"

#include <optional>
#include <string>
#include <string_view>

namespace belfry {

/// The contents of the variable TF_CONFIG: the place of a TensorFlow program in a cluster
/// (SEM-202). Members that the text lacks are empty.
struct TfConfig {
  ClusterSpec cluster;                        ///< The member `cluster`.
  std::optional<std::string> job;             ///< `task.type`.
  std::optional<int> index;                   ///< `task.index`.
  std::string rpc_layer;                      ///< For example `grpc`.
  std::optional<std::string> session_master;  ///< Replaces the answer of `master`.

  /// Reads JSON text. Further members are ignored, and `null` counts as missing.
  /// Throws: InvalidArgumentError (kInvalidArgument) with TF_CONFIG, the text and the member at
  /// fault.
  static TfConfig parse(std::string_view text, CallSite site = CallSite::here());

  /// The address at which TensorFlow's programs meet, behind `rpc_layer`: the address of the task,
  /// or `session_master`. Empty if the cluster has fewer than two tasks. To ask about a different
  /// task or layer, change the members.
  /// Throws: InvalidArgumentError (kInvalidArgument) if the cluster lacks the task, or no task is
  /// given.
  std::string master(CallSite site = CallSite::here()) const;

  bool operator==(const TfConfig&) const = default;
};

/// The task and the cluster: `worker 1 of ps [host0:2222], worker [host1:2222, host2:2222]`.
std::string to_string(const TfConfig& config);

namespace detail {
template <>
inline constexpr bool kPrints<TfConfig> = true;
}  // namespace detail

}  // namespace belfry
