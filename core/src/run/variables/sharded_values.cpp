// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The first values of sharded variables.
#include "belfry/detail/sharded_values.h"

#include "belfry/backend/current_slot.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/initial_value.h"
#include "belfry/detail/make_variable.h"
#include "belfry/detail/shard_plan.h"
#include "belfry/detail/tensor/axis.h"
#include "belfry/error.h"

#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

constexpr const char* kFirstRows = "a sharded variable: first rows";

// Like a replica-local variable, with a part on each replica. The option `trainable` is kept.
VariableInfo describe_sharded(StrategyCore& core, VariableOptions options, CallSite site) {
  const bool trainable = options.trainable;
  options.synchronization = Synchronization::kOnRead;
  options.aggregation = Aggregation::kOther;
  VariableInfo info = describe_variable(core, std::move(options), site);
  info.trainable = trainable;
  std::vector<int> each(info.places.component.size());
  std::iota(each.begin(), each.end(), 0);
  if (info.places.component == each && info.places.devices.size() == each.size()) return info;
  throw InvalidArgumentError(
      ErrorCode::kDestination,
      "sharded variable" + (info.name.empty() ? "" : " \"" + info.name + "\"") +
          " has rows on every replica, and its options or scopes name some devices",
      "make it without VariableOptions::devices, outside of colocation scopes", site);
}

ShardPlan plan_of(const StrategyCore& core, const VariableInfo& info, const ShardedInit& init,
                  Shape whole, CallSite site) {
  ShardPlan plan;
  plan.dtype = init.dtype;
  plan.axis = axis_of(whole, init.axis, "sharded_variable", site);
  plan.whole = std::move(whole);
  plan.replicas = core.size();
  for (int component = 0; component < info.places.size(); ++component) {
    // A process without replicas has a component without rows.
    const bool has_replicas = core.own().count() > 0;
    plan.own.push_back(has_replicas ? plan.rows(core.own().id(component)) : ShardRows{});
  }
  return plan;
}

// The whole is made on the host, if the backend knows the host: no device then holds the whole.
CurrentContext maker_of_whole(StrategyCore& core, CrossReplicaContext& cross) {
  const int host = core.backend().connections().host.value_or(core.devices().front());
  return device_context(core, cross, host);
}

AnyTensor made_whole(StrategyCore& core, CrossReplicaContext& cross, const ShardedInit& init,
                     CallSite site) {
  CurrentContext here = maker_of_whole(core, cross);
  const CurrentScope scope(here);
  AnyTensor whole = init.whole();
  if (!whole.empty()) return whole;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "a sharded variable cannot start with a default-constructed tensor",
                             "make it with Tensor::from, full or zeros", site);
}

AnyTensor rows_of_whole(const ShardPlan& plan, const AnyTensor& whole, const ShardRows& rows,
                        const Placement& place, CallSite site) {
  const SiteScope scope(site);
  AnyTensor part = launch_slice(whole, plan.axis, rows.begin, rows.end, site);
  keep_rows_alone(part, place);
  return part;
}

// The process of replica 0 has the whole, and sends the rows of the replicas of other processes,
// one replica after the other.
std::vector<AnyTensor> sent_parts(StrategyCore& core, const ShardPlan& plan, const AnyTensor& whole,
                                  CallSite site) {
  RoundMembers& members = core.members();
  const int maker = members.process_of(0);
  const bool is_maker = members.rank() == maker;
  std::vector<AnyTensor> parts;
  for (int replica = 0; replica < core.size(); ++replica) {
    const ShardRows rows = plan.rows(replica);
    const int home = members.process_of(replica);
    const Placement place = core.placement(replica);
    if (home == maker) {
      if (is_maker) parts.push_back(rows_of_whole(plan, whole, rows, place, site));
      continue;
    }
    const auto write = [&](ByteWriter& out) {
      if (!is_maker) return;
      const AnyTensor part = launch_slice(whole, plan.axis, rows.begin, rows.end, site);
      part.read(out.make_room(part.bytes()), site);
    };
    const auto sent = members.exchange_to_hear(kFirstRows, site, maker, write);
    if (home != members.rank()) continue;
    parts.push_back(
        AnyTensor::from_host(plan.dtype, plan.shape_of(rows), sent->data(), place, site));
  }
  return parts;
}

std::vector<AnyTensor> parts_by_rows(StrategyCore& core, CrossReplicaContext& cross,
                                     const ShardedInit& init, const VariableInfo& info,
                                     CallSite site) {
  std::vector<AnyTensor> parts;
  for (int component = 0; component < core.own().count(); ++component) {
    CurrentContext here = update_context(core, cross, core.own().id(component));
    const CurrentScope scope(here);
    const ShardRows rows = info.shards->own[static_cast<std::size_t>(component)];
    parts.push_back(init.rows(rows.begin, rows.end));
    fit_rows(info, component, parts.back(), site);
  }
  return parts;
}

VariableRequest request_of(const VariableInfo& info, const ShardedInit& init, MergePlace place) {
  VariableRequest request;
  request.name = info.name;
  request.synchronization = info.synchronization;
  request.aggregation = info.aggregation;
  request.trainable = info.trainable;
  request.type = init.type;
  request.structure = " sharded along axis " + std::to_string(init.axis.value) +
                      (init.shape ? ", by rows of " + to_string(*init.shape) : "");
  request.site = place.site;
  request.tag = name_of_tag(place.tag);
  return request;
}

// The shape of the whole, known to the process of replica 0.
Shape agreed_shape(StrategyCore& core, const VariableInfo& info, const ShardedInit& init,
                   const AnyTensor& whole, CallSite site) {
  ByteWriter out;
  if (!whole.empty()) {
    for (const std::int64_t extent : whole.shape().extents()) out.put(extent);
  }
  const Bytes heard =
      agree_on_variable(core, request_of(info, init, site), to_string(init.dtype), out.bytes());
  core.members().require_no_listener("making a sharded variable", site);
  if (init.shape) return *init.shape;
  std::vector<std::int64_t> extents;
  for (ByteReader in(heard); !in.rest().empty();) extents.push_back(in.get<std::int64_t>());
  return Shape(std::move(extents));
}

std::vector<AnyTensor> first_parts(StrategyCore& core, CrossReplicaContext& cross,
                                   const ShardedInit& init, VariableInfo& info, CallSite site) {
  RoundMembers& members = core.members();
  AnyTensor whole;
  if (!init.shape && members.rank() == members.process_of(0)) {
    whole = core.telling_failure(site, [&] { return made_whole(core, cross, init, site); });
  }
  Shape shape = init.shape ? *init.shape : whole.shape();
  if (!members.is_alone()) shape = agreed_shape(core, info, init, whole, site);
  info.shards =
      std::make_shared<const ShardPlan>(plan_of(core, info, init, std::move(shape), site));
  std::vector<AnyTensor> parts =
      init.shape
          ? core.telling_failure(site, [&] { return parts_by_rows(core, cross, init, info, site); })
          : sent_parts(core, *info.shards, whole, site);
  if (core.own().count() == 0) {
    parts.push_back(AnyTensor::allocate(init.dtype, info.shards->shape_of({}),
                                        core.placement(core.first_replica())));
  }
  return parts;
}

}  // namespace

std::shared_ptr<void> make_sharded_state(StrategyCore& core, CrossReplicaContext& cross,
                                         const ShardedInit& init, VariableOptions options,
                                         MergePlace place, MakeShardedState finish) {
  const VariableInfo described = describe_sharded(core, std::move(options), place.site);
  ReplicaContext* const replica = replica_making(core, place.site);
  const auto make = [&]() -> std::shared_ptr<void> {
    VariableInfo info = described;
    number_variable(core, info);
    std::vector<AnyTensor> parts = first_parts(core, cross, init, info, place.site);
    return finish(std::move(info), std::move(parts));
  };
  if (replica == nullptr) return make();
  return replica->merges().make_variable(replica->replica_id(), request_of(described, init, place),
                                         FunctionRef<std::shared_ptr<void>()>(make));
}

}  // namespace belfry::detail
