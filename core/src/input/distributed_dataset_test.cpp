// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/distributed_dataset.h"

#include "belfry/backend/host_backend.h"
#include "belfry/error.h"
#include "belfry/strategies.h"
#include "belfry/testing/asserts.h"
#include "words/report_of_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::distributed_dataset_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int>;

Dataset<Ints> batches(int count, int size) { return Dataset<int>::range(count).batch(size); }

class DistributedDatasets : public ::testing::Test {
 protected:
  template <class B>
  std::vector<PerReplica<B>> steps(const Dataset<B>& dataset, const DistributeOptions& options) {
    std::vector<PerReplica<B>> all;
    for (const PerReplica<B>& step : strategy_.distribute_dataset(dataset, options)) {
      all.push_back(step);
    }
    return all;
  }

  HostBackend backend_{3};
  MirroredStrategy strategy_{backend_};
};

using Three = PerReplica<Ints>;

TEST_F(DistributedDatasets, AreNotReadInReplicas) {
  testing::asserts("SEM-97");
  const auto dataset =
      strategy_.distribute_dataset(batches(14, 7), {.end_of_data = EndOfData::kMaskReplicas});
  const ErrorReport report =
      report_of([&] { strategy_.run([&](ReplicaContext&) { std::ignore = dataset.begin(); }); });
  EXPECT_EQ(report.code, ErrorCode::kWrongContext);
  ASSERT_EQ(report.replicas.size(), 1U);
  EXPECT_EQ(report.replicas[0].what, "asked for it");
}

TEST_F(DistributedDatasets, AskForAChoiceAtTheEndOfTheData) {
  DistributeOptions options{};
  options.prefetch = 1;
  EXPECT_THAT(report_of([&] { steps(batches(4, 2), options); }).summary,
              HasSubstr("nothing says what happens to a partial step"));
  options.end_of_data = EndOfData::kMaskReplicas;
  options.prefetch = -1;
  EXPECT_THROW(steps(batches(4, 2), options), InvalidArgumentError);
  options.prefetch = 0;
  options.worker = 1;
  EXPECT_THROW(steps(batches(4, 2), options), InvalidArgumentError);
}

// No nest, since a file's name is no leaf; batches all the same.
struct Images {
  std::map<std::string, Tensor<float>> planes;
  std::vector<std::string> files;

  static auto members(auto& self) { return std::tie(self.planes, self.files); }
};

TEST_F(DistributedDatasets, PutTensorsBesideStringsOnTheReplicasDevices) {
  testing::asserts("SEM-97");
  const auto images = Dataset<int>::range(6).map([](int i) {
    return std::pair(Tensor<float>::full({2}, static_cast<float>(i)), std::to_string(i));
  });
  const auto aggregates = images.batch(6).map([](const auto& batch) {
    return Images{{{"red", batch.first}, {"blue", batch.first}}, batch.second};
  });
  for (const int prefetch : {0, 1}) {
    const DistributeOptions options{.end_of_data = EndOfData::kMaskReplicas, .prefetch = prefetch};
    for (const auto& step : steps(images.batch(6), options)) {
      for (int replica = 0; replica < 3; ++replica) {
        EXPECT_EQ(step[replica].first.placement(), strategy_.placement(replica));
        EXPECT_THAT(step[replica].first.to_host(),
                    ElementsAre(2 * replica, 2 * replica, 2 * replica + 1, 2 * replica + 1));
        EXPECT_THAT(step[replica].second,
                    ElementsAre(std::to_string(2 * replica), std::to_string(2 * replica + 1)));
      }
    }
    for (const auto& step : steps(aggregates, options)) {
      for (int replica = 0; replica < 3; ++replica) {
        for (const auto& [name, plane] : step[replica].planes) {
          EXPECT_EQ(plane.placement(), strategy_.placement(replica)) << name;
        }
        EXPECT_EQ(step[replica].files.front(), std::to_string(2 * replica));
      }
    }
  }
}

TEST_F(DistributedDatasets, ReadAheadAsFarAsTheyAreTold) {
  testing::asserts("SEM-97");
  int read = 0;
  const auto counted = Dataset<int>::range(60).map([&read](int i) { return read++, i; }).batch(6);
  const auto ahead = [&](int prefetch) {
    read = 0;
    const auto distributed = strategy_.distribute_dataset(
        counted, {.end_of_data = EndOfData::kDropPartialStep, .prefetch = prefetch});
    const auto first = distributed.begin();
    EXPECT_EQ((*first)[0], (Ints{0, 1}));
    return read;
  };
  EXPECT_EQ(ahead(0), 6);
  EXPECT_EQ(ahead(2), 18);
  EXPECT_EQ(ahead(100), 60);
}

TEST_F(DistributedDatasets, RethrowReadErrorsAtTheirStep) {
  testing::asserts("SEM-97");
  const auto failing = Dataset<int>::range(9).map([](int i) {
    if (i == 4) throw std::runtime_error("bad example");
    return i;
  });
  for (const int prefetch : {0, 3}) {
    int steps = 0;
    const auto read = [&] {
      for (const auto& step : strategy_.distribute_dataset(
               failing.batch(3),
               {.end_of_data = EndOfData::kDropPartialStep, .prefetch = prefetch})) {
        steps += step.size() / 3;
      }
    };
    EXPECT_THROW(read(), std::runtime_error);
    EXPECT_EQ(steps, 1);
  }
}

TEST_F(DistributedDatasets, BelongToTheirStrategysCrossReplicaContext) {
  const DistributeOptions options{.end_of_data = EndOfData::kDropPartialStep};
  const auto distributed = strategy_.distribute_dataset(batches(6, 3), options);
  EXPECT_THROW(strategy_.run([&](ReplicaContext&) { return *distributed.begin(); }), ContextError);
  EXPECT_THROW(strategy_.run([&](ReplicaContext&) {
    std::ignore = strategy_.distribute_dataset(batches(6, 3), options);
  }),
               ContextError);
  const auto in_merge = strategy_.run([&](ReplicaContext& replica) {
    return replica.merge_call([&](CrossReplicaContext&) { return *distributed.begin(); });
  });
  EXPECT_THAT(in_merge, ElementsAre(Ints{0}, Ints{1}, Ints{2}));
}

TEST_F(DistributedDatasets, ServeOneOfSeveralWorkers) {
  testing::asserts("SEM-95");
  // Sizes of 10 examples over 2 workers of 3: worker 0 uses 2 2 2 2 1 1, worker 1 2 1 1 2 2 2.
  DistributeOptions options{.end_of_data = EndOfData::kPadWithEmpties, .num_workers = 2};
  EXPECT_THAT(steps(batches(10, 10), options),
              ElementsAre(Three{{0, 1}, {2, 3}, {4, 5}}, Three{{6, 7}, {8}, {9}}));
  options.worker = 1;
  EXPECT_THAT(steps(batches(10, 10), options),
              ElementsAre(Three{{0, 1}, {2}, {3}}, Three{{4, 5}, {6, 7}, {8, 9}}));
  EXPECT_THROW(steps(batches(10, 2), options), InvalidArgumentError);
}

TEST_F(DistributedDatasets, ComeFromInputFunctions) {
  int calls = 0;
  const auto input = [&](const InputContext& context) {
    ++calls;
    EXPECT_EQ(context.num_replicas_in_sync, 6);
    EXPECT_EQ(context.num_input_pipelines, 2);
    EXPECT_EQ(context.input_pipeline_id, 1);
    return Dataset<int>::range(12)
        .shard(context.num_input_pipelines, context.input_pipeline_id)
        .batch(context.get_per_replica_batch_size(12));
  };
  const auto distributed = strategy_.distribute_datasets_from_function(
      input, {.end_of_data = EndOfData::kDropPartialStep, .num_workers = 2, .worker = 1});
  std::vector<Three> all;
  for (const auto& step : distributed) all.push_back(step);
  EXPECT_THAT(all, ElementsAre(Three{{1, 3}, {5, 7}, {9, 11}}));
  EXPECT_EQ(calls, 1);
}

TEST_F(DistributedDatasets, ComeFromFunctionsThatReturnTheNextElement) {
  const auto counter = [](const InputContext&) { return [i = 0]() mutable { return i++; }; };
  const auto limited = [](const InputContext&) {
    return [i = 0]() mutable { return i < 5 ? std::optional(i++) : std::nullopt; };
  };
  const DistributeOptions mask{.end_of_data = EndOfData::kMaskReplicas};
  const auto endless = strategy_.distribute_datasets_from_function(counter, mask);
  auto step = endless.begin();
  EXPECT_THAT(*++step, ElementsAre(3, 4, 5));
  std::vector<int> sizes;
  for (const auto& some : strategy_.distribute_datasets_from_function(limited, mask)) {
    sizes.push_back(static_cast<int>(some.end() - some.begin()));
  }
  EXPECT_THAT(sizes, ElementsAre(3, 2));
}

TEST_F(DistributedDatasets, StartInsideTheirStrategy) {
  int starts = 0;
  const auto table = Dataset<Tensor<float>>::from_generator([&starts] {
    ++starts;
    const auto row = Tensor<float>::full({1}, 3.0F);  // On replica 0's device.
    return [row, left = 3]() mutable { return left-- > 0 ? std::optional(row) : std::nullopt; };
  });
  const auto distributed =
      strategy_.distribute_dataset(table.batch(3), {.end_of_data = EndOfData::kDropPartialStep});
  EXPECT_THROW(strategy_.run([&](ReplicaContext&) { std::ignore = distributed.begin(); }),
               ContextError);
  EXPECT_EQ(starts, 0);
  int steps = 0;
  for (const auto& step : distributed) {
    ++steps;
    EXPECT_EQ(step[2].item(), 3.0F);
  }
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(starts, 1);
}

}  // namespace
}  // namespace belfry::distributed_dataset_test
