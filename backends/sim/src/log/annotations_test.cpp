// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/annotations.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/asserts.h"
#include "testing/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::sim::annotations_test {
namespace {

using ::testing::ElementsAre;
using testing::of_run;
using ::testing::Pair;

Operation of_replica(OperationKind kind, std::string_view name = {}) {
  Operation operation{.kind = kind};
  operation.agent = {AgentId::Kind::kReplica, 0};
  operation.name = name;
  return operation;
}

TEST(Annotations, EnterNoHash) {
  belfry::testing::asserts("SEM-77");
  Log plain(10);
  Log annotated(10);
  for (const auto kind : {AgentId::Kind::kReplica, AgentId::Kind::kStream}) {
    Operation operation{.kind = OperationKind::kExecute};
    operation.agent.kind = kind;
    plain.append(operation);
    operation.failed = true;
    operation.members = 3;
    operation.name = "fill";
    operation.site = {"train.cpp", 5};
    annotated.append(operation);
  }
  annotated.append(of_run(OperationKind::kRunBegin, 1, 5));
  annotated.append(of_run(OperationKind::kRunEnd, 1, 5));
  EXPECT_EQ(annotated.hash(), plain.hash());
  EXPECT_EQ(annotated.order_free_hash(), plain.order_free_hash());
  EXPECT_EQ(annotated.records(), plain.records());
  EXPECT_EQ(annotated.size(), 2U);
  EXPECT_EQ(annotated.annotations().runs().size(), 2U);
}

// A name is copied: the operation's text may be gone.
TEST(Annotations, KeepNamesAfterTheEndOfTheirOwners) {
  Log log(100);
  for (int i = 0; i < 40; ++i) {
    log.append(of_replica(OperationKind::kVariableRead, "variable " + std::to_string(i % 20)));
  }
  for (std::uint64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(annotation_text(log, i), "variable " + std::to_string(i % 20));
  }
}

TEST(Annotations, AreKeptWithTheirRecordsOnly) {
  Log log(1);
  log.append(of_replica(OperationKind::kVariableRead, "first"));
  log.append(of_replica(OperationKind::kVariableRead, "second"));
  log.append(of_run(OperationKind::kRunBegin, 1, 5));
  EXPECT_NE(log.annotations().find(0), nullptr);
  EXPECT_EQ(log.annotations().find(1), nullptr);
  EXPECT_TRUE(log.annotations().runs().empty());
}

// The engine announces all members of collectives with one list, whose memory it uses again.
TEST(Annotations, HaveTheBytesOfAllMembersOfTheirOwnCollective) {
  std::vector<Footprint> bytes(4);
  Operation member{.kind = OperationKind::kCollective};
  member.agent.kind = AgentId::Kind::kStream;
  member.members = 2;
  member.footprints = bytes;
  Log log(10);
  for (const std::uint64_t each : {4, 10}) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = {
          .resource = i, .end = each, .mode = i < 3 ? AccessMode::kRead : AccessMode::kWrite};
    }
    log.append(member);
    log.append(member);
  }
  // Work in between, and members without a count.
  bytes[0].end = 1;
  log.append(member);
  Operation work{.kind = OperationKind::kExecute, .agent = member.agent};
  work.footprints = std::span(bytes).last(1);
  log.append(work);
  log.append(member);
  for (const std::uint64_t end : {5, 6}) {
    bytes[0].end = end;
    member.members = 0xFFFF;
    log.append(member);
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  for (std::uint64_t record = 0; record < log.size(); ++record) {
    const Annotation& annotation = *log.annotations().find(record);
    found.emplace_back(annotation.reads, annotation.writes);
  }
  EXPECT_THAT(found, ElementsAre(Pair(12, 4), Pair(12, 4), Pair(30, 10), Pair(30, 10), Pair(21, 10),
                                 Pair(0, 10), Pair(21, 10), Pair(25, 10), Pair(26, 10)));
}

TEST(Annotations, AReplicaWithoutAnythingToSayHasNone) {
  Log log(10);
  log.append(of_replica(OperationKind::kStart));
  log.append(of_replica(OperationKind::kArrive));
  EXPECT_EQ(log.annotations().find(0), nullptr);
  EXPECT_EQ(annotation_text(log, 1), "");
}

// Two threads with a strategy each: the run that began first also ends first.
TEST(Annotations, RunsOfThreadsEndInAnyOrder) {
  Log log(10);
  log.append(of_run(OperationKind::kRunBegin, 1, 5));
  log.append(of_run(OperationKind::kRunBegin, 1, 9));
  log.append(of_run(OperationKind::kRunEnd, 1, 5));
  log.append(of_run(OperationKind::kRunEnd, 1, 9));
  log.append(of_run(OperationKind::kRunEnd, 1, 9));  // Begun before the log.
  std::vector<std::string> marks;
  for (const RunMark& mark : log.annotations().runs()) {
    marks.push_back((mark.begins ? "begin " : "end ") + std::to_string(mark.run));
  }
  EXPECT_THAT(marks, ElementsAre("begin 1", "begin 2", "end 1", "end 2"));
}

// The allocation and the enqueueing of a tensor are the host's, for the replica or the merge that
// makes the tensor.
TEST(Annotations, SayForWhomTheHostActs) {
  for (const Carrier carrier : {Carrier::kFiber, Carrier::kBaton, Carrier::kConcurrent}) {
    Backend backend{{.devices = 2, .carrier = carrier}};
    MirroredStrategy strategy{backend};
    Tensor<float>::full(Shape{1}, 0, strategy.placement(1));
    strategy.run([&](ReplicaContext& replica) {
      if (replica.replica_id() == 1) Tensor<float>::zeros({1});
      replica.merge_call(
          [&](CrossReplicaContext&) { Tensor<float>::full(Shape{1}, 0, strategy.placement(1)); });
    });
    std::vector<int> replicas;
    for (std::uint64_t i = 0; i < backend.log().records().size(); ++i) {
      if (backend.log().records()[i].kind != OperationKind::kEnqueue) continue;
      replicas.push_back(backend.log().annotations().find(i)->replica);
    }
    EXPECT_THAT(replicas, ElementsAre(-1, 1, -1)) << to_string(carrier);
  }
}

}  // namespace
}  // namespace belfry::sim::annotations_test
