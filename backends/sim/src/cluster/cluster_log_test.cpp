// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/cluster_log.h"

#include "belfry/sim/timeline.h"
#include "belfry/sim/trace_json.h"
#include "testing/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::sim::cluster_log_test {
namespace {

using nlohmann::json;
using testing::of_run;
using testing::operation;
using testing::replica;
using ::testing::UnorderedElementsAreArray;

Operation host(int number, OperationKind kind, std::uint64_t call = 0) {
  Operation result = replica(number, kind, call);
  if (call != 0) result.name = "gather";
  return result;
}

// Two hosts that meet once, written by hand. The comments have the places in the order.
ClusterLog two_hosts(std::size_t hosts_limit = 100, std::size_t backend_limit = 100) {
  ClusterLog log(2, hosts_limit);
  log.append(host(0, OperationKind::kStart), 0);  // 0
  Log zero(backend_limit);
  Operation begin = of_run(OperationKind::kRunBegin, 1, 5);
  begin.subject = 1;
  zero.append(begin);
  zero.append(replica(0, OperationKind::kStart));      // 1
  zero.append(replica(0, OperationKind::kArrive, 1));  // 2
  log.append(host(0, OperationKind::kArrive, 1), 2);   // 3
  log.append(host(1, OperationKind::kStart), 2);       // 4
  Log one(backend_limit);
  one.append(operation(AgentId::Kind::kStream, 0, OperationKind::kExecute, 1));  // 5
  log.append(host(1, OperationKind::kArrive, 1), 1);                             // 6
  log.append(host(1, OperationKind::kResume, 1), 1);                             // 7
  log.append(host(1, OperationKind::kEnd), 1);                                   // 8
  log.append(host(0, OperationKind::kResume, 1), 1);                             // 9
  zero.append(operation(AgentId::Kind::kMerge, 0, OperationKind::kMerge, 1));    // 10
  zero.append(replica(0, OperationKind::kResume, 1));                            // 11
  zero.append(replica(0, OperationKind::kEnd));                                  // 12
  zero.append(of_run(OperationKind::kRunEnd, 1, 5));
  log.append(host(0, OperationKind::kEnd), 5);  // 13
  log.add(0, zero);
  log.add(1, one);
  return log;
}

// A line of the table, with texts at columns.
std::string line(const std::vector<std::pair<std::size_t, std::string>>& texts) {
  std::string all;
  for (const auto& [column, text] : texts) {
    all.resize(column, ' ');
    all += text;
  }
  return all + "\n";
}

// The widest cells are `start, arrive 1` with 15 letters, `H0 merge 1` with 10,
// `H1 stream 0: execute 1` with 22 and `H0 arrive 1` with 11; columns are two letters apart.
TEST(ClusterLog, IsATableOfAllHosts) {
  EXPECT_EQ(
      timeline(two_hosts()),
      line({{0, "step"},
            {6, "H0 R0"},
            {23, "merge"},
            {35, "streams"},
            {59, "group"},
            {72, "what"}}) +
          line({{3, "0"}, {59, "H0 start"}}) +
          line({{6, "H0 run 1 begins on 1 replica, train.cpp:5"}}) +
          line({{3, "1"}, {6, "start, arrive 1"}}) +
          line({{3, "3"}, {59, "H0 arrive 1"}, {72, "gather"}}) +
          line({{3, "4"}, {59, "H1 start"}}) + line({{3, "5"}, {35, "H1 stream 0: execute 1"}}) +
          line({{3, "6"}, {59, "H1 arrive 1"}, {72, "gather"}}) +
          line({{3, "7"}, {59, "H1 resume 1"}, {72, "gather"}}) + line({{3, "8"}, {59, "H1 end"}}) +
          line({{3, "9"}, {59, "H0 resume 1"}, {72, "gather"}}) +
          line({{2, "10"}, {23, "H0 merge 1"}}) + line({{2, "11"}, {6, "resume 1, end"}}) +
          line({{6, "H0 run 1 ends"}}) + line({{2, "13"}, {59, "H0 end"}}));
}

TEST(ClusterLog, EndsAtTheFirstOperationThatALogHasNotKept) {
  EXPECT_EQ(two_hosts().size(), 14U);
  EXPECT_EQ(two_hosts().kept(), 14U);
  // The hosts keep the places 0, 3 and 4; then nothing tells the order.
  EXPECT_EQ(two_hosts(3).kept(), 5U);
  EXPECT_EQ(two_hosts(3).size(), 14U);
  // Host 0 keeps the place 1, and not the place 2.
  EXPECT_EQ(two_hosts(100, 1).kept(), 2U);
  EXPECT_EQ(timeline(two_hosts(100, 1)),
            line({{0, "step"}, {6, "H0 R0"}, {13, "group"}}) + line({{3, "0"}, {13, "H0 start"}}) +
                line({{6, "H0 run 1 begins on 1 replica, train.cpp:5"}}) +
                line({{3, "1"}, {6, "start"}}) + "... and 12 more\n");
}

TEST(ClusterLog, HashesTheOrder) {
  const Log backend = testing::log_of({replica(0, OperationKind::kStart)});
  const auto hash_of = [&](std::uint64_t before_end) {
    ClusterLog log(1, 10);
    log.append(host(0, OperationKind::kStart), 0);
    log.append(host(0, OperationKind::kEnd), before_end);
    log.add(0, backend);
    return log.hash();
  };
  EXPECT_EQ(hash_of(1), hash_of(1));
  EXPECT_NE(hash_of(1), hash_of(0));
  EXPECT_EQ(ClusterLog().hash(), 0U);
}

// A picture by the names of groups and rows.
struct Picture {
  explicit Picture(const ClusterLog& log) : events(json::parse(trace_json(log))["traceEvents"]) {
    for (const json& event : events) {
      if (event.at("ph") != "M") continue;
      const int group = event.at("pid");
      if (event.at("name") == "process_name") groups[group] = event.at("args").at("name");
      if (event.at("name") == "thread_name") {
        rows[{group, event.at("tid")}] = event.at("args").at("name");
      }
    }
  }
  std::string row_of(const json& event) const {
    const int group = event.at("pid");
    return groups.at(group) + ": " + rows.at({group, event.at("tid")});
  }

  json events;
  std::map<int, std::string> groups{};
  std::map<std::pair<int, int>, std::string> rows{};
};

TEST(ClusterLog, IsAPictureWithRowsOfEachHost) {
  const Picture picture(two_hosts());
  std::vector<std::pair<std::uint64_t, std::string>> operations;
  std::vector<std::tuple<std::string, std::string, int, int>> spans;
  std::vector<std::tuple<std::string, std::string, int>> arrows;
  for (const json& event : picture.events) {
    if (event.at("ph") == "M") continue;
    const std::string row = picture.row_of(event);
    if (event.at("ph") != "X") {
      arrows.emplace_back(event.at("ph"), row, event.at("ts"));
    } else if (event.at("cat") == "operation") {
      operations.emplace_back(event.at("ts"), row);
    } else {
      spans.emplace_back(event.at("name"), row, event.at("ts"), event.at("dur"));
    }
  }
  const std::string zero = "host 0 program: ";
  const std::string one = "host 1 program: ";
  const std::string calls = "calls of the group";
  EXPECT_THAT(operations,
              UnorderedElementsAreArray(
                  std::vector<std::pair<std::uint64_t, std::string>>{{0, zero + calls},
                                                                     {1, zero + "R0"},
                                                                     {2, zero + "R0"},
                                                                     {3, zero + calls},
                                                                     {4, one + calls},
                                                                     {5, "host 1 streams: S0"},
                                                                     {6, one + calls},
                                                                     {7, one + calls},
                                                                     {8, one + calls},
                                                                     {9, zero + calls},
                                                                     {10, zero + "merges"},
                                                                     {11, zero + "R0"},
                                                                     {12, zero + "R0"},
                                                                     {13, zero + calls}}));
  EXPECT_THAT(spans,
              UnorderedElementsAreArray(std::vector<std::tuple<std::string, std::string, int, int>>{
                  {"run 1", zero + "runs", 1, 12},
                  {"program", zero + calls, 0, 14},
                  {"waits for call 1", zero + calls, 4, 5},
                  {"body", zero + "R0", 1, 12},
                  {"waits for merge 1", zero + "R0", 3, 8},
                  {"program", one + calls, 4, 5}}));
  // The arrow of the call: from the first arrival to the last.
  EXPECT_THAT(arrows,
              UnorderedElementsAreArray(std::vector<std::tuple<std::string, std::string, int>>{
                  {"s", zero + calls, 3}, {"f", one + calls, 6}}));
}

TEST(ClusterLog, IsEmptyBeforeARun) {
  EXPECT_EQ(timeline(ClusterLog()), "step\n");
  EXPECT_EQ(json::parse(trace_json(ClusterLog())).at("traceEvents").size(), 0U);
}

}  // namespace
}  // namespace belfry::sim::cluster_log_test
