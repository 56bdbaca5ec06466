// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Computes with kernels of the program: structs with a body, launched on tensors.
#include <belfry/belfry.h>
#include <belfry/launch.h>
#include <belfry/sim/backend.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <span>
#include <stdexcept>

using namespace belfry;

// [kernel]
/// weight -= rate * gradient, with the elements of the gradient between -limit and limit.
struct ClippedStep {
  float rate;
  float limit;

  bool check(const Shape& weight, const Shape& gradient) const { return weight == gradient; }
  void on_host(std::span<float> weight, std::span<const float> gradient) const {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      weight[i] -= rate * std::clamp(gradient[i], -limit, limit);
    }
  }
};
// [kernel]

// [scratch]
/// median = the element of rank n / 2.
struct Median {
  void on_host(std::span<const float> x, std::span<std::byte> memory,
               std::span<float> median) const {
    const std::span sorted(reinterpret_cast<float*>(memory.data()), x.size());
    std::ranges::copy(x, sorted.begin());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
    std::ranges::nth_element(sorted, middle);
    median[0] = *middle;
  }
};
// [scratch]

/// Refuses negative numbers.
struct Roots {
  void on_host(std::span<float> x) const {
    for (float value : x) {
      if (value < 0) throw std::domain_error("the root of a negative number");
    }
  }
};

// [wrong]
/// total = the sum of x, but the body never sets total to 0.
struct Total {
  void on_host(std::span<const float> x, std::span<float> total) const {
    for (float value : x) total[0] += value;
  }
};
// [wrong]

int main() {
  std::cout << "== update\n";
  // [update]
  sim::Backend backend{{.devices = 2, .seed = 7}};
  MirroredStrategy strategy{backend};
  auto weight = strategy.mirrored_variable([] { return Tensor<float>::full({2}, 1.0F); });

  strategy.run([&](ReplicaContext& replica) {
    const float id = static_cast<float>(replica.replica_id());
    const auto gradient = Tensor<float>::from({2}, {0.5F, 4 * id});
    replica.merge_call(
        [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& gradients) {
          const auto mean = cross.reduce(ReduceOp::kMean, gradients);  // 0.5 and 2
          cross.update(
              weight,
              [](Tensor<float>& w, const Tensor<float>& g) {
                launch(ClippedStep{.rate = 0.5F, .limit = 1}, updates(w), reads(g));
              },
              mean);
        },
        gradient);
  });
  for (float w : strategy.read(weight).to_host()) std::cout << w << ' ';
  std::cout << '\n';
  // [update]

  std::cout << "== median\n";
  // [median]
  const auto scope = strategy.scope();
  const auto x = Tensor<float>::from({5}, {9, 1, 7, 3, 5});
  auto median = Tensor<float>::uninitialised({1});
  launch(Median(), reads(x), scratch(5 * sizeof(float)), writes(median));
  std::cout << median.item() << '\n';
  // [median]

  std::cout << "== failure\n";
  // [failure]
  auto bad = Tensor<float>::full({2}, -1.0F);
  launch(Roots(), updates(bad));
  try {
    bad.to_host();
  } catch (const std::domain_error& error) {
    std::cout << error.what() << '\n';
  }
  // [failure]

  std::cout << "== declared\n";
  // [declared]
  sim::Backend checked{{.devices = 1, .check_kernels = true}};
  const Placement on{&checked, 0};
  auto total = Tensor<float>::uninitialised({1}, on);
  launch(Total(), reads(Tensor<float>::full({3}, 2, on)), writes(total));
  try {
    total.item();
  } catch (const DeviceError& error) {
    std::cout << error.what() << '\n';
  }
  // [declared]
}
