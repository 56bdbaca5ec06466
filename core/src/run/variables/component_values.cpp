// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/component_values.h"

#include "belfry/backend/current_slot.h"
#include "belfry/cross_replica_context.h"
#include "belfry/destination.h"
#include "belfry/error.h"

#include <algorithm>
#include <string>

namespace belfry::detail {
namespace {

[[noreturn]] void throw_broken(std::string summary, std::string expected, CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kStrategyContract;
  report.summary = std::move(summary);
  report.site = site;
  report.expected = std::move(expected);
  throw StrategyError(std::move(report));
}

}  // namespace

CurrentContext device_context(StrategyCore& core, CrossReplicaContext& cross, int device) {
  CurrentContext context = core.cross_context(cross);
  context.device = device;
  context.in_update = true;
  // Whether a run is going on is the surrounding context's affair.
  context.in_scope = current_context() == nullptr || current_context()->in_scope;
  return context;
}

CurrentContext update_context(StrategyCore& core, CrossReplicaContext& cross, int replica) {
  return device_context(core, cross, core.device_of(replica));
}

int replica_beside(const StrategyCore& core, int device) {
  const std::vector<int>& devices = core.devices();
  const auto found = std::ranges::find(devices, device);
  const auto position = found == devices.end() ? 0 : static_cast<int>(found - devices.begin());
  return core.first_replica() + position;
}

int device_on(StrategyCore& core, const DeviceSpec& spec, CallSite site) {
  std::vector<int> devices = core.devices();
  const VariablePlaces places = core.place(Synchronization::kOnWrite);
  devices.insert(devices.end(), places.devices.begin(), places.devices.end());
  for (int device : devices) {
    if (core.backend().device_spec(device) == spec) return device;
  }
  throw InvalidArgumentError(ErrorCode::kDestination,
                             to_string(spec) + " is not a device of this strategy",
                             "non_slot_devices() and worker_devices() list them", site);
}

std::vector<int> devices_on(StrategyCore& core, const std::vector<DeviceSpec>& devices,
                            CallSite site) {
  if (devices.empty()) {
    throw InvalidArgumentError(ErrorCode::kNoDevices, "an update needs at least one device",
                               "name one or more", site);
  }
  std::vector<int> indices;
  indices.reserve(devices.size());
  for (const DeviceSpec& spec : devices) {
    const int index = device_on(core, spec, site);
    if (std::ranges::find(indices, index) != indices.end()) {
      throw InvalidArgumentError(ErrorCode::kDuplicateDevice, to_string(spec) + " is named twice",
                                 "name each device once", site);
    }
    indices.push_back(index);
  }
  return indices;
}

VariablePlaces places_on(StrategyCore& core, const std::vector<DeviceSpec>& devices,
                         CallSite site) {
  if (devices.empty()) {
    throw InvalidArgumentError(ErrorCode::kNoDevices, "variables need at least one device", {},
                               site);
  }
  std::vector<int> chosen;
  chosen.reserve(devices.size());
  for (const DeviceSpec& spec : devices) chosen.push_back(device_on(core, spec, site));
  std::ranges::sort(chosen);
  if (std::ranges::adjacent_find(chosen) != chosen.end()) {
    throw InvalidArgumentError(ErrorCode::kDuplicateDevice, "a device is named twice", {}, site);
  }
  VariablePlaces usual = core.place(Synchronization::kOnWrite);
  std::vector<int> sorted = usual.devices;
  std::ranges::sort(sorted);
  if (sorted == chosen) return usual;
  core.members().require_alone("a variable on some devices", site);
  VariablePlaces places;
  for (int device : core.devices()) {
    const bool here = std::ranges::binary_search(chosen, device);
    places.component.push_back(here ? places.size() : -1);
    if (here) places.devices.push_back(device);
  }
  // The remaining devices belong to variables alone: no replica sees a component on them.
  for (int device : chosen) {
    const auto& all = core.devices();
    if (std::ranges::find(all, device) == all.end()) places.devices.push_back(device);
  }
  return places;
}

VariablePlaces one_place(StrategyCore& core, const DeviceSpec& device, CallSite site) {
  core.members().require_alone("a variable on one device", site);
  return VariablePlaces::in_one_place(indices_of(core, {device}, site).front(), core.size());
}

void broadcast_tensors(StrategyCore& core, const std::vector<LeafRef>& source,
                       const std::vector<std::vector<LeafRef>>& copies,
                       const std::vector<Placement>& targets) {
  for (std::size_t leaf = 0; leaf < source.size(); ++leaf) {
    if (source[leaf].tensor == nullptr) continue;
    std::vector<AnyTensor> tensors = core.broadcast(*source[leaf].tensor, targets);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      part_from_program(tensors[i]);
      *copies[i][leaf].tensor = std::move(tensors[i]);
    }
  }
}

bool is_seen_from_afar(const StrategyCore& core, const VariablePlaces& places) {
  for (std::size_t replica = 0; replica < places.component.size(); ++replica) {
    const int component = places.component[replica];
    if (component < 0) continue;
    if (places.devices[static_cast<std::size_t>(component)] != core.devices()[replica]) return true;
  }
  return false;
}

ComponentValues::ComponentValues(StrategyCore& core, CrossReplicaContext& cross,
                                 const VariableInfo& info, bool ends_equal, CallSite site)
    : core_(core),
      cross_(cross),
      info_(info),
      ends_equal_(ends_equal),
      site_(site),
      done_(static_cast<std::size_t>(info.places.size())) {}

void ComponentValues::require_component(int component) const {
  if (component >= 0 && component < size()) return;
  throw_broken("a strategy named component " + std::to_string(component) + " of " + info_.name,
               "a component from 0 to " + std::to_string(size() - 1), site_);
}

void ComponentValues::compute(int component) {
  require_component(component);
  const auto index = static_cast<std::size_t>(component);
  if (done_[index]) {
    throw_broken("a strategy computed component " + std::to_string(component) + " of " +
                     info_.name + " twice",
                 "one value for each component", site_);
  }
  CurrentContext here = device_context(core_, cross_, info_.places.devices[index]);
  const CurrentScope scope(here);
  const HookDepth::Pause initialiser(core_.hook_depth(), Hook::kInitialise);
  const HookDepth::Pause updater(core_.hook_depth(), Hook::kUpdate);
  compute_value(component);
  done_[index] = true;
}

void ComponentValues::copy_from(int from) {
  require_component(from);
  if (!done_[static_cast<std::size_t>(from)]) {
    throw_broken("a strategy copied component " + std::to_string(from) + " of " + info_.name +
                     ", which has no value",
                 "compute(" + std::to_string(from) + ") first", site_);
  }
  std::vector<int> to;
  for (int component = 0; component < size(); ++component) {
    if (!done_[static_cast<std::size_t>(component)]) to.push_back(component);
  }
  if (to.empty()) return;
  if (!ends_equal_) {
    throw_broken("a strategy copied component " + std::to_string(from) + " of replica-local " +
                     info_.name + " in an update",
                 "compute for each component of a variable whose ends_equal() is false", site_);
  }
  const SiteScope scope(site_);
  copy_values(from, to);
  done_.assign(done_.size(), true);
}

void ComponentValues::require_all() const {
  const auto missing = std::ranges::find(done_, false);
  if (missing == done_.end()) return;
  throw_broken("a strategy left component " + std::to_string(missing - done_.begin()) + " of " +
                   info_.name + " without a value",
               "compute or copy_from for each of its " + std::to_string(size()) + " components",
               site_);
}

Placement ComponentValues::place_of(int component) const {
  return core_.placement_on(info_.places.devices[static_cast<std::size_t>(component)]);
}

std::vector<Placement> ComponentValues::places_of(const std::vector<int>& components) const {
  std::vector<Placement> places;
  places.reserve(components.size());
  for (int component : components) places.push_back(place_of(component));
  return places;
}

// The replica on the component's device, else the first replica that sees the component.
int ComponentValues::replica_beside(int component) const {
  const int device = info_.places.devices[static_cast<std::size_t>(component)];
  const int replica = detail::replica_beside(core_, device);
  if (core_.device_of(replica) == device) return replica;
  const std::vector<int>& seen = info_.places.component;
  const auto found = std::ranges::find(seen, component);
  return core_.first_replica() + (found == seen.end() ? 0 : static_cast<int>(found - seen.begin()));
}

}  // namespace belfry::detail
