// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/tower.h"

#include "belfry/error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace belfry::tower {

ReductionVariableGetter::ReductionVariableGetter(Method method)
    : VariableGetter([by = aggregation_of(method.op)](VariableOptions& options) {
        if (options.synchronization != Synchronization::kAuto) return;
        options.synchronization = Synchronization::kOnRead;
        if (options.aggregation == Aggregation::kNone) options.aggregation = by;
      }) {}

ColocatedVariableGetter::ColocatedVariableGetter(std::vector<DeviceSpec> devices, CallSite site)
    : VariableGetter([devices](VariableOptions& options) {
        if (options.devices.empty()) options.devices = devices;
      }) {
  if (devices.empty()) {
    throw InvalidArgumentError(ErrorCode::kNoDevices, "variables need at least one device",
                               "name devices of the strategy", site);
  }
}

void configure(Strategy& of, StrategyOptions session_config, CallSite site) {
  const StrategyOptions& named = of.options();
  if (!session_config.order) session_config.order = named.order;
  if (!session_config.cross_device_ops) session_config.cross_device_ops = named.cross_device_ops;
  if (session_config.links.empty()) session_config.links = named.links;
  session_config.require_names = session_config.require_names || named.require_names;
  session_config.report_overflow = session_config.report_overflow || named.report_overflow;
  of.configure(session_config, site);
}

namespace detail {

void require_mean_of_mirrored(ReduceOp op, CallSite site) {
  if (op == ReduceOp::kMean) return;
  throw InvalidArgumentError(
      ErrorCode::kSumOfMirrored,
      (op == ReduceOp::kSum ? "SUM" : to_string(op)) + " of a Mirrored is ambiguous",
      "use the value itself, or the value times the number of replicas", site);
}

void require_current(const ReplicaContext& tower, CallSite site) {
  if (current_replica() == &tower) return;
  throw ContextError(ErrorCode::kWrongContext,
                     "a variable scope was asked for through a replica context that is not current",
                     "use the ReplicaContext& that this replica's function was given", site);
}

std::int64_t common_length(const std::vector<std::size_t>& lengths, CallSite site) {
  if (lengths.empty()) {
    throw InvalidArgumentError(ErrorCode::kShape, "a dataset of no arrays",
                               "name at least one array", site);
  }
  for (const std::size_t length : lengths) {
    if (length == lengths.front()) continue;
    throw InvalidArgumentError(ErrorCode::kShape,
                               "arrays of " + std::to_string(lengths.front()) + " and of " +
                                   std::to_string(length) + " elements in one dataset",
                               "give arrays of equal length: element k has element k of each array",
                               site);
  }
  return static_cast<std::int64_t>(lengths.front());
}

}  // namespace detail
}  // namespace belfry::tower
