// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The length of a spring is a line: so many cm without load, and so many more for each kg.
#include <belfry/belfry.h>
#include <belfry/tensor_ops.h>

#include <cstdint>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

namespace spring {

using namespace belfry;

/// A load in kg, and the length of the spring in cm.
using Measurement = std::pair<float, float>;
/// The loads and the lengths that a replica gets of a batch; there may be none.
using Share = std::pair<std::vector<float>, std::vector<float>>;

// [variables]
/// A sum over measurements, and their number.
struct Sum {
  Tensor<float> total;
  int count = 0;
  static auto members(auto& self) { return std::tie(self.total, self.count); }
  static Sum of_nothing(Shape shape) { return {Tensor<float>::zeros(shape)}; }
};

/// Fits the line to measurements on the replicas of a strategy, by gradient descent.
class Training {
 public:
  /// Starts from a line of zeros. `strategy` must live longer.
  explicit Training(Strategy& strategy) : strategy_(strategy) {
    const auto scope = strategy.scope();
    line_ = strategy.mirrored_variable(Tensor<float>::zeros({2, 1}), {.name = "line"});
    gradient_ = strategy.replica_local_variable(ReduceOp::kSum, Sum::of_nothing({2, 1}),
                                                {.name = "gradient"});
    squares_ = strategy.replica_local_variable(ReduceOp::kSum, Sum::of_nothing({1, 1}),
                                               {.name = "squares"});
  }
  // [variables]

  // [accumulate]
  /// Adds the gradient of a batch to the sums of the replicas. No replica waits for another.
  void accumulate(const PerReplica<Share>& shares) {
    strategy_.run(
        [&](ReplicaContext& replica, const Share& share) {
          const auto& [loads, lengths] = share;
          const auto rows = static_cast<std::int64_t>(loads.size());
          const auto ones = Tensor<float>::full({rows, 1}, 1.0F);
          const auto x = concatenate<float>({ones, Tensor<float>::from({rows, 1}, loads)}, Axis(1));
          const auto error = matmul(x, line_.on(replica)) - Tensor<float>::from({rows, 1}, lengths);
          add_to(gradient_.on(replica).total, matmul(x, error, {.transpose_a = true}));
          add_to(squares_.on(replica).total, matmul(error, error, {.transpose_a = true}));
          gradient_.on(replica).count += static_cast<int>(rows);
          squares_.on(replica).count += static_cast<int>(rows);
        },
        shares);
  }
  // [accumulate]

  // [update]
  /// Moves the line by half of the mean gradient of all measurements since the last update.
  void update() {
    const auto scope = strategy_.scope();
    CrossReplicaContext& cross = strategy_.cross_replica();
    const auto move = [](Tensor<float>& line, const Sum& gradient) {
      subtract_scaled(line, 0.5F / static_cast<float>(gradient.count), gradient.total);
    };
    cross.update(line_, move, cross.reduce(ReduceOp::kSum, strategy_.local_values(gradient_)));
    cross.assign_each(gradient_, Sum::of_nothing({2, 1}));
  }
  // [update]

  // [train]
  /// Trains on the rest of the epoch, or on its next `most` batches of four. An update takes two
  /// batches; the last update of an epoch takes what is left.
  void train(const std::vector<Measurement>& all, int most, std::ostream& out) {
    const auto batches = Dataset<Measurement>::from(all).skip(seen()).batch(4).take(most);
    const DistributeOptions uneven{.end_of_data = EndOfData::kPadWithEmpties};
    for (const PerReplica<Share>& shares : strategy_.distribute_dataset(batches, uneven)) {
      accumulate(shares);
      out << "  batch in shares of";
      for (const auto& [loads, lengths] : shares) out << ' ' << loads.size();
      if (waiting() == 8 || seen() == static_cast<int>(all.size())) {
        update();
        out << ", update to " << line()[0] << " cm, and " << line()[1] << " cm for each kg";
      }
      out << '\n';
    }
  }
  // [train]

  /// Ends the epoch. Returns the mean of the squared errors of its measurements.
  float end_epoch() {
    const auto scope = strategy_.scope();
    const Sum sum = strategy_.read(squares_);
    strategy_.cross_replica().assign_each(squares_, Sum::of_nothing({1, 1}));
    return sum.total.item() / static_cast<float>(sum.count);
  }

  /// The length without load, and the growth for each kg.
  std::vector<float> line() { return strategy_.read(line_).to_host(); }
  /// The number of measurements since the last update.
  int waiting() { return strategy_.read(gradient_).count; }
  /// The number of measurements since the start of the epoch.
  int seen() { return strategy_.read(squares_).count; }

  // [checkpoint]
  /// Everything that a training needs to go on.
  Checkpoint checkpoint() {
    Checkpoint all{strategy_};
    all.add(line_).add(gradient_).add(squares_);
    return all;
  }
  // [checkpoint]

 private:
  Strategy& strategy_;
  MirroredVariable<Tensor<float>> line_;
  ReplicaLocalVariable<Sum> gradient_;
  ReplicaLocalVariable<Sum> squares_;
};

}  // namespace spring
