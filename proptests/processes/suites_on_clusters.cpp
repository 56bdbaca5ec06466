// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites on simulated clusters of 1 to 5 hosts with 0 to 4 devices each, under random schedules
// of hosts, replicas and streams. The hosts of a case draw the same values.
#include "belfry/sim/cluster.h"
#include "belfry/testing/described.h"
#include "belfry/testing/sim_factory.h"
#include "processes/suites_over_processes.h"
#include "src/contracts/draw_tape.h"
#include "suites/case_places.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>

namespace belfry::testing {

// For the counters of work: clusters make the backends of hosts.
const BackendFactory& backend_factory() {
  static const SimFactory factory;
  return factory;
}

namespace {

class OnClusters final : public CasePlaces {
 public:
  DeviceWork check(const std::function<void(const CasePlace&)>& run_case,
                   const std::function<DeviceWork()>& /*own_work*/) const override {
    rc::detail::checkGTest(described([&run_case] {
      const int hosts = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1, 6)).as("hosts");
      const auto devices_of = *device_counts_of(hosts).as("devices of hosts");
      const auto seed = *rc::gen::arbitrary<std::uint16_t>().as("seed of the cluster");
      DrawTape draws;
      sim::Cluster cluster{{.devices_of = devices_of, .seed = seed}};
      cluster.run([&](sim::Host& host) {
        draws.rewind();
        run_case({{host.group(), devices_of, &host.backend()}, suite_strategies()});
      });
    }));
    return {};
  }
};

}  // namespace
}  // namespace belfry::testing

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  belfry::testing::leave_out_tests();
  const belfry::testing::OnClusters places;
  belfry::testing::case_places = &places;
  return RUN_ALL_TESTS();
}
