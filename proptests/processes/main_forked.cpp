// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Tests in 2, 3 and 4 processes, made by fork: all processes run the same tests in the same
// order, in a common group. If a test fails in any process, the program fails.
//
//   --cases=N    the cases of each property, 2 by default
#include "processes/before_tests.h"
#include "processes/forked_processes.h"
#include "processes/group_kind.h"
#include "processes/own_host.h"
#include "suites/recorded_cases.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace belfry::testing {
namespace {

constexpr std::chrono::milliseconds kDeadline{60'000};

ProcessGroup* own_group = nullptr;

/// Prints failures, and nothing else.
class FailuresAlone final : public ::testing::EmptyTestEventListener {
 public:
  explicit FailuresAlone(int process) : process_(process) {}
  void OnTestPartResult(const ::testing::TestPartResult& part) override {
    if (part.failed()) std::printf("process %d: %s\n", process_, part.message());
  }

 private:
  int process_;
};

int run_tests(ProcessGroup& group, int argc, char** argv) {
  own_group = &group;
  name_own_host(group.rank());
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new RecordedCases([] { return cases_over_processes; }));
  if (before_tests != nullptr) before_tests();
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (group.rank() != 0) {
    delete listeners.Release(listeners.default_xml_generator());
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresAlone(group.rank()));
  }
  return RUN_ALL_TESTS();
}

}  // namespace

void on_each_process(const std::function<void(ProcessGroup&)>& body) { body(*own_group); }

}  // namespace belfry::testing

int main(int argc, char** argv) {
  using namespace belfry::testing;
  cases_over_processes = 2;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--cases=")) cases_over_processes = std::atoi(argv[i] + 8);
  }
  bool fine = true;
  for (int processes = 2; processes <= 4; ++processes) {
    std::printf("== %d processes\n", processes);
    std::fflush(nullptr);
    const auto statuses = run_forked(
        processes, kDeadline,
        [argc, argv](belfry::ProcessGroup& group) { return run_tests(group, argc, argv); });
    for (std::size_t process = 0; process < statuses.size(); ++process) {
      if (statuses[process] == 0) continue;
      std::printf("process %zu of %d ended with %d\n", process, processes, statuses[process]);
      fine = false;
    }
  }
  std::printf(fine ? "all processes agree\n" : "FAILED\n");
  return fine ? 0 : 1;
}
