// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/testing/topology.h"

#include "belfry/sim/backend.h"
#include "belfry/testing/arbitrary.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace belfry::testing::topology_test {
namespace {

using Devices = std::vector<int>;

void check_valid(const Topology& drawn) {
  RC_ASSERT(!drawn.devices.empty());
  const std::set<int> once(drawn.devices.begin(), drawn.devices.end());
  RC_ASSERT(once.size() == drawn.devices.size());
  RC_ASSERT(*once.begin() >= 0);
  RC_ASSERT(*once.rbegin() < drawn.backend_devices);
}

// Follows RapidCheck's shrinks as long as `fails` holds. Returns the last.
template <class F>
Topology shrunk(rc::Shrinkable<Topology> start, const F& fails) {
  while (true) {
    auto simpler = start.shrinks();
    bool found = false;
    while (auto next = simpler.next()) {
      if (!fails(next->value())) continue;
      start = *next;
      found = true;
      break;
    }
    if (!found) return start.value();
  }
}

// Draws until `fails` holds, and returns the simplest topology found by shrinking.
template <class F>
Topology simplest(const rc::Gen<Topology>& gen, const F& fails) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const auto drawn = gen(rc::Random(seed), rc::kNominalSize);
    if (fails(drawn.value())) return shrunk(drawn, fails);
  }
  ADD_FAILURE() << "none of 1000 draws fails";
  return {};
}

RC_GTEST_PROP(Topologies, AreDevicesOfABackendNoneOfThemTwice, ()) {
  const Topology drawn = *topology(9);
  check_valid(drawn);
  RC_ASSERT(drawn.backend_devices <= 9);
  const int count = *rc::gen::inRange(1, 10);
  const Topology of_so_many = *topology_of(count);
  check_valid(of_so_many);
  RC_ASSERT(of_so_many.backend_devices == count);
}

TEST(Topologies, AreAllDevicesSomeOfThemAndInAnyOrder) {
  const auto gen = topology_of(3);
  std::set<Devices> drawn;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    drawn.insert(gen(rc::Random(seed), rc::kNominalSize).value().devices);
  }
  // Of 3 devices: 3 ways to take a single device, 6 ways to take two, 6 ways to take three.
  EXPECT_EQ(drawn.size(), 15U);
}

TEST(Topologies, ShrinkTowardsFewDevicesAndAllOfThemInOrder) {
  const auto any = [](const Topology&) { return true; };
  EXPECT_EQ(simplest(topology(9), any), Topology::whole(1));
  EXPECT_EQ(simplest(topology_of(5), any), Topology::whole(5));
  const auto two_replicas = [](const Topology& one) { return one.devices.size() > 1; };
  EXPECT_EQ(simplest(topology(9), two_replicas), Topology::whole(2));
  const auto reordered = [](const Topology& one) {
    return !std::is_sorted(one.devices.begin(), one.devices.end());
  };
  EXPECT_EQ(simplest(topology(9), reordered), (Topology{2, {1, 0}}));
  const auto without_first = [](const Topology& one) {
    return std::find(one.devices.begin(), one.devices.end(), 0) == one.devices.end();
  };
  EXPECT_EQ(simplest(topology(9), without_first), (Topology{2, {1}}));
}

TEST(Topologies, NameTheDevicesInTheirOrder) {
  const sim::Backend backend{{.devices = 3}};
  const Topology two{3, {2, 0}};
  EXPECT_EQ(two.specs(backend),
            (std::vector<DeviceSpec>{backend.device_spec(2), backend.device_spec(0)}));
  EXPECT_EQ(to_string(two), "devices 2, 0 of 3");
  EXPECT_EQ(to_string(Topology{3, {1}}), "device 1 of 3");
  EXPECT_EQ(to_string(Topology::whole(3)), "all 3 devices");
  EXPECT_EQ(to_string(Topology::whole(1)), "the only device");
}

}  // namespace
}  // namespace belfry::testing::topology_test
