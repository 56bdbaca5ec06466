// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites in the processes of on_each_process, with 0 to 4 devices each. All processes draw the
// same cases, and a case fails in all processes if the case fails in any.
#include "processes/before_tests.h"
#include "processes/group_kind.h"
#include "processes/over_processes.h"
#include "processes/suites_over_processes.h"
#include "suites/case_places.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace belfry::testing {
namespace {

class InProcesses final : public CasePlaces {
 public:
  void check(const std::function<void(const CasePlace&)>& run_case) const override {
    on_each_process([&run_case](ProcessGroup& group) {
      const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
      const std::string mistake = mistake_over_processes(group, name, cases_over_processes, [&]() {
        const auto devices_of = *device_counts_of(group.size()).as("devices of processes");
        return [&run_case, &group, devices_of] {
          run_case({{group, devices_of}, suite_strategies()});
        };
      });
      EXPECT_EQ(mistake, "");
    });
  }
};

const InProcesses places;
const bool is_set = [] {
  case_places = &places;
  before_tests = leave_out_tests;
  return true;
}();

}  // namespace

}  // namespace belfry::testing
