// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/destination.h"

#include "belfry/cross_replica_context.h"
#include "belfry/detail/fetch_value.h"
#include "belfry/detail/on_replicas.h"
#include "belfry/error.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace belfry::detail {
namespace {

// The devices of a backend and the host, for questions about several names.
class KnownDevices {
 public:
  explicit KnownDevices(const Backend& backend)
      : devices_(backend.devices()), host_(backend.connections().host) {
    if (host_) host_name_ = backend.device_spec(*host_);
  }

  int index_of(const DeviceSpec& device, CallSite site) const {
    const auto found = std::ranges::find(devices_, device);
    if (found != devices_.end()) return static_cast<int>(found - devices_.begin());
    if (host_ && device == host_name_) return *host_;
    std::string hint =
        "its devices are " + to_string(devices_.front()) + " to " + to_string(devices_.back());
    if (host_ == static_cast<int>(devices_.size())) hint += ", and " + to_string(host_name_);
    throw InvalidArgumentError(ErrorCode::kDestination,
                               to_string(device) + " is not a device of this backend", hint, site);
  }

 private:
  std::vector<DeviceSpec> devices_;
  std::optional<int> host_;
  DeviceSpec host_name_;
};

}  // namespace

std::vector<DeviceSpec> specs_of(StrategyCore& core, const std::vector<int>& devices) {
  std::vector<DeviceSpec> specs;
  specs.reserve(devices.size());
  for (int device : devices) specs.push_back(core.backend().device_spec(device));
  return specs;
}

DeviceSpec named_device(StrategyCore& core, std::string_view text, CallSite site) {
  if (text.empty()) {
    throw InvalidArgumentError(
        ErrorCode::kDestination, "an empty text names no device",
        "name one, such as " + to_string(specs_of(core, core.devices()).front()), site);
  }
  return DeviceSpec::parse(text, specs_of(core, core.devices()).front(), site);
}

void require_whole(StrategyCore& core, int components, CallSite site) {
  if (components == core.size()) return;
  throw InvalidArgumentError(ErrorCode::kDestination,
                             "a value with " + std::to_string(components) +
                                 " components names no devices of a strategy with " +
                                 std::to_string(core.size()) + " replicas",
                             "use a value of this strategy, or name the devices", site);
}

std::vector<int> indices_of(StrategyCore& core, const std::vector<DeviceSpec>& devices,
                            CallSite site) {
  if (devices.empty()) {
    throw InvalidArgumentError(ErrorCode::kDestination, "a destination of no devices",
                               "name one or more, or leave the destination out", site);
  }
  const KnownDevices known(core.backend());
  std::vector<int> indices;
  for (const DeviceSpec& device : devices) {
    const int index = known.index_of(device, site);
    if (std::ranges::find(indices, index) != indices.end()) {
      throw InvalidArgumentError(ErrorCode::kDuplicateDevice, to_string(device) + " is named twice",
                                 "name each device of a destination once", site);
    }
    indices.push_back(index);
  }
  return indices;
}

CurrentContext fetch_context(StrategyCore& core, CrossReplicaContext& cross, int device) {
  CurrentContext context = core.cross_context(cross);
  context.device = device;
  // Whether a run is going on is the surrounding context's affair.
  context.in_scope = current_context() == nullptr || current_context()->in_scope;
  return context;
}

int only_device(const std::vector<int>& devices, CallSite site) {
  if (devices.size() == 1) return devices.front();
  throw InvalidArgumentError(
      ErrorCode::kDestination,
      "fetch brings a value to one device, not " + std::to_string(devices.size()),
      "name one device, or broadcast to several", site);
}

std::vector<int> components_for(CrossReplicaContext& cross, const std::vector<DeviceSpec>& devices,
                                const Participants& present, CallSite site) {
  std::vector<int> sources;
  for (int i = 0; i < present.count(); ++i) {
    const int replica = present.id(i);
    const DeviceSpec own = cross.core().backend().device_spec(cross.core().device_of(replica));
    const auto found = std::ranges::find(devices, own);
    if (found == devices.end() && devices.size() > 1) {
      ErrorReport report;
      report.code = ErrorCode::kDestination;
      report.summary = "a merge returned a value without a component for replica " +
                       std::to_string(replica) + ", on " + to_string(own);
      report.site = site;
      report.replicas.push_back({replica, site, "waits for the result"});
      report.expected = "a value on one device, or on the devices of all replicas";
      report.hint = "the value is on";
      for (const DeviceSpec& device : devices) report.hint += " " + to_string(device);
      throw InvalidArgumentError(std::move(report));
    }
    sources.push_back(found == devices.end() ? 0 : static_cast<int>(found - devices.begin()));
  }
  return sources;
}

Placement placement_of(CrossReplicaContext& cross, int replica) {
  return cross.core().placement(replica);
}

}  // namespace belfry::detail
