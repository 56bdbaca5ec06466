// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local_sgd_strategy.h"
#include <belfry/belfry.h>

#include <string>
#include <utility>
#include <vector>

/// Local SGD as contracts and suites get it. Their programs know no parameters, so that it brings
/// some: a nest of host values and a tensor. It takes their means after every run.
// [trained]
template <class Sgd>
class Trained final : public Sgd {
 public:
  Trained(belfry::Backend& backend, const belfry::StrategyOptions& options)
      : Sgd(backend, options, 1),
        host_(this->parameter([] { return host(0.0F); })),
        tensor_(this->parameter([] { return tensor(0.0F); })) {}

  /// The mistake in the means, in words; empty without a mistake.
  std::string mistake() {
    if (!all_are(mean_)) return "parameters have changed, though nobody trained them";
    this->run([&](belfry::ReplicaContext& replica) {
      const float learned = mean_ + static_cast<float>(replica.replica_id() + 1);
      host_.on(replica) = host(learned);
      tensor_.on(replica) = tensor(learned);
    });
    // Of 1, 2, ..., n. Exact, as are all the sums.
    mean_ += static_cast<float>(this->num_replicas() + 1) / 2;
    return all_are(mean_) ? "" : "parameters are not the mean of what replicas learned";
  }

 private:
  using Host = std::pair<float, std::vector<double>>;
  static Host host(float value) { return {value, {value, value}}; }
  static auto tensor(float value) { return belfry::Tensor<float>::full({3}, value); }

  bool all_are(float value) {
    for (const Host& one : this->local_values(host_)) {
      if (one != host(value)) return false;
    }
    for (const auto& one : this->local_values(tensor_)) {
      if (one.to_host() != std::vector<float>(3, value)) return false;
    }
    return true;
  }

  float mean_ = 0.0F;
  belfry::ReplicaLocalVariable<Host> host_;
  belfry::ReplicaLocalVariable<belfry::Tensor<float>> tensor_;
};
using TrainedSgd = Trained<LocalSgdStrategy>;
// [trained]
