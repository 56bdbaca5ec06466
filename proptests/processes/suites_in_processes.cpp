// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The suites in the processes of on_each_process, with 0 to 4 devices each. All processes draw the
// same cases, and a case fails in all processes if the case fails in any. A process may have no
// device in any case; the work of all processes counts.
#include "processes/before_tests.h"
#include "processes/group_kind.h"
#include "processes/over_processes.h"
#include "processes/suites_over_processes.h"
#include "suites/case_places.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace belfry::testing {
namespace {

DeviceWork work_of_others(ProcessGroup& group, const DeviceWork& own) {
  DeviceWork others;
  const auto all = group.gather(std::as_bytes(std::span(&own, 1)));
  for (std::size_t process = 0; process < all.size(); ++process) {
    if (static_cast<int>(process) == group.rank()) continue;
    DeviceWork work;
    std::memcpy(&work, all[process].data(), sizeof work);
    others += work;
  }
  return others;
}

class InProcesses final : public CasePlaces {
 public:
  DeviceWork check(const std::function<void(const CasePlace&)>& run_case,
                   const std::function<DeviceWork()>& own_work) const override {
    DeviceWork elsewhere;
    on_each_process([&](ProcessGroup& group) {
      const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
      const std::string mistake = mistake_over_processes(group, name, cases_over_processes, [&]() {
        const auto devices_of = *device_counts_of(group.size()).as("devices of processes");
        return [&run_case, &group, devices_of] {
          run_case({{group, devices_of}, suite_strategies()});
        };
      });
      EXPECT_EQ(mistake, "");
      elsewhere = work_of_others(group, own_work());
    });
    return elsewhere;
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
