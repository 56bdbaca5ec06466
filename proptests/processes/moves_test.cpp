// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Exchanges of tensors between processes whose group exchanges parts, and whose devices no
// communicator joins. Suites of exchange_props compare the values.
#include "belfry/backend/process_parts.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/each_place.h"
#include "belfry/testing/thread_group.h"
#include "processes/forwarding_group.h"
#include "processes/two_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace belfry::testing::moves {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kFloats = 1024;  // In a row: 4 KiB.
using Row = Tensor<float>;

// Counts what a process receives from others.
class CountingParts final : public ForwardingGroup, public ProcessParts {
 public:
  explicit CountingParts(ProcessGroup& group)
      : ForwardingGroup(group), parts_(dynamic_cast<ProcessParts&>(group)) {}

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    EXPECT_LT(bytes.size(), kFloats * sizeof(float)) << "elements in a message to all";
    return ForwardingGroup::gather(bytes);
  }
  std::size_t least_bytes() const override { return parts_.least_bytes(); }
  bool exchange_parts(bool is_ready, std::span<const SentPart> sent,
                      std::span<const ReceivedPart> received) override {
    for (const ReceivedPart& part : received) bytes += part.count;
    return parts_.exchange_parts(is_ready, sent, received);
  }
  std::size_t bytes = 0;

 private:
  ProcessParts& parts_;
};

// The rows that the processes of the replicas {0, 1} and {2} receive, of 6 rows on each replica.
using Exchange = std::function<void(ReplicaContext&, const Row&)>;
std::vector<std::size_t> received_in(const Exchange& exchange) {
  std::vector<std::size_t> rows(2);
  run_processes(2, [&](ProcessGroup& group) {
    CountingParts counting(group);
    sim::Backend backend{{.devices = group.rank() == 0 ? 2 : 1}};
    MultiWorkerMirroredStrategy strategy{backend, counting};
    strategy.run([&](ReplicaContext& replica) {
      exchange(replica, Row::full({6, kFloats}, static_cast<float>(replica.replica_id())));
    });
    rows[static_cast<std::size_t>(group.rank())] = counting.bytes / sizeof(float) / kFloats;
  });
  return rows;
}

Row rows(const Row& all, std::int64_t begin, std::int64_t end) {
  return slice(all, Axis(0), begin, end);
}

TEST(Moves, BringWhatAProcessNeedsOnce) {
  testing::asserts("SEM-285");
  EXPECT_THAT(received_in([](ReplicaContext& replica, const Row& all) {
                const auto got = replica.all_to_all(
                    std::vector{rows(all, 0, 1), rows(all, 1, 3), rows(all, 3, 6)});
                for (std::size_t from = 0; from < 3; ++from) {
                  EXPECT_THAT(got[from].to_host(), ::testing::Each(from));
                }
              }),
              ElementsAre(3, 6));
  EXPECT_THAT(received_in([](ReplicaContext& replica, const Row& all) {
                EXPECT_THAT(replica.broadcast(all, 2).to_host(), ::testing::Each(2));
              }),
              ElementsAre(6, 0));
  EXPECT_THAT(received_in([](ReplicaContext& replica, const Row& all) {
                replica.permute(all, {{2, 0}, {2, 1}, {1, 2}});
              }),
              ElementsAre(6, 6));
  EXPECT_THAT(received_in([](ReplicaContext& replica, const Row& all) {
                replica.scatter_from(all, Axis(0), 0, {1, 4, 1});
              }),
              ElementsAre(0, 1));
  EXPECT_THAT(received_in([](ReplicaContext& replica, const Row& all) {
                const auto joined = replica.gather_to(all, 1);
                EXPECT_EQ(joined.has_value(), replica.replica_id() == 1);
              }),
              ElementsAre(6, 0));
  EXPECT_THAT(received_in([](ReplicaContext& replica, const Row& all) {
                const Row sum = replica.reduce_scatter(ReduceOp::kSum, all, Axis(0), {1, 2, 3});
                EXPECT_THAT(sum.to_host(), ::testing::Each(3));
              }),
              ElementsAre(3, 6));
  EXPECT_THAT(received_in([](ReplicaContext& replica, const Row& all) {
                EXPECT_EQ(replica.all_gather(all).shape(), (Shape{18, kFloats}));
              }),
              ElementsAre(6, 12));
}

// 100 + 100 + 100 is no int8_t: the check reads the elements of all processes.
TEST(Moves, OfSumsThatLeaveTheirTypeAreErrorsInEveryProcess) {
  testing::asserts("SEM-157", "SEM-285");
  run_processes(2, [](ProcessGroup& group) {
    sim::Backend backend{{.devices = group.rank() + 1}};
    MultiWorkerMirroredStrategy strategy{backend, group, {.report_overflow = true}};
    const auto sum = [](ReplicaContext& replica, std::int8_t term) {
      const auto own = Tensor<std::int8_t>::full({3}, term);
      return replica.reduce_scatter(ReduceOp::kSum, own, Axis(0)).to_host();
    };
    EXPECT_THROW(strategy.run([&](ReplicaContext& replica) { return sum(replica, 100); }),
                 InvalidArgumentError);
    const auto sums = strategy.run([&](ReplicaContext& replica) { return sum(replica, 40); });
    EXPECT_THAT(sums, ::testing::Each(ElementsAre(120)));
  });
}

// Row 2 of a table of 2 rows has no value: the elements of the replica `odd` cannot be read.
TEST(Moves, OfATensorThatCannotBeComputedFailInEveryProcess) {
  testing::asserts("SEM-285", "SEM-154");
  at_each_place(4, [](int odd) {
    const auto texts = texts_of_run<Error>([&](ReplicaContext& replica) {
      const auto table = Tensor<float>::from({2, 1}, {1, 2});
      const std::int64_t row = replica.replica_id() == odd ? 2 : 0;
      const Row own = gather_rows(table, Tensor<std::int64_t>::from({1}, {row}));
      replica.all_to_all(std::vector{own, own, own, own});
    });
    const auto reason = HasSubstr("indices[0] is 2, and the table has 2 rows");
    const bool is_first = odd < 2;
    const std::string failed = std::string("BF-071 process ") + (is_first ? "0" : "1") + " failed";
    EXPECT_THAT(texts[0], AllOf(HasSubstr(is_first ? "BF-061" : failed), reason));
    EXPECT_THAT(texts[1], AllOf(HasSubstr(is_first ? failed : "BF-061"), reason));
  });
}

}  // namespace
}  // namespace belfry::testing::moves
