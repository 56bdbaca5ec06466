// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites in the processes of mpirun, with 0 to 4 devices each. All processes draw the same
// cases, and a case fails in all processes if the case fails in any.
#include "belfry/sim/backend.h"
#include "belfry/testing/sim_factory.h"
#include "processes/before_tests.h"
#include "processes/group_kind.h"
#include "processes/over_processes.h"
#include "processes/suites_over_processes.h"
#include "suites/case_places.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>

namespace belfry::testing {
namespace {

// In each exchange a process waits for all processes, which share the processors.
constexpr int kCases = 5;

// Makes the backends of SimFactory, and backends without devices.
class DevicesOfProcesses final : public BackendFactory {
 public:
  std::string_view name() const override { return "sim in several processes"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    if (request.devices > 0) return several_.make(request);
    return std::make_unique<sim::Backend>(sim::Options{.devices = 0, .seed = request.seed},
                                          sim::Attachments{});
  }
  DeviceWork work(Backend& backend) const override { return several_.work(backend); }
  std::string replay_token(Backend& backend) const override {
    return several_.replay_token(backend);
  }

 private:
  SimFactory several_;
};

class InMpi final : public CasePlaces {
 public:
  void check(const std::function<void(const CasePlace&)>& run_case) const override {
    on_each_process([&run_case](ProcessGroup& group) {
      const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
      const std::string mistake = mistake_over_processes(group, name, kCases, [&]() {
        const auto devices_of = *device_counts_of(group.size()).as("devices of processes");
        return [&run_case, &group, devices_of] {
          run_case({{group, devices_of}, suite_strategies()});
        };
      });
      EXPECT_EQ(mistake, "");
    });
  }
};

const InMpi places;
const bool is_set = [] {
  case_places = &places;
  before_tests = leave_out_tests;
  return true;
}();

}  // namespace

const BackendFactory& backend_factory() {
  static const DevicesOfProcesses factory;
  return factory;
}

}  // namespace belfry::testing
