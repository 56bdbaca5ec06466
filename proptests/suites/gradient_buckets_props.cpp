// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-251: gradients in buckets have the bits of single reductions, in few collectives and without
// new memory; orders that differ between replicas are reported by name.
#include "belfry/gradient_buckets.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/asserts.h"
#include "belfry/testing/code_of.h"
#include "suites/property.h"
#include "suites/reduce_oracle.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>

namespace belfry::testing::gradient_buckets_props {
namespace {

class Buckets : public Property {};

struct Parameter {
  std::string name{};
  std::int64_t count = 0;
  bool is_double = false;
  bool is_skipped = false;
};

struct Recipe {
  std::vector<Parameter> parameters{};
  std::vector<std::size_t> order{};  ///< Of the gradients, in every replica.
  std::optional<ReductionOrder> additions{};
  Values values{};
  BucketOptions options{};
};

void showValue(const Recipe& recipe, std::ostream& out) {
  out << to_string(recipe.values) << ", " << recipe.options.rounds << " rounds, "
      << recipe.options.first_bytes << " and " << recipe.options.bytes << " bytes,";
  for (const std::size_t p : recipe.order) {
    const Parameter& one = recipe.parameters[p];
    out << ' ' << one.name << '[' << one.count << ']' << (one.is_double ? " double" : "")
        << (one.is_skipped ? " skipped" : "");
  }
}

Recipe draw_recipe() {
  Recipe recipe;
  const int count = *rc::gen::inRange(1, 9);
  for (int p = 0; p < count; ++p) {
    recipe.parameters.push_back({.name = "p" + std::to_string(p),
                                 .count = *rc::gen::inRange<std::int64_t>(0, 40),
                                 .is_double = *rc::gen::inRange(0, 3) == 0,
                                 .is_skipped = *rc::gen::inRange(0, 5) == 0});
  }
  recipe.order.resize(recipe.parameters.size());
  std::iota(recipe.order.begin(), recipe.order.end(), std::size_t{0});
  for (std::size_t i = recipe.order.size(); i > 1; --i) {
    std::swap(recipe.order[i - 1], recipe.order[*rc::gen::inRange<std::size_t>(0, i)]);
  }
  recipe.options = {.op = *rc::gen::element(ReduceOp::kSum, ReduceOp::kMean),
                    .bytes = *rc::gen::inRange<std::size_t>(0, 500),
                    .first_bytes = *rc::gen::inRange<std::size_t>(0, 200),
                    .rounds = *rc::gen::inRange(1, 4)};
  recipe.values = {Pattern::kSmallIntegers, *rc::gen::arbitrary<std::uint16_t>()};
  if (*rc::gen::arbitrary<bool>()) {
    recipe.additions = *rc::gen::element(ReductionOrder::kReplicaOrder, ReductionOrder::kTree,
                                         ReductionOrder::kRing);
    recipe.values.pattern = Pattern::kRandom;
  }
  return recipe;
}

template <class T>
Tensor<T> gradient_of(const Recipe& recipe, std::size_t p, int replica, int round) {
  const std::int64_t count = recipe.parameters[p].count;
  const Values values{recipe.values.pattern,
                      recipe.values.seed + 10 * p + static_cast<std::uint64_t>(round)};
  return Tensor<T>::from({count}, values_of<T>(values, replica, static_cast<std::size_t>(count)));
}

std::vector<std::string> names_of(const Recipe& recipe) {
  std::vector<std::string> names;
  for (const Parameter& one : recipe.parameters) names.push_back(one.name);
  return names;
}

template <class T>
void add_gradient(GradientBuckets& buckets, ReplicaContext& replica, const Recipe& recipe,
                  std::size_t p, int round) {
  buckets.add(replica, recipe.parameters[p].name,
              gradient_of<T>(recipe, p, replica.replica_id(), round));
}

template <class T>
void require_single_reduction(Strategy& strategy, const Recipe& recipe, std::size_t p,
                              const Mirrored<Tensor<T>>& reduced) {
  const auto own = strategy.run([&](ReplicaContext& replica) {
    Tensor<T> sum = gradient_of<T>(recipe, p, replica.replica_id(), 0);
    for (int round = 1; round < recipe.options.rounds; ++round) {
      add_to(sum, gradient_of<T>(recipe, p, replica.replica_id(), round));
    }
    return sum;
  });
  const auto expected = strategy.cross_replica().reduce(recipe.options.op, own);
  for (int replica = 0; replica < strategy.num_replicas(); ++replica) {
    RC_ASSERT(reduced[replica].shape() == expected[replica].shape());
    RC_ASSERT(reduced[replica].placement() == expected[replica].placement());
    RC_ASSERT(Numbers<T>(reduced[replica].to_host()) == Numbers<T>(expected[replica].to_host()));
  }
}

TEST_F(Buckets, HaveTheBitsOfSingleReductions) {
  testing::asserts("SEM-251");
  holds([this](const BackendRequest& request) {
    const Recipe recipe = *rc::gen::exec(&draw_recipe);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy({.order = recipe.additions});
    strategy.run(&meet_with_a_tensor);
    GradientBuckets buckets(strategy, names_of(recipe), recipe.options);
    std::vector<std::optional<Mirrored<Tensor<float>>>> floats(recipe.parameters.size());
    std::vector<std::optional<Mirrored<Tensor<double>>>> doubles(recipe.parameters.size());
    const auto step = [&](ReplicaContext& replica, int round) {
      for (const std::size_t p : recipe.order) {
        if (recipe.parameters[p].is_skipped) {
          buckets.skip(replica, recipe.parameters[p].name);
        } else if (recipe.parameters[p].is_double) {
          add_gradient<double>(buckets, replica, recipe, p, round);
        } else {
          add_gradient<float>(buckets, replica, recipe, p, round);
        }
      }
      return buckets.finish(replica, [&](CrossReplicaContext&, const TensorValues& gradients) {
        RC_ASSERT(gradients.size() == recipe.parameters.size());
        for (std::size_t p = 0; p < recipe.parameters.size(); ++p) {
          const std::string& name = recipe.parameters[p].name;
          if (recipe.parameters[p].is_skipped) {
            RC_ASSERT(code_of([&] { buckets.reduced<float>(name); }) ==
                      ErrorCode::kInvalidArgument);
          } else if (recipe.parameters[p].is_double) {
            doubles[p] = buckets.reduced<double>(name);
          } else {
            floats[p] = buckets.reduced<float>(name);
          }
        }
      });
    };
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (int round = 0; round < recipe.options.rounds; ++round) {
        const bool is_last = round + 1 == recipe.options.rounds;
        const auto ends = strategy.run(step, round);
        for (const bool end : ends) RC_ASSERT(end == is_last);
      }
      for (std::size_t p = 0; p < recipe.parameters.size(); ++p) {
        if (floats[p]) require_single_reduction(strategy, recipe, p, *floats[p]);
        if (doubles[p]) require_single_reduction(strategy, recipe, p, *doubles[p]);
      }
    }
  });
}

TEST_F(Buckets, ReportAnotherOrderByName) {
  testing::asserts("SEM-251");
  holds([this](const BackendRequest& request) {
    const bool may_differ = request.devices > 1;
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    const auto bytes = *rc::gen::element<std::size_t>(0, 8, 1000);
    GradientBuckets buckets(strategy, {"head", "body", "stem"},
                            {.bytes = bytes, .first_bytes = bytes});
    const int odd = *rc::gen::inRange(0, request.devices);
    const auto step = [&](ReplicaContext& replica, bool differs) {
      meet_with_a_tensor(replica);
      const auto add = [&](const char* name) {
        buckets.add(replica, name, Tensor<float>::full({3}, 1.0F));
      };
      const bool swaps = differs && replica.replica_id() == odd;
      add("stem");
      add(swaps ? "head" : "body");
      add(swaps ? "body" : "head");
      buckets.finish(replica, [](CrossReplicaContext&, const TensorValues&) {});
    };
    std::string text;
    try {
      strategy.run(step, true);
    } catch (const StructureMismatchError& error) {
      text = error.what();
      buckets.discard();
    }
    RC_ASSERT(text.empty() != may_differ);
    if (may_differ) {
      for (const char* part : {"as gradient 1", "added \"body\"", "added \"head\""}) {
        RC_ASSERT(text.find(part) != std::string::npos);
      }
    }
    strategy.run(step, false);
  });
}

TEST_F(Buckets, ReportWhatIsMissingTwiceOrUnknown) {
  testing::asserts("SEM-251");
  holds([this](const BackendRequest& request) {
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    GradientBuckets buckets(strategy, {"head", "body"});
    const auto error_of = [&](const auto& fn) -> std::string {
      std::string text = "none";
      try {
        strategy.run([&](ReplicaContext& replica) {
          meet_with_a_tensor(replica);
          fn(replica, Tensor<float>::full({3}, 1.0F));
        });
      } catch (const InvalidArgumentError& error) {
        text = error.what();
      }
      buckets.discard();
      return text;
    };
    const auto ignore = [](CrossReplicaContext&, const TensorValues&) {};
    const auto has = [](const std::string& text, const char* part) {
      RC_LOG() << text;
      RC_ASSERT(text.find(part) != std::string::npos);
    };
    has(error_of([&](ReplicaContext& replica, const Tensor<float>& g) {
          buckets.add(replica, "body", g);
          buckets.finish(replica, ignore);
        }),
        "has no gradient of \"head\"");
    has(error_of([&](ReplicaContext& replica, const Tensor<float>& g) {
          buckets.add(replica, "body", g);
          buckets.add(replica, "body", g);
        }),
        "\"body\" has its gradient already");
    has(error_of([&](ReplicaContext& replica, const Tensor<float>& g) {
          buckets.add(replica, "foot", g);
        }),
        "no parameter is called \"foot\"");
    has(error_of([&](ReplicaContext& replica, const Tensor<float>& g) {
          buckets.add(replica, "body", g);
          buckets.skip(replica, "body");
        }),
        "\"body\" is skipped, and has a gradient");
    RC_ASSERT(code_of([&] { GradientBuckets(strategy, {"a", "b", "a"}); }) ==
              ErrorCode::kInvalidArgument);
    RC_ASSERT(code_of([&] { GradientBuckets(strategy, {"a"}, {.rounds = 0}); }) ==
              ErrorCode::kInvalidArgument);
  });
}

TEST_F(Buckets, LeaveOutAbsentReplicas) {
  testing::asserts("SEM-251");
  holds([this](const BackendRequest& request) {
    std::vector<std::optional<float>> present(static_cast<std::size_t>(request.devices));
    const auto first = *rc::gen::inRange<std::size_t>(0, present.size());
    float sum = 0;
    for (std::size_t id = 0; id < present.size(); ++id) {
      if (id != first && *rc::gen::arbitrary<bool>()) continue;
      present[id] = static_cast<float>(id + 1);
      sum += *present[id];
    }
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    strategy.run(&meet_with_a_tensor);
    const auto weight = strategy.mirrored_variable([] { return Tensor<float>::zeros({2}); });
    const auto bias = strategy.mirrored_variable([] { return Tensor<float>::zeros({}); });
    GradientBuckets buckets(strategy, {"weight", "bias"}, {.op = ReduceOp::kSum});
    strategy.run(
        [&](ReplicaContext& replica, float own) {
          buckets.add(replica, "bias", Tensor<float>::full({}, 10 * own));
          buckets.add(replica, "weight", Tensor<float>::full({2}, own));
          buckets.finish(replica, [&](CrossReplicaContext& cross, const TensorValues& sums) {
            cross.update_all({weight, bias}, FusedUpdate::plain(1), {}, sums);
          });
        },
        PerReplica<float>::from(present));
    for (const Tensor<float>& one : strategy.local_values(weight)) {
      for (const float w : one.to_host()) RC_ASSERT(w == -sum);
    }
    for (const Tensor<float>& one : strategy.local_values(bias)) {
      RC_ASSERT(one.item() == -10 * sum);
    }
  });
}

// 300 gradients of 64 bytes: 64 in the first bucket, and the rest.
TEST_F(Buckets, TakeACollectiveEachAndKeepTheirMemory) {
  testing::asserts("SEM-251", "SEM-250");
  holds([this](BackendRequest request) {
    request.devices = std::min(request.devices, 3);  // The log of more devices has an end.
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy();
    constexpr std::size_t kParameters = 300;
    std::vector<std::string> names;
    std::vector<MirroredVariable<Tensor<float>>> weights;
    for (std::size_t p = 0; p < kParameters; ++p) {
      names.push_back("p" + std::to_string(p));
      weights.push_back(strategy.mirrored_variable([] { return Tensor<float>::zeros({16}); }));
    }
    strategy.run(&meet_with_a_tensor);
    GradientBuckets buckets(strategy, names, {.bytes = 1U << 14U, .first_bytes = 1U << 12U});
    const auto step = [&] {
      strategy.run([&](ReplicaContext& replica) {
        const auto gradient = Tensor<float>::full({16}, 4.0F);
        for (const std::string& name : names) buckets.add(replica, name, gradient);
        buckets.finish(replica, [&](CrossReplicaContext& cross, const TensorValues& gradients) {
          cross.update_all(weights, FusedUpdate::plain(0.5), {}, gradients);
        });
      });
    };
    step();
    step();
    const int devices = bench.backend().device_count();
    std::vector<std::size_t> peaks;
    const auto peak = [&](int d) { return bench.backend().device(d).memory().peak_bytes; };
    for (int d = 0; d < devices; ++d) peaks.push_back(peak(d));
    const auto reductions = [&] { return strategy.statistics().reduction.reductions; };
    const std::uint64_t before = reductions();
    const std::uint64_t commands = backend_factory().work(bench.backend()).commands;
    step();
    const std::uint64_t more = backend_factory().work(bench.backend()).commands - commands;
    // Other strategies reduce, copy or place components in ways of their own.
    if (typeid(strategy) == typeid(MirroredStrategy)) {
      RC_ASSERT(reductions() - before == 2U);
      // A fill, two packs, an update, and what two collectives take.
      RC_ASSERT(more <= 10U * static_cast<unsigned>(devices) + 10U);
      // The host waits for no step: gradients of both earlier steps may be alive, too. A bucket has
      // at least 4096 bytes.
      constexpr std::size_t kEarlier = 2 * 16 * sizeof(float);
      for (int d = 0; d < devices; ++d) {
        RC_ASSERT(peak(d) <= peaks[static_cast<std::size_t>(d)] + kEarlier);
      }
    }
    for (const Tensor<float>& one : strategy.local_values(weights.back())) {
      for (const float w : one.to_host()) RC_ASSERT(w == -6.0F);
    }
  });
}

}  // namespace
}  // namespace belfry::testing::gradient_buckets_props
