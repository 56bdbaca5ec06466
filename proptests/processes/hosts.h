// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/belfry.h"
#include "belfry/sim/cluster.h"
#include "suites/text_of_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::testing {

using OnHost = std::function<void(MultiWorkerMirroredStrategy&, sim::Host&)>;

inline int sum_of_ones(Strategy& strategy) {
  return *strategy
              .run([](ReplicaContext& replica) { return replica.all_reduce(ReduceOp::kSum, 1); })
              .begin();
}

// Three hosts with 2, 1 and 3 devices: the replicas 0 and 1, 2, and 3 to 5. Afterwards the
// strategies still work: six times 1 is 6.
inline void on_hosts(const OnHost& body, const StrategyOptions& options = {}) {
  sim::Cluster cluster{{.devices_of = {2, 1, 3}, .seed = 7}};
  cluster.run([&](sim::Host& host) {
    MultiWorkerMirroredStrategy strategy{host.backend(), host.group(), options};
    body(strategy, host);
    EXPECT_EQ(sum_of_ones(strategy), 6);
  });
}

// `body` on process 1 alone. The other processes make no call in the meantime: a call of the group
// by process 1 would fail.
inline void on_host_one(const std::function<void(MultiWorkerMirroredStrategy&)>& body) {
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    if (host.group().rank() == 1) body(strategy);
  });
}

// The text of the exception of `body` on each host.
template <class E>
std::vector<std::string> texts_on_hosts(const OnHost& body) {
  std::vector<std::string> texts(3);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host& host) {
    std::string& text = texts[static_cast<std::size_t>(host.group().rank())];
    text = text_of_error<E>([&] { body(strategy, host); });
  });
  return texts;
}

// The same for the function of a run.
template <class E>
std::vector<std::string> texts_of_host_run(const std::function<void(ReplicaContext&)>& function) {
  return texts_on_hosts<E>(
      [&](MultiWorkerMirroredStrategy& strategy, sim::Host&) { strategy.run(function); });
}

// The results of `replica_function` on all six replicas, in replica order.
template <class F>
auto on_replicas(const F& replica_function) {
  using Result = std::invoke_result_t<const F&, ReplicaContext&>;
  std::vector<Result> results(6);
  on_hosts([&](MultiWorkerMirroredStrategy& strategy, sim::Host&) {
    const PerReplica<Result> own = strategy.run(replica_function);
    for (int id = 0; id < own.size(); ++id) {
      if (own.has(id)) results[static_cast<std::size_t>(id)] = own[id];
    }
  });
  return results;
}

// The value 1 + r for replica r: 1 to 6, with the sum 21 and the mean 3.5.
inline double value_of(const ReplicaContext& replica) { return 1.0 + replica.replica_id(); }

template <class T>
std::vector<T> elements_of(const PerReplica<T>& value) {
  return {value.begin(), value.end()};
}

inline int process_of(int replica) { return replica < 2 ? 0 : replica < 3 ? 1 : 2; }

// A process in messages: `process 0, replicas 0,1`.
inline std::string with_replicas(int process) {
  const char* const replicas[] = {"replicas 0,1", "replica 2", "replicas 3-5"};
  return "process " + std::to_string(process) + ", " + replicas[process];
}

// The lines of all processes, in order: `strange` for process `odd`, else `usual`.
inline auto has_lines(int odd, const std::string& usual, const std::string& strange) {
  const auto line = [&](int process) {
    return ::testing::HasSubstr(with_replicas(process) + (process == odd ? strange : usual));
  };
  return ::testing::AllOf(line(0), line(1), line(2));
}

// The part of process `rank` in a list of all six replicas.
template <class T>
std::vector<T> part_of(int rank, const std::vector<T>& all) {
  const int first[] = {0, 2, 3, 6};
  return {all.begin() + first[rank], all.begin() + first[rank + 1]};
}

}  // namespace belfry::testing
