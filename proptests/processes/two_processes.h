// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/thread_group.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace belfry::testing {

using Body = std::function<void(MultiWorkerMirroredStrategy&, ProcessGroup&)>;

// Two processes of two simulated devices each.
inline void with_strategies(const Body& body) {
  run_processes(2, [&](ProcessGroup& group) {
    sim::Backend backend{{.devices = 2, .seed = 7}};
    MultiWorkerMirroredStrategy strategy{backend, group};
    body(strategy, group);
  });
}

// The text of the exception of `body` in each process. Afterwards the strategies still work: four
// times 1 is 4.
template <class E>
std::vector<std::string> texts_of(const Body& body) {
  std::vector<std::string> texts(2);
  with_strategies([&](MultiWorkerMirroredStrategy& strategy, ProcessGroup& group) {
    std::string& text = texts[static_cast<std::size_t>(group.rank())];
    text = text_of_error<E>([&] { body(strategy, group); });
    const PerReplica<int> sums =
        strategy.run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 1); });
    EXPECT_THAT(std::vector<int>(sums.begin(), sums.end()), ::testing::ElementsAre(4, 4));
  });
  return texts;
}

// The same for the function of a run.
template <class E>
std::vector<std::string> texts_of_run(const std::function<void(ReplicaContext&)>& function) {
  return texts_of<E>(
      [&](MultiWorkerMirroredStrategy& strategy, ProcessGroup&) { strategy.run(function); });
}

}  // namespace belfry::testing
