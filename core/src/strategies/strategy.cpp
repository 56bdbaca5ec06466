// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/strategy.h"

#include "belfry/detail/current_context.h"
#include "belfry/strategies.h"
#include "strategies/option_words.h"

#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace belfry {
namespace {

std::vector<int> all_devices(Backend& backend, CallSite site) {
  if (backend.device_count() == 0) {
    throw InvalidArgumentError(ErrorCode::kNoDevices, "a strategy needs at least one device",
                               "only a process of a MultiWorkerMirroredStrategy may lack devices, "
                               "next to processes that have devices",
                               site);
  }
  std::vector<int> devices(static_cast<std::size_t>(backend.device_count()));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

std::vector<int> named_devices(Backend& backend, const std::vector<DeviceSpec>& specs,
                               CallSite site) {
  if (specs.empty()) return all_devices(backend, site);
  std::vector<int> devices;
  std::set<int> seen;
  for (const DeviceSpec& spec : specs) {
    devices.push_back(backend.index_of(spec, site));
    if (!seen.insert(devices.back()).second) {
      throw InvalidArgumentError(ErrorCode::kDuplicateDevice, to_string(spec) + " is named twice",
                                 "one replica a device: name each once", site);
    }
  }
  return devices;
}

// The log hears of this call, and may be gone at the next.
void set_options(detail::StrategyCore& core, const StrategyOptions& options, CallSite site) {
  StrategyOptions named = options;
  named.log = nullptr;
  core.reductions().configure(options, site);
  core.set_options(std::move(named));
}

}  // namespace

Strategy::Strategy(Backend& backend, const StrategyOptions& options, CallSite site)
    : core_(*this, *this, backend, named_devices(backend, options.devices, site)), cross_(core_) {
  set_options(core_, options, site);
}

Strategy::~Strategy() = default;

std::vector<DeviceSpec> Strategy::parameter_devices() const {
  std::vector<DeviceSpec> specs;
  for (int device : core_.place(Synchronization::kOnWrite).devices) {
    specs.push_back(core_.placement_on(device).backend->device_spec(device));
  }
  return specs;
}

VariablePlaces Strategy::do_place(Synchronization /*kind*/) const {
  return VariablePlaces::with_replicas(replica_devices());
}

void Strategy::do_initialise(ComponentWork& variable) {
  variable.compute(0);
  variable.copy_from(0);
}

void Strategy::do_update(ComponentWork& update) {
  for (int component = 0; component < update.size(); ++component) update.compute(component);
}

void Strategy::do_reduce(const ReduceCall& call) {
  core_.reductions().all_reduce(call.op, call.parts, call.everywhere, call.present);
}

std::vector<AnyTensor> Strategy::do_broadcast(const AnyTensor& source,
                                              std::span<const Placement> targets) {
  std::vector<AnyTensor> copies;
  for (const Placement& target : targets) copies.push_back(source.copy_to(target));
  return copies;
}

void Strategy::do_run(StrategyStep& replicas) { replicas.carry_out(); }

void Strategy::do_merge(StrategyStep& merge) { merge.carry_out(); }

void Strategy::configure(const StrategyOptions& options, CallSite site) {
  core_.require_cross("configure", site);
  const detail::CurrentContext* context = detail::current_context();
  if (context != nullptr && !context->in_scope) {
    throw ContextError(ErrorCode::kStrategyBusy, "a strategy cannot be configured while it runs",
                       "configure it before run, or after", site);
  }
  const detail::StrategyCore::RunLock lock(core_, site);
  detail::require_equal_options(core_, options, site);
  if (!options.devices.empty() && options.devices != devices()) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "the devices of a strategy cannot change",
                               "its variables live there: make another strategy", site);
  }
  set_options(core_, options, site);
}

Placement Strategy::placement(int replica, CallSite site) {
  if (replica < 0 || !core_.own().has(replica) || replica >= num_replicas()) {
    throw InvalidArgumentError(
        ErrorCode::kInvalidArgument,
        "placement of replica " + std::to_string(replica) + " of " + std::to_string(num_replicas()),
        core_.own().is_all() ? "replicas are numbered from 0"
                             : "ask for the replicas of this process",
        site);
  }
  return core_.placement(replica);
}

ReplicaGroups Strategy::groups(std::vector<std::vector<int>> ids, CallSite site) const {
  return {num_replicas(), std::move(ids), site};
}

ReplicaMesh Strategy::mesh(std::vector<MeshAxis> axes, CallSite site) const {
  return {num_replicas(), std::move(axes), site};
}

PerReplica<int> Strategy::worker_device_index() const {
  const detail::Participants& own = core_.own();
  detail::ReplicaArray<int> indices(own.count());
  for (int index = 0; index < own.count(); ++index) indices.emplace_back(index);
  return PerReplica<int>(std::move(indices), own);
}

MirroredStrategy::MirroredStrategy(Backend& backend, const StrategyOptions& options, CallSite site)
    : Strategy(backend, options, site) {}

OneDeviceStrategy::OneDeviceStrategy(Backend& backend, const DeviceSpec& device, CallSite site)
    : Strategy(backend, StrategyOptions{.devices = {device}, .order = {}}, site) {}

DefaultStrategy::DefaultStrategy() : Strategy(host_backend, StrategyOptions{}, CallSite::here()) {}

}  // namespace belfry
