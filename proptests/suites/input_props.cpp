// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// SEM-92 to SEM-97, SEM-142: every example is delivered once, in order, or left out as the policy
// says.
#include "suites/masked_values.h"
#include "suites/property.h"
#include "suites/shared_examples.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry::testing::input_props {
namespace {

using Ints = std::vector<int>;

struct InputCase {
  BackendRequest backend;
  int examples = 0;
  int batch = 1;
  bool known_size = true;
  EndOfData policy = EndOfData::kMaskReplicas;
  BatchSplit split = BatchSplit::kEvenSizes;
  int prefetch = 0;

  SharedExamples shared() const {
    const bool by_sizes = known_size && split == BatchSplit::kEvenSizes;
    return {examples, batch, by_sizes ? Sharing::kByRow : Sharing::kInParts, policy,
            backend.devices};
  }
  DistributeOptions options() const {
    return {.end_of_data = policy, .prefetch = prefetch, .split = split};
  }
};

void showValue(const InputCase& drawn, std::ostream& out) {
  out << drawn.examples << " examples in batches of " << drawn.batch
      << (drawn.known_size ? "" : " (size unknown)") << ", " << to_string(drawn.policy)
      << ", split by " << to_string(drawn.split) << ", prefetch " << drawn.prefetch << ", "
      << to_string(drawn.backend);
}

// Amounts from [0, most], independent of the size of the case.
rc::Gen<int> up_to(int most) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, most + 1));
}

rc::Gen<InputCase> input_case() {
  return rc::gen::build<InputCase>(
      rc::gen::set(&InputCase::backend), rc::gen::set(&InputCase::examples, up_to(200)),
      rc::gen::set(&InputCase::batch, rc::gen::map(up_to(99), [](int n) { return n + 1; })),
      rc::gen::set(&InputCase::known_size),
      rc::gen::set(&InputCase::policy,
                   rc::gen::element(EndOfData::kDropPartialStep, EndOfData::kPadWithEmpties,
                                    EndOfData::kMaskReplicas)),
      rc::gen::set(&InputCase::split,
                   rc::gen::element(BatchSplit::kEvenSizes, BatchSplit::kEachBatch)),
      rc::gen::set(&InputCase::prefetch, up_to(3)));
}

// Whether dropping is refused: batches in the middle leave replicas without examples.
bool is_refused(const InputCase& drawn) {
  return drawn.policy == EndOfData::kDropPartialStep && drawn.shared().leaves_some_out() &&
         (drawn.known_size || drawn.examples > drawn.batch);
}

class Input : public Property {
 protected:
  template <class B>
  Dataset<B> sized(const InputCase& drawn, const Dataset<B>& dataset) {
    return drawn.known_size ? dataset.with_batch_size(drawn.batch)
                            : dataset.map([](const B& batch) { return batch; });
  }
};

Shares shares_of(const PerReplica<Ints>& step) {
  Shares shares;
  for (int replica = 0; replica < step.size(); ++replica) {
    shares.push_back(step.has(replica) ? std::optional(step[replica]) : std::nullopt);
  }
  return shares;
}

TEST_F(Input, ExamplesArriveOnceInOrderOrAreDroppedByPolicy) {
  holds([this] {
    const auto drawn = *input_case();
    Bench bench(*this, drawn.backend);
    Strategy& strategy = bench.strategy();
    strategy.run(meet_with_a_tensor);
    const auto dataset = sized(drawn, Dataset<int>::range(drawn.examples).batch(drawn.batch));
    std::vector<Shares> steps;
    const auto read = [&] {
      for (const auto& step : strategy.distribute_dataset(dataset, drawn.options())) {
        steps.push_back(shares_of(step));
      }
    };
    if (is_refused(drawn)) {
      RC_ASSERT_THROWS_AS(read(), InvalidArgumentError);
    } else {
      read();
      RC_ASSERT(steps == drawn.shared().steps());
    }
  });
}

std::vector<float> twice(const Ints& numbers) {
  std::vector<float> values;
  for (const int number : numbers) values.insert(values.end(), 2, static_cast<float>(number));
  return values;
}

TEST_F(Input, ReachesTheReplicasThatItIsFor) {
  holds([this] {
    auto drawn = *input_case();
    if (is_refused(drawn)) drawn.policy = EndOfData::kMaskReplicas;
    Bench bench(*this, drawn.backend);
    Strategy& strategy = bench.strategy();
    strategy.run(meet_with_a_tensor);
    const auto dataset =
        sized(drawn, Dataset<int>::range(drawn.examples)
                         .map([](int i) {
                           return std::pair(Tensor<float>::full({2}, static_cast<float>(i)), i);
                         })
                         .batch(drawn.batch));
    const std::vector<Shares> expected = drawn.shared().steps();
    std::size_t at = 0;
    for (const auto& step : strategy.distribute_dataset(dataset, drawn.options())) {
      RC_ASSERT(at < expected.size());
      // From the last replica down: no wait for replica 0's device can help the others.
      for (int replica = strategy.num_replicas(); replica-- > 0;) {
        const auto& share = expected[at][static_cast<std::size_t>(replica)];
        if (share) RC_ASSERT(step[replica].first.to_host() == twice(*share));
      }
      const auto seen = strategy.run(
          [](ReplicaContext& replica, const auto& share) {
            const Tensor<float>& tensor = share.first;
            const bool here = tensor.placement() == replica.placement();
            return std::tuple(here, tensor.to_host(), share.second);
          },
          step);
      for (int replica = 0; replica < strategy.num_replicas(); ++replica) {
        const auto& share = expected[at][static_cast<std::size_t>(replica)];
        RC_ASSERT(seen.has(replica) == share.has_value());
        if (!share) continue;
        const auto& [here, values, numbers] = seen[replica];
        RC_ASSERT(here);
        RC_ASSERT(numbers == *share);
        RC_ASSERT(values == twice(*share));
      }
      ++at;
    }
    RC_ASSERT(at == expected.size());
  });
}

using Row = std::vector<float>;

// A row of floats for each of `ids`. The row of entry i does not depend on the id.
PerReplica<Row> rows_of(const std::vector<int>& ids, int replicas, std::uint64_t seed) {
  return values_of_some(ids, replicas,
                        [&](int i) { return values_of<float>({Pattern::kRandom, seed}, i, 5); });
}

struct Reductions {
  Row host;
  Row tensor;
  Row mirrored;
  bool operator==(const Reductions&) const = default;
};

// The results of each participating replica, and all components of the assigned variable.
std::pair<std::vector<Reductions>, std::vector<Row>> reductions(Strategy& strategy, ReduceOp op,
                                                                const PerReplica<Row>& rows) {
  const auto sum = strategy.mirrored_variable([] { return Tensor<float>::zeros({5}); });
  const auto results = strategy.run(
      [&](ReplicaContext& replica, const Row& row) {
        const auto own = Tensor<float>::from({5}, row);
        const auto reduced = replica.merge_call(
            [&](CrossReplicaContext& cross, const PerReplica<Tensor<float>>& all) {
              const auto all_reduced = cross.reduce(op, all);
              cross.update(
                  sum, [](Tensor<float>& to, const Tensor<float>& value) { to = value; },
                  all_reduced);
              return all_reduced;
            },
            own);
        return Reductions{replica.all_reduce(op, row), replica.all_reduce(op, own).to_host(),
                          reduced.to_host()};
      },
      rows);
  std::vector<Row> components;
  for (const auto& component : strategy.local_values(sum))
    components.push_back(component.to_host());
  return {{results.begin(), results.end()}, components};
}

TEST_F(Input, ReductionsOfSomeReplicasMatchASmallerStrategy) {
  holds([this](const BackendRequest& request, std::uint16_t seed, bool mean) {
    const std::vector<int> ids = some_of(request.devices);
    const auto order = *rc::gen::element(ReductionOrder::kReplicaOrder, ReductionOrder::kTree,
                                         ReductionOrder::kRing);
    Bench bench(*this, request);
    Strategy& strategy = bench.strategy({.order = order});
    bench.strategy().run(meet_with_a_tensor);  // By the communicator.
    StrategyOptions fewer{.order = order};
    for (const int id : ids) fewer.devices.push_back(bench.backend().device_spec(id));
    MirroredStrategy alone(bench.backend(), fewer);  // The model.
    const ReduceOp op = mean ? ReduceOp::kMean : ReduceOp::kSum;
    const auto rows = rows_of(ids, request.devices, seed);
    const auto [results, components] = reductions(strategy, op, rows);
    std::vector<int> others(ids.size());
    std::iota(others.begin(), others.end(), 0);
    const auto [expected, wanted] =
        reductions(alone, op, rows_of(others, static_cast<int>(ids.size()), seed));
    RC_ASSERT(results.size() == ids.size());
    RC_ASSERT(results == expected);
    RC_ASSERT(components.size() == strategy.parameter_devices().size());
    for (const Row& component : components) RC_ASSERT(component == wanted.front());
  });
}

}  // namespace
}  // namespace belfry::testing::input_props
