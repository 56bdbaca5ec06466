// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/topology.h"

#include "belfry/testing/arbitrary.h"
#include "belfry/testing/values.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <ostream>
#include <tuple>
#include <utility>

namespace belfry::testing {
namespace {

// Four kinds: all devices in order, all in any order, some in order, some in any order.
Topology drawn_from(int backend_devices, int kind, std::uint64_t seed) {
  Topology topology = Topology::whole(backend_devices);
  std::vector<int>& devices = topology.devices;
  const auto below = [seed](std::size_t draw, std::size_t bound) {
    return static_cast<std::size_t>(mixed_bits(seed, draw, 0) % bound);
  };
  if (kind > 0) {
    for (std::size_t i = devices.size(); i > 1; --i) {
      std::swap(devices[i - 1], devices[below(i, i)]);
    }
  }
  if (kind > 1) devices.resize(1 + below(0, devices.size()));
  if (kind == 2) std::ranges::sort(devices);
  return topology;
}

// The topology without a device of the backend; later devices are renumbered. May be empty.
Topology without(const Topology& topology, int gone) {
  Topology rest{topology.backend_devices - 1, {}};
  for (int device : topology.devices) {
    if (device != gone) rest.devices.push_back(device > gone ? device - 1 : device);
  }
  return rest;
}

// Simpler topologies: all devices of the same backend; an additional device; an order closer to the
// backend's. No step leads back, so shrinking ends.
std::vector<Topology> nearer_to_whole(const Topology& topology) {
  const Topology whole = Topology::whole(topology.backend_devices);
  if (topology == whole) return {};
  std::vector<Topology> nearer = {whole};
  const auto missing = std::ranges::find_if(whole.devices, [&](int device) {
    return std::ranges::find(topology.devices, device) == topology.devices.end();
  });
  if (missing != whole.devices.end()) {
    nearer.push_back(topology);
    nearer.back().devices.push_back(*missing);
  }
  if (!std::ranges::is_sorted(topology.devices)) {
    nearer.push_back(topology);
    std::ranges::sort(nearer.back().devices);
    nearer.push_back(topology);
    const auto descent = std::ranges::adjacent_find(nearer.back().devices, std::greater());
    std::swap(*descent, *(descent + 1));
  }
  return nearer;
}

std::vector<Topology> simpler(const Topology& topology) {
  std::vector<Topology> all;
  for (int less = topology.backend_devices - 1; less > 0; less /= 2) {
    all.push_back(Topology::whole(topology.backend_devices - less));
  }
  if (topology.is_whole()) return all;
  for (int gone = 0; gone < topology.backend_devices; ++gone) {
    Topology rest = without(topology, gone);
    if (!rest.devices.empty()) all.push_back(std::move(rest));
  }
  const std::vector<Topology> nearer = nearer_to_whole(topology);
  all.insert(all.end(), nearer.begin(), nearer.end());
  return all;
}

// Disables RapidCheck's own shrinking, which knows neither order nor whole topologies.
rc::Gen<Topology> random_topology(const rc::Gen<int>& backend_devices) {
  return rc::gen::noShrink(rc::gen::map(
      rc::gen::tuple(backend_devices, rc::gen::resize(rc::kNominalSize,
                                                      rc::gen::pair(rc::gen::inRange(0, 4),
                                                                    rc::gen::inRange(0, 1 << 20)))),
      [](const std::tuple<int, std::pair<int, int>>& drawn) {
        const auto& [count, choices] = drawn;
        return drawn_from(count, choices.first, static_cast<std::uint64_t>(choices.second));
      }));
}

}  // namespace

Topology Topology::whole(int backend_devices) {
  Topology all{backend_devices, std::vector<int>(static_cast<std::size_t>(backend_devices))};
  std::iota(all.devices.begin(), all.devices.end(), 0);
  return all;
}

std::vector<DeviceSpec> Topology::specs(const Backend& backend) const {
  std::vector<DeviceSpec> names;
  names.reserve(devices.size());
  for (int device : devices) names.push_back(backend.device_spec(device));
  return names;
}

std::string to_string(const Topology& topology) {
  const std::string count = std::to_string(topology.backend_devices);
  if (topology.backend_devices == 1) return "the only device";
  if (topology.is_whole()) return "all " + count + " devices";
  std::string text = topology.devices.size() == 1 ? "device " : "devices ";
  for (std::size_t i = 0; i < topology.devices.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(topology.devices[i]);
  }
  return text + " of " + count;
}

void showValue(const Topology& topology, std::ostream& out) { out << to_string(topology); }

rc::Gen<Topology> topology(int most_devices) {
  return rc::gen::shrink(random_topology(device_count(most_devices)), [](const Topology& drawn) {
    return rc::seq::fromContainer(simpler(drawn));
  });
}

rc::Gen<Topology> topology_of(int backend_devices) {
  return rc::gen::shrink(
      random_topology(rc::gen::just(backend_devices)),
      [](const Topology& drawn) { return rc::seq::fromContainer(nearer_to_whole(drawn)); });
}

}  // namespace belfry::testing
