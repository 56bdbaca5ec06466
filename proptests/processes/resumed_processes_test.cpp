// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A training with sharded slots, interrupted in an epoch and resumed on other numbers of replicas
// and processes. Sums are exact: numbers have few bits behind the point.
#include "belfry/belfry.h"
#include "belfry/checkpoint.h"
#include "belfry/sim/cluster.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "words/temporary_folder_test.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace belfry::testing::resumed_processes {
namespace {

using Numbers = std::vector<float>;
using Rows = std::vector<int>;

constexpr int kWeights = 5;
constexpr int kEpochs = 2;

struct Outcome {
  Numbers weight = Numbers(kWeights);
  Numbers velocity = Numbers(kWeights);

  bool operator==(const Outcome&) const = default;
};

Numbers gradient_of(const Rows& rows) {
  Numbers gradient(kWeights);
  for (const int row : rows) gradient[static_cast<std::size_t>(row % kWeights)] += row + 1.0F;
  return gradient;
}

// The training in numbers of the host, without a strategy.
Outcome trained(const Dataset<Rows>& batches) {
  Outcome model;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (const Rows& rows : batches) {
      const Numbers gradient = gradient_of(rows);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        model.velocity[i] = model.velocity[i] / 2 + gradient[i];
        model.weight[i] -= model.velocity[i];
      }
    }
  }
  return model;
}

/// A part of the training, on hosts of its own.
struct Job {
  std::vector<int> devices{};
  int steps = 0;  ///< Before the interruption.
  int prefetch = 0;
  bool between_runs = false;  ///< Changes the velocity in cross-replica context.
};

void take_step(Strategy& strategy, const Job& job, const MirroredVariable<Tensor<float>>& weight,
               const ShardedVariable<float>& velocity, const PerReplica<Rows>& step) {
  const auto change = [](Tensor<float>& v, const Tensor<float>& gradient) {
    scale(v, 0.5F);
    add_to(v, gradient);
  };
  const auto gradients = strategy.run(
      [&](ReplicaContext& replica, const Rows& rows) {
        const auto own = Tensor<float>::from({kWeights}, gradient_of(rows));
        return replica.reduce_scatter(ReduceOp::kSum, own, Axis(0));
      },
      step);
  if (job.between_runs) strategy.cross_replica().update(velocity, change, gradients);
  strategy.run(
      [&](ReplicaContext& replica, const Tensor<float>& gradient) {
        auto& v = velocity.on(replica);
        if (!job.between_runs) change(v, gradient);
        const auto own = velocity.rows(replica);
        auto rows = slice(weight.on(replica), Axis(0), own.begin, own.end);
        subtract_scaled(rows, 1.0F, v);
        replica.assign(weight, replica.all_gather(rows, Axis(0)));
      },
      gradients);
}

// Returns the outcome unless the job is interrupted.
std::optional<Outcome> train(Strategy& strategy, const Job& job, const Dataset<Rows>& batches,
                             const std::filesystem::path& path) {
  const auto zeros = [] { return Tensor<float>::zeros({kWeights}); };
  const auto weight =
      strategy.mirrored_variable(zeros, {.name = "weight", .aggregation = Aggregation::kOnlyFirst});
  const auto velocity = strategy.sharded_variable(zeros, Axis(0), {.name = "velocity"});
  const auto epoch = strategy.mirrored_variable(0, {.name = "epoch"});
  const auto data = strategy.distribute_dataset(
      batches, {.end_of_data = EndOfData::kPadWithEmpties, .prefetch = job.prefetch});
  Checkpoint checkpoint(strategy);
  checkpoint.add(weight).add(velocity).add(epoch).add("rows", data);
  if (std::filesystem::exists(path)) checkpoint.restore(path);
  int left = job.steps;
  while (strategy.read(epoch) < kEpochs) {
    for (const auto& step : data) {
      take_step(strategy, job, weight, velocity, step);
      if (--left > 0) continue;
      checkpoint.save(path);
      return std::nullopt;
    }
    strategy.cross_replica().update(epoch, [](int& number) { ++number; });
  }
  return Outcome{strategy.read(weight).to_host(), strategy.read(velocity).to_host()};
}

Job drawn_job(bool is_last) {
  Job job;
  job.devices.resize(*rc::gen::inRange<std::size_t>(1, 4));
  for (int& count : job.devices) count = *rc::gen::inRange(0, 4);
  if (std::accumulate(job.devices.begin(), job.devices.end(), 0) == 0) job.devices[0] = 1;
  job.steps = is_last ? 1000 : *rc::gen::inRange(1, 8);
  job.prefetch = *rc::gen::inRange(0, 3);
  job.between_runs = *rc::gen::arbitrary<bool>();
  return job;
}

RC_GTEST_PROP(ResumedProcesses, EndAsAnUninterruptedTraining, (std::uint16_t seed)) {
  testing::asserts("SEM-255");
  testing::asserts("SEM-283");
  const auto batches = Dataset<int>::range(*rc::gen::inRange(1, 25))
                           .shuffle(static_cast<std::uint64_t>(*rc::gen::inRange(0, 9)))
                           .batch(*rc::gen::inRange(4, 13));
  const Outcome expected = trained(batches);
  const TemporaryFolder folder;
  bool ended = false;
  for (int jobs = *rc::gen::inRange(1, 5); !ended; --jobs) {
    const Job job = drawn_job(jobs <= 1);
    std::vector<std::optional<Outcome>> outcomes(job.devices.size());
    sim::Cluster cluster{{.devices_of = job.devices, .seed = seed}};
    cluster.run([&](sim::Host& host) {
      MultiWorkerMirroredStrategy strategy{host.backend(), host.group()};
      outcomes[static_cast<std::size_t>(host.group().rank())] =
          train(strategy, job, batches, folder / "training");
    });
    ended = outcomes.front().has_value();
    for (const std::optional<Outcome>& outcome : outcomes) {
      RC_ASSERT(outcome.has_value() == ended);
      if (outcome) RC_ASSERT(*outcome == expected);
    }
  }
}

}  // namespace
}  // namespace belfry::testing::resumed_processes
