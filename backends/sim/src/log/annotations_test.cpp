// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/annotations.h"

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "testing/operations.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::sim::annotations_test {
namespace {

using testing::of_run;

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
  EXPECT_NE(log.annotations().find(0), nullptr);
  EXPECT_EQ(log.annotations().find(1), nullptr);
}

TEST(Annotations, AReplicaWithoutAnythingToSayHasNone) {
  Log log(10);
  log.append(of_replica(OperationKind::kStart));
  log.append(of_replica(OperationKind::kArrive));
  EXPECT_EQ(log.annotations().find(0), nullptr);
  EXPECT_EQ(annotation_text(log, 1), "");
}

// The fill that comes after the failed gather is skipped.
TEST(Annotations, MarkWorkThatFailedOrWasSkipped) {
  Backend backend{{.devices = 1, .schedule = Schedule::fixed()}};
  MirroredStrategy strategy{backend};
  EXPECT_THROW(strategy.run([](ReplicaContext&) {
    const auto table = Tensor<float>::zeros({2, 1});
    const auto row = gather_rows(table, Tensor<std::int64_t>::full({1}, 2));
    return Tensor<float>::full({1}, 1.0F).to_host()[0];
  }),
               DeviceError);
  std::vector<bool> failed;
  for (std::uint64_t i = 0; i < backend.log().records().size(); ++i) {
    if (backend.log().records()[i].kind != OperationKind::kExecute) continue;
    failed.push_back(annotation_text(backend.log(), i).ends_with(", FAILED"));
  }
  EXPECT_EQ(failed, (std::vector<bool>{false, false, true, true}));
}

}  // namespace
}  // namespace belfry::sim::annotations_test
