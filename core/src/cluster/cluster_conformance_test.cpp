// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Facts about the cluster resolvers of TensorFlow; the numbers are TensorFlow's own.
#include "belfry/cluster_environment.h"
#include "belfry/device_share.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace belfry::cluster_conformance_test {
namespace {

const std::string kPsAndWorkers =
    R"("cluster": {"ps": ["ps0:2222", "ps1:2222"],
                   "worker": ["worker0:2222", "worker1:2222", "worker2:2222"]})";
const std::string kTaskPs0 = R"("task": {"type": "ps", "index": 0})";

TEST(Clusters, K01_TheClusterIsAsGiven) {
  const TfConfig config = TfConfig::parse("{" + kPsAndWorkers + ", " + kTaskPs0 + "}");
  EXPECT_EQ(config.cluster,
            (ClusterSpec{.jobs = {{"ps", {"ps0:2222", "ps1:2222"}},
                                  {"worker", {"worker0:2222", "worker1:2222", "worker2:2222"}}}}));
}

TEST(Clusters, K02_TheMasterIsTheAddressOfTheTask) {
  EXPECT_EQ(TfConfig::parse("{" + kPsAndWorkers + ", " + kTaskPs0 + "}").master(), "ps0:2222");
}

TEST(Clusters, K03_TheMasterOfATaskByName) {
  TfConfig config = TfConfig::parse("{" + kPsAndWorkers + ", " + kTaskPs0 + "}");
  config.job = "worker";
  config.index = 1;
  EXPECT_EQ(config.master(), "worker1:2222");
}

TEST(Clusters, K04_ASessionMasterReplacesTheAddress) {
  const std::string master = R"("session_master": "sessionmaster:2222")";
  EXPECT_EQ(TfConfig::parse("{" + kPsAndWorkers + ", " + kTaskPs0 + ", " + master + "}").master(),
            "sessionmaster:2222");
  // Neither cluster nor task is consulted.
  EXPECT_EQ(TfConfig::parse("{" + master + "}").master(), "sessionmaster:2222");
}

TEST(Clusters, K05_TheLayerPrecedesTheAddress) {
  EXPECT_EQ(
      TfConfig::parse("{" + kPsAndWorkers + ", " + kTaskPs0 + R"(, "rpc_layer": "grpc"})").master(),
      "grpc://ps0:2222");
}

TEST(Clusters, K06_TheProgramOverridesTaskAndLayer) {
  TfConfig config = TfConfig::parse("{" + kPsAndWorkers +
                                    R"(, "rpc_layer": "grpc",
                                        "task": {"type": "worker", "index": 2}})");
  config.job = "ps";
  config.index = 0;
  EXPECT_EQ(config.master(), "grpc://ps0:2222");
  config.job = "worker";
  config.index = 1;
  config.rpc_layer = "test";
  EXPECT_EQ(config.master(), "test://worker1:2222");
}

TEST(Clusters, K10_WithoutAClusterTheMasterIsEmpty) {
  EXPECT_EQ(TfConfig::parse("{}").master(), "");
  EXPECT_EQ(TfConfig::parse("{}"), TfConfig{});
}

TEST(Clusters, K11_TheMasterOfALoneTaskIsEmpty) {
  const std::string text = R"({"cluster": {"worker": ["worker0:2222"]}})";
  EXPECT_EQ(TfConfig::parse(text).master(), "");
}

TEST(Clusters, K12_DevicesAreCountedByTask) {
  const TfConfig config = TfConfig::parse(
      R"({"cluster": {"worker1": ["w10:2222"],
                      "worker2": ["w21:2222", "w22:2222", "w23:2222", "w24:2222"]},
          "rpc_layer": "grpc", "task": {"type": "worker1", "index": "0"}})");
  std::vector<DeviceSpec> devices;
  for (const char* name :
       {"/job:worker1/task:0/device:TPU:0", "/job:worker1/task:0/device:TPU:1",
        "/job:worker1/task:0/device:GPU:0", "/job:worker1/task:0/device:GPU:1",
        "/job:worker2/task:1/device:TPU:2", "/job:worker2/task:2/device:TPU:3",
        "/job:worker2/task:3/device:GPU:2", "/job:worker2/task:4/device:GPU:3"}) {
    devices.push_back(DeviceSpec::parse(name));
  }
  using Numbers = std::map<std::string, int>;
  ASSERT_TRUE(config.job);
  ASSERT_TRUE(config.index);
  EXPECT_EQ(devices_of_task(devices, {.job = *config.job, .index = *config.index}),
            (Numbers{{"GPU", 2}, {"TPU", 2}}));
  EXPECT_EQ(devices_of_task(devices, {.job = "worker2", .index = 3}), (Numbers{{"GPU", 1}}));
}

Environment step(const std::string& tasks, const std::string& hosts, const std::string& per_host) {
  return {{"SLURM_STEP_NUM_TASKS", tasks},
          {"SLURM_STEP_NODELIST", hosts},
          {"SLURM_STEP_TASKS_PER_NODE", per_host}};
}

TEST(Clusters, K13_TheTasksOfASlurmStep) {
  const ClusterSpec cluster =
      slurm_cluster(step("3", "t02n13,t02n41,t02n43", "1(x3)"), {{"ps", 1}, {"worker", 2}});
  EXPECT_EQ(
      cluster,
      (ClusterSpec{.jobs = {{"ps", {"t02n13:8888"}}, {"worker", {"t02n41:8888", "t02n43:8888"}}}}));
}

TEST(Clusters, K14_TheMasterOfASlurmStep) {
  const ClusterSpec cluster =
      slurm_cluster(step("3", "t02n13,t02n41,t02n43", "1(x3)"), {{"ps", 1}, {"worker", 2}});
  TfConfig config{.cluster = cluster,
                  .job = "worker",
                  .index = 1,
                  .rpc_layer = "grpc",
                  .session_master = std::nullopt};
  EXPECT_EQ(config.master(), "grpc://t02n43:8888");
  config.rpc_layer = "ab";
  config.job = "ps";
  config.index = 0;
  EXPECT_EQ(config.master(), "ab://t02n13:8888");
  config.rpc_layer = "test";
  EXPECT_EQ(config.master(), "test://t02n13:8888");
}

TEST(Clusters, K15_SeveralTasksOfAHostHavePortsAndDevicesOfTheirOwn) {
  const ClusterSpec cluster =
      slurm_cluster(step("5", "t02n13,t02n41,t02n43", "2(x2),1"), {{"ps", 1}, {"worker", 4}});
  EXPECT_EQ(
      cluster,
      (ClusterSpec{
          .jobs = {{"ps", {"t02n13:8888"}},
                   {"worker", {"t02n13:8889", "t02n41:8888", "t02n41:8889", "t02n43:8888"}}}}));
  // Rank 1 is the second task of its host.
  EXPECT_EQ(devices_of_process({.local_rank = 1, .per_process = 1, .on_host = 2}),
            (std::vector<int>{1}));
}

TEST(Clusters, K16_SeveralDevicesOfATask) {
  EXPECT_EQ(devices_of_process({.local_rank = 1, .per_process = 2, .on_host = 4}),
            (std::vector<int>{2, 3}));
}

TEST(Clusters, K17_RangesOfHosts) {
  EXPECT_EQ(slurm_hosts("n[1-2],m5,o[3-4,6,7-9]"),
            (std::vector<std::string>{"n1", "n2", "m5", "o3", "o4", "o6", "o7", "o8", "o9"}));
}

TEST(Clusters, K19_TasksOfHosts) {
  EXPECT_EQ(slurm_tasks_per_node("3(x2),2,1"), (std::vector<int>{3, 3, 2, 1}));
}

TEST(Clusters, K20_ATaskMayHaveNoDevices) {
  EXPECT_EQ(devices_of_process({.local_rank = 3, .per_process = 0, .on_host = 4}),
            std::vector<int>{});
  EXPECT_EQ(devices_of_process({.local_rank = 0, .per_process = 0, .on_host = 0}),
            std::vector<int>{});
}

// Zero is an answer like every number.
TEST(Clusters, K22_TheProgramsZeroCounts) {
  const Environment environment{
      {"TF_CONFIG", "{" + kPsAndWorkers + R"(, "task": {"type": "worker", "index": 1}})"}};
  EXPECT_EQ(resolve(environment).numbers.rank, 1);
  EXPECT_EQ(resolve(environment, ProcessNumbers{.rank = 0, .size = 3}).numbers.rank, 0);
  TfConfig config = TfConfig::parse(environment.at("TF_CONFIG"));
  config.index = 0;
  EXPECT_EQ(config.master(), "worker0:2222");
}

}  // namespace
}  // namespace belfry::cluster_conformance_test
