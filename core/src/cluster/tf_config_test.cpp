// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cluster_environment.h"
#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <string>
#include <utility>

namespace belfry::tf_config_test {
namespace {

const std::string kCluster =
    R"("cluster": {"worker": ["a:1", "b:1", "a:2"], "ps": ["p:1"], "chief": ["a:9"]})";

const std::string kLoneWorker = R"("cluster": {"worker": ["a:1"], "ps": ["p:1"]})";

std::string with_task(const std::string& job, const std::string& index) {
  return "{" + kCluster + R"(, "task": {"type": ")" + job + R"(", "index": )" + index + "}}";
}

ProcessIdentity told(const std::string& text) { return resolve({{"TF_CONFIG", text}}); }

// The end of the message, after the text of the variable.
std::string failure_of(const std::string& text) {
  const ErrorReport report = report_of([&] { static_cast<void>(told(text)); });
  EXPECT_EQ(report.code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(report.hint.empty());
  EXPECT_TRUE(report.summary.starts_with("TF_CONFIG holds \"")) << report.summary;
  const std::size_t end = report.summary.rfind("\": ");
  return end == std::string::npos ? report.summary : report.summary.substr(end + 3);
}

// Ranks by hand: chief a:9 is process 0; the workers are a:1, b:1 and a:2, in this order.
TEST(TfConfig, NumbersTheChiefFirstAndWorkersAsListed) {
  testing::asserts("SEM-202");
  const auto numbers = [](const std::string& job, const std::string& index) {
    return told(with_task(job, index)).numbers;
  };
  EXPECT_EQ(numbers("chief", "0"), (ProcessNumbers{.rank = 0, .size = 4, .local_rank = 0}));
  EXPECT_EQ(numbers("worker", "0"), (ProcessNumbers{.rank = 1, .size = 4, .local_rank = 1}));
  EXPECT_EQ(numbers("worker", "1"), (ProcessNumbers{.rank = 2, .size = 4, .local_rank = 0}));
  EXPECT_EQ(numbers("worker", "2"), (ProcessNumbers{.rank = 3, .size = 4, .local_rank = 2}));
}

TEST(TfConfig, SortsNoHosts) {
  testing::asserts("SEM-202");
  const std::string text =
      R"({"cluster": {"worker": ["n10:1", "n2:1"]}, "task": {"type": "worker", "index": 0}})";
  const ProcessIdentity identity = told(text);
  EXPECT_EQ(identity.numbers, (ProcessNumbers{.rank = 0, .size = 2, .local_rank = 0}));
  EXPECT_EQ(identity.source, ProcessSource::kTfConfig);
  EXPECT_EQ(identity.task, (ClusterTask{.job = "worker", .index = 0}));
  EXPECT_EQ(identity.cluster, (ClusterSpec{.jobs = {{"worker", {"n10:1", "n2:1"}}}}));
}

TEST(TfConfig, TakesAMasterForTheChief) {
  testing::asserts("SEM-202");
  const std::string text =
      R"({"cluster": {"worker": ["[::1]:7", "[::1]:8"], "master": ["[::1]:9"]},)"
      R"( "task": {"type": "worker", "index": "1"}})";
  EXPECT_EQ(told(text).numbers, (ProcessNumbers{.rank = 2, .size = 3, .local_rank = 2}));
}

TEST(TfConfig, WithoutClusterOrTaskIsNoSource) {
  testing::asserts("SEM-202");
  for (const std::string& text :
       {std::string("{}"), "{" + kLoneWorker + "}",
        std::string(R"({"cluster": {}, "task": {"type": "worker", "index": 0}})"),
        "{" + kLoneWorker + R"(, "task": {}})", "{" + kLoneWorker + R"(, "task": null})",
        "{" + kLoneWorker + R"(, "task": {"type": null, "index": null}})"}) {
    EXPECT_EQ(told(text), ProcessIdentity{}) << text;
  }
}

// Each process would take itself for the only one.
TEST(TfConfig, NeedsATaskInAClusterOfSeveralProcesses) {
  testing::asserts("SEM-202");
  for (const char* task : {"", R"(, "task": {})", R"(, "task": {"type": null, "index": null})"}) {
    EXPECT_EQ(failure_of("{" + kCluster + task + "}"),
              "the cluster has several processes, and no task names this process");
  }
  const Environment mpirun{{"OMPI_COMM_WORLD_RANK", "2"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  Environment both = mpirun;
  both["TF_CONFIG"] = "{" + kCluster + "}";
  EXPECT_EQ(resolve(both), resolve(mpirun));
}

TEST(TfConfig, RefusesTasksThatAreNoProcessOfAGroup) {
  testing::asserts("SEM-202");
  EXPECT_EQ(failure_of(with_task("ps", "0")), "\"ps\" is no process of a group");
  EXPECT_EQ(failure_of(with_task("evaluator", "0")), "\"evaluator\" is no process of a group");
  EXPECT_EQ(failure_of(with_task("trainer", "0")), "\"trainer\" is no process of a group");
  EXPECT_EQ(failure_of(with_task("worker", "3")), "the cluster has no task worker 3");
  EXPECT_EQ(failure_of(with_task("master", "0")), "the cluster has no task master 0");
  const std::string chiefs = R"({"cluster": {"chief": ["a:1"], "master": ["b:1"]},)";
  EXPECT_EQ(failure_of(chiefs + R"( "task": {"type": "chief", "index": 0}})"),
            "the cluster has more than one chief or master");
}

TEST(TfConfig, RefusesHalfATask) {
  testing::asserts("SEM-202");
  EXPECT_EQ(failure_of("{" + kCluster + R"(, "task": {"type": "worker"}})"), "task has no index");
  EXPECT_EQ(failure_of("{" + kCluster + R"(, "task": {"index": 0}})"), "task has no type");
}

TEST(TfConfig, NamesTheMemberAtFault) {
  testing::asserts("SEM-202");
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", "expected an object of JSON"},
      {R"({"cluster": []})", "cluster is no object of jobs"},
      {R"({"cluster": {"worker": "a:1"}})", "cluster.worker is no list of addresses"},
      {R"({"cluster": {"worker": ["a:1", 2]}})", "cluster.worker[1] is no string"},
      {R"({"cluster": {"worker": ["a:1", ""]}})", "cluster.worker[1] is empty"},
      {R"({"cluster": {"": ["a:1"]}})", "a job of cluster has no name"},
      {R"({"cluster": {"w": [], "w": []}})", "a second member \"w\""},
      {R"({"task": "worker"})", "task is no object"},
      {R"({"task": {"type": 1}})", "task.type is no string"},
      {R"({"task": {"type": ""}})", "task.type is empty"},
      {R"({"task": {"index": -1}})", "task.index is no number of decimal digits"},
      {R"({"task": {"index": 1.0}})", "task.index is no number of decimal digits"},
      {R"({"task": {"index": "-1"}})", "task.index is no number of decimal digits"},
      {R"({"task": {"index": 2147483648}})", "task.index is no number of decimal digits"},
      {R"({"rpc_layer": 1})", "rpc_layer is no string"},
      {R"({"session_master": 1})", "session_master is no string"},
  };
  for (const auto& [text, what] : cases) EXPECT_EQ(failure_of(text), what) << text;
}

TEST(TfConfig, RefusesTextThatIsNoJson) {
  testing::asserts("SEM-202");
  EXPECT_EQ(failure_of("worker"), "syntax error while parsing value - invalid literal");
  EXPECT_EQ(failure_of("{"),
            "syntax error while parsing object key - unexpected end of input; expected string "
            "literal");
  EXPECT_EQ(failure_of("1e999"), "expected JSON");
}

// The object around has the first level.
TEST(TfConfig, PassesOverDeepMembers) {
  const auto text = [](std::size_t levels) {
    return "{\"x\": " + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_EQ(TfConfig::parse(text(31)), TfConfig{});
  for (const std::size_t levels : {32, 200'000}) {
    EXPECT_TRUE(failure_of(text(levels)).ends_with("more than 32 values inside each other"));
  }
}

TEST(TfConfig, PrintsTaskAndCluster) {
  EXPECT_EQ(to_string(TfConfig::parse(with_task("worker", "1"))),
            "worker 1 of worker [a:1, b:1, a:2], ps [p:1], chief [a:9]");
  EXPECT_EQ(to_string(TfConfig{}), "no task of no jobs");
  EXPECT_EQ(to_string(TfConfig::parse(
                R"({"task": {"index": 1}, "rpc_layer": "grpc", "session_master": "m"})")),
            "task without type 1 of no jobs, rpc_layer grpc, session_master m");
}

TEST(TfConfig, MastersNeedATaskOfTheCluster) {
  EXPECT_THROW(static_cast<void>(TfConfig::parse("{" + kCluster + "}").master()),
               InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(TfConfig::parse(with_task("worker", "3")).master()),
               InvalidArgumentError);
}

// Texts near the right form, by pieces of JSON.
RC_GTEST_PROP(TfConfigProperty, AnyTextIsReadOrRefused, ()) {
  testing::asserts("SEM-202");
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "{", "}", "[", "]", ",", ":", "\"cluster\"", "\"task\"", "\"worker\"", "\"type\"",
      "\"index\"", "\"a:1\"", "0", "\"0\"", "null"));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  try {
    const ProcessIdentity identity = told(text);
    RC_ASSERT(identity.numbers.rank >= 0);
    RC_ASSERT(identity.numbers.rank < identity.numbers.size);
  } catch (const InvalidArgumentError& error) {
    RC_ASSERT(error.report().summary.starts_with("TF_CONFIG holds "));
  }
}

}  // namespace
}  // namespace belfry::tf_config_test
