// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Gradients in buckets, and an update of all variables, over three hosts with the replicas 0 and 1,
// 2, and 3 to 5.
#include "belfry/gradient_buckets.h"

#include "belfry/belfry.h"
#include "belfry/testing/asserts.h"
#include "processes/hosts.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace belfry::testing::gradient_buckets_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

struct Layers {
  explicit Layers(Strategy& strategy)
      : head(strategy.mirrored_variable([] { return Tensor<float>::zeros({2}); })),
        body(strategy.mirrored_variable([] { return Tensor<double>::zeros({3}); })),
        buckets(strategy, {"head", "body"}, {.op = ReduceOp::kSum}) {}

  // Replica i adds i to the head, and 10 i to the body.
  void step(ReplicaContext& replica, bool body_first) {
    const float id = static_cast<float>(replica.replica_id());
    const auto add_body = [&] {
      buckets.add(replica, "body", Tensor<double>::full({3}, 10.0 * id));
    };
    if (body_first) add_body();
    buckets.add(replica, "head", Tensor<float>::full({2}, id));
    if (!body_first) add_body();
    buckets.finish(replica, [&](CrossReplicaContext& cross, const TensorValues& sums) {
      cross.update_all({head, body}, FusedUpdate::plain(1), {}, sums);
    });
  }

  MirroredVariable<Tensor<float>> head;
  MirroredVariable<Tensor<double>> body;
  GradientBuckets buckets;
};

TEST(GradientBucketsOverProcesses, SumAllReplicas) {
  testing::asserts("SEM-251");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    Layers layers(strategy);
    for (int step = 1; step <= 2; ++step) {
      strategy.run([&](ReplicaContext& replica) { layers.step(replica, true); });
      // 0 + 1 + ... + 5 = 15.
      for (const auto& one : strategy.local_values(layers.head)) {
        EXPECT_THAT(one.to_host(), Each(-15.0F * static_cast<float>(step)));
      }
      for (const auto& one : strategy.local_values(layers.body)) {
        EXPECT_THAT(one.to_host(), Each(-150.0 * step));
      }
    }
  });
}

TEST(GradientBucketsOverProcesses, ReportAnotherOrderOfAHost) {
  testing::asserts("SEM-251");
  on_hosts([](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    Layers layers(strategy);
    const bool is_odd = host.group().rank() == 1;
    const std::string text = text_of_error<std::exception>(
        [&] { strategy.run([&](ReplicaContext& replica) { layers.step(replica, is_odd); }); });
    EXPECT_THAT(text, AllOf(HasSubstr("gradient bucket 0: head, body"),
                            HasSubstr("gradient bucket 0: body, head")));
  });
}

}  // namespace
}  // namespace belfry::testing::gradient_buckets_test
