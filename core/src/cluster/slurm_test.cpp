// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cluster_environment.h"
#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace belfry::slurm_test {
namespace {

using Hosts = std::vector<std::string>;

std::string failure_of(const auto& act) {
  const ErrorReport report = report_of(act);
  if (report.summary == "no error") return report.summary;
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(report.site.empty());
  EXPECT_FALSE(report.hint.empty() && report.expected.empty());
  return report.summary;
}

std::string hosts_failure(std::string_view list) {
  return failure_of([&] { static_cast<void>(slurm_hosts(list)); });
}

std::string counts_failure(std::string_view list) {
  return failure_of([&] { static_cast<void>(slurm_tasks_per_node(list)); });
}

TEST(SlurmHosts, KeepZerosInFront) {
  testing::asserts("SEM-203");
  EXPECT_EQ(slurm_hosts("n[08-10,012]"), (Hosts{"n08", "n09", "n10", "n012"}));
  EXPECT_EQ(slurm_hosts("n[99-101]"), (Hosts{"n99", "n100", "n101"}));
  EXPECT_EQ(slurm_hosts("n[000-001]"), (Hosts{"n000", "n001"}));
}

TEST(SlurmHosts, MayHaveSeveralBrackets) {
  testing::asserts("SEM-203");
  EXPECT_EQ(slurm_hosts("r[0-1]n[1,3]-ib"), (Hosts{"r0n1-ib", "r0n3-ib", "r1n1-ib", "r1n3-ib"}));
  EXPECT_EQ(slurm_hosts("[1-2][3-4]"), (Hosts{"13", "14", "23", "24"}));
}

TEST(SlurmHosts, AreNotSorted) {
  testing::asserts("SEM-203");
  EXPECT_EQ(slurm_hosts("n10,n2,a[3,1]"), (Hosts{"n10", "n2", "a3", "a1"}));
}

TEST(SlurmHosts, ErrorsNameTheColumn) {
  testing::asserts("SEM-203");
  EXPECT_EQ(hosts_failure(""), "list \"\", column 1: expected a host");
  EXPECT_EQ(hosts_failure("a,,b"), "list \"a,,b\", column 3: expected a host");
  EXPECT_EQ(hosts_failure("a,"), "list \"a,\", column 3: expected a host");
  EXPECT_EQ(hosts_failure("n[1-2"), "list \"n[1-2\", column 6: expected ']'");
  EXPECT_EQ(hosts_failure("n[]"), "list \"n[]\", column 3: expected a number");
  EXPECT_EQ(hosts_failure("n[1-]"), "list \"n[1-]\", column 5: expected a number");
  EXPECT_EQ(hosts_failure("n[x]"), "list \"n[x]\", column 3: expected a number");
  EXPECT_EQ(hosts_failure("n]"), "list \"n]\", column 2: expected a host");
  EXPECT_EQ(hosts_failure("n[3-1]"), "list \"n[3-1]\", column 6: the range ends before its begin");
  EXPECT_EQ(hosts_failure("n[99999999999]"),
            "list \"n[99999999999]\", column 14: the number is too large");
}

// Short texts of more hosts than fit in memory.
TEST(SlurmHosts, HaveALimit) {
  testing::asserts("SEM-203");
  EXPECT_EQ(slurm_hosts("n[1-100000]").size(), 100'000U);
  EXPECT_EQ(hosts_failure("n[1-100001]"),
            "list \"n[1-100001]\", column 11: more than 100000 hosts");
  EXPECT_EQ(hosts_failure("n[0-999]m[0-999]"),
            "list \"n[0-999]m[0-999]\", column 17: more than 100000 hosts");
  EXPECT_EQ(hosts_failure("n[1-100000],m"),
            "list \"n[1-100000],m\", column 14: more than 100000 hosts");
  const std::string is_long = "column 257: the name of a host is too long";
  EXPECT_NE(hosts_failure(std::string(300, 'n')).find(is_long), std::string::npos);
  EXPECT_NE(hosts_failure("[" + std::string(300, '0') + "]").find("too long"), std::string::npos);
  EXPECT_EQ(counts_failure("1(x100001)"), "list \"1(x100001)\", column 11: more than 100000 hosts");
}

TEST(SlurmTasks, ErrorsNameTheColumn) {
  testing::asserts("SEM-203");
  EXPECT_EQ(counts_failure(""), "list \"\", column 1: expected a number");
  EXPECT_EQ(counts_failure("2(3)"), "list \"2(3)\", column 3: expected 'x'");
  EXPECT_EQ(counts_failure("2(x3"), "list \"2(x3\", column 5: expected ')'");
  EXPECT_EQ(counts_failure("2 3"), "list \"2 3\", column 2: expected ','");
  EXPECT_EQ(counts_failure("0"), "list \"0\", column 2: a number is at least 1");
  EXPECT_EQ(counts_failure("2(x0)"), "list \"2(x0)\", column 5: a number is at least 1");
}

const Environment kStep{{"SLURM_STEP_NUM_TASKS", "5"},
                        {"SLURM_STEP_NODELIST", "n[10,2]"},
                        {"SLURM_STEP_TASKS_PER_NODE", "2,3"}};

Environment with(const std::string& name, const std::string& value) {
  Environment environment = kStep;
  environment.insert_or_assign(name, value);
  return environment;
}

std::string cluster_failure(const Environment& environment) {
  return failure_of([&] { static_cast<void>(slurm_cluster(environment)); });
}

TEST(SlurmClusters, AreWorkersInTheOrderOfTheHosts) {
  testing::asserts("SEM-203");
  const ClusterSpec workers{.jobs = {{"worker", {"n10:7", "n10:8", "n2:7", "n2:8", "n2:9"}}}};
  EXPECT_EQ(slurm_cluster(kStep, {}, 7), workers);
}

TEST(SlurmClusters, RefuseVariablesThatDisagree) {
  testing::asserts("SEM-203");
  EXPECT_EQ(cluster_failure(with("SLURM_STEP_NUM_TASKS", "")),
            "SLURM_STEP_NUM_TASKS is not set: needed for the cluster of a step");
  EXPECT_EQ(cluster_failure(with("SLURM_STEP_NUM_TASKS", "4")),
            "SLURM_STEP_NUM_TASKS holds \"4\": the hosts have 5 tasks; SLURM_STEP_TASKS_PER_NODE "
            "holds \"2,3\"");
  EXPECT_EQ(cluster_failure(with("SLURM_STEP_TASKS_PER_NODE", "5")),
            "SLURM_STEP_TASKS_PER_NODE holds \"5\": numbers of 1 hosts; SLURM_STEP_NODELIST holds "
            "\"n[10,2]\"");
  Environment large = with("SLURM_STEP_NUM_TASKS", "2000000000");
  large.insert_or_assign("SLURM_STEP_TASKS_PER_NODE", "1000000000(x2)");
  EXPECT_EQ(cluster_failure(large),
            "SLURM_STEP_NUM_TASKS holds \"2000000000\": more than 1000000 tasks");
}

TEST(SlurmClusters, NameTheVariableOfAListThatCannotBeRead) {
  testing::asserts("SEM-203");
  EXPECT_EQ(cluster_failure(with("SLURM_STEP_NODELIST", "n[10-")),
            "SLURM_STEP_NODELIST: list \"n[10-\", column 6: expected a number");
  EXPECT_EQ(cluster_failure(with("SLURM_STEP_TASKS_PER_NODE", "2,0")),
            "SLURM_STEP_TASKS_PER_NODE: list \"2,0\", column 4: a number is at least 1");
}

TEST(SlurmClusters, RefuseJobsAndPortsThatDoNotFit) {
  testing::asserts("SEM-203");
  const auto failure = [](const std::vector<std::pair<std::string, int>>& jobs, int port) {
    return failure_of([&] { static_cast<void>(slurm_cluster(kStep, jobs, port)); });
  };
  EXPECT_EQ(failure({{"ps", 1}, {"worker", 3}}, 7), "jobs with 4 tasks in a step of 5");
  EXPECT_EQ(failure({{"ps", 6}, {"worker", -1}}, 7), "jobs with 5 tasks in a step of 5");
  EXPECT_EQ(failure({{"a", 2}, {"a", 3}}, 7), "jobs with 5 tasks in a step of 5");
  EXPECT_EQ(failure({}, 0), "port 0 is the first of 3 on one host");
  EXPECT_EQ(failure({}, 65534), "port 65534 is the first of 3 on one host");
  EXPECT_EQ(failure({}, 65533), "no error");
}

// The reverse of slurm_hosts: names with a number of some digits, gathered to ranges.
RC_GTEST_PROP(SlurmProperty, ListsOfRangesGiveTheirHosts, ()) {
  testing::asserts("SEM-203");
  Hosts hosts;
  std::string list;
  const int items = *rc::gen::inRange(1, 5);
  for (int item = 0; item < items; ++item) {
    const std::string prefix = *rc::gen::element<std::string>("n", "node-", "a1b", "");
    const std::string suffix = *rc::gen::element<std::string>("", "-ib", "x");
    const int low = *rc::gen::inRange(0, 200);
    const int length = *rc::gen::inRange(1, 20);
    const auto width = static_cast<std::size_t>(*rc::gen::inRange(1, 5));
    const auto padded = [&](int number) {
      std::string digits = std::to_string(number);
      while (digits.size() < width) digits.insert(digits.begin(), '0');
      return digits;
    };
    for (int i = 0; i < length; ++i) hosts.push_back(prefix + padded(low + i) + suffix);
    list += (item == 0 ? "" : ",") + prefix + "[" + padded(low) +
            (length == 1 ? "" : "-" + std::to_string(low + length - 1)) + "]" + suffix;
  }
  RC_ASSERT(slurm_hosts(list) == hosts);
}

RC_GTEST_PROP(SlurmProperty, AnyTextIsReadOrRefusedWithAColumn, ()) {
  testing::asserts("SEM-203");
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("nm0129[]-,(x) ")));
  try {
    for (const std::string& host : slurm_hosts(text)) RC_ASSERT(!host.empty());
  } catch (const InvalidArgumentError& error) {
    RC_ASSERT(error.report().summary.find(", column ") != std::string::npos);
  }
  try {
    for (const int tasks : slurm_tasks_per_node(text)) RC_ASSERT(tasks > 0);
  } catch (const InvalidArgumentError& error) {
    RC_ASSERT(error.report().summary.find(", column ") != std::string::npos);
  }
}

}  // namespace
}  // namespace belfry::slurm_test
