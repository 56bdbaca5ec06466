// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// C-input: each replica gets its own part of arguments and datasets.
#include "belfry/dataset.h"
#include "belfry/distributed_dataset.h"
#include "belfry/testing/nest_shapes.h"
#include "belfry/testing/tensors.h"
#include "contracts/contract_case.h"
#include "suites/shared_examples.h"

#include <optional>
#include <ostream>
#include <utility>

namespace belfry::testing {
namespace {

// Tensors of any shape and nests of any kind.
void check_shapes(Strategy& strategy, const TensorRecipe& recipe, const NestShape& shape,
                  std::uint64_t seed) {
  const auto tensors =
      strategy.distribute_values([&](int id) { return recipe.tensor<double>(id); });
  const auto nests = strategy.distribute_values([&](int id) { return nest_of(shape, seed, id); });
  demand_nothing(strategy.run(
      [&](ReplicaContext& replica, const Tensor<double>& tensor,
          const SampleNest& nest) -> std::string {
        const int id = replica.replica_id();
        const std::string who = replica_text(id);
        if (tensor.shape() != recipe.shape()) return who + " was handed another shape";
        if (!same_bits(tensor.to_host(), recipe.elements<double>(id))) {
          return who + " was handed another replica's tensor";
        }
        if (!same_bits(nest, nest_of(shape, seed, id))) {
          return who + " was handed another replica's nest";
        }
        return {};
      },
      tensors, nests));
}

void check_arguments(ContractFixture& fixture, std::uint64_t seed) {
  Strategy& strategy = fixture.strategy();
  const auto rows = strategy.distribute_values([&](int id) { return random_row(seed, id); });
  const auto tensors =
      strategy.distribute_values([&](int id) { return tensor_of(random_row(seed, id)); });
  const auto nested = std::pair(rows, std::optional(tensors));
  const auto body = [&](ReplicaContext& replica, const Row& row, const Tensor<float>& tensor,
                        const std::pair<Row, std::optional<Tensor<float>>>& both, int plain) {
    const std::string who = replica_text(replica.replica_id());
    const Row own = random_row(seed, replica.replica_id());
    std::string note;
    if (!same_bits(row, own)) note = who + " was handed another replica's row";
    if (!same_bits(tensor.to_host(), own)) note = who + " was handed another replica's tensor";
    if (tensor.placement() != replica.placement()) note = who + " was handed a tensor elsewhere";
    if (!same_bits(both.first, own) || !same_bits(both.second->to_host(), own)) {
      note = who + " was handed another replica's part of a pair";
    }
    if (plain != 7) note = who + " was handed another plain argument";
    return std::pair(note, own);
  };
  const auto returned = strategy.run(body, rows, tensors, nested, 7);
  for (const int id : fixture.own()) {
    demand(returned[id].first.empty(), returned[id].first);
    demand(same_bits(returned[id].second, random_row(seed, id)),
           "result " + std::to_string(id) + " is that of another replica");
  }
}

constexpr const char* kSharings[] = {"shared out", "of unknown size", "one a replica"};

// The numbers from 0 on, in batches, distributed in three ways.
struct Feed {
  int examples = 0;
  int batch = 1;
  Sharing sharing = Sharing::kByRow;
  EndOfData policy = EndOfData::kMaskReplicas;
  int prefetch = 0;

  SharedExamples to(int replicas) const { return {examples, batch, sharing, policy, replicas}; }
};
void showValue(const Feed& feed, std::ostream& out) {
  out << feed.examples << " examples in batches " << kSharings[static_cast<int>(feed.sharing)]
      << " of " << feed.batch << ", " << to_string(feed.policy) << ", prefetch " << feed.prefetch;
}

Feed draw_feed() {
  const auto up_to = [](int most) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, most + 1));
  };
  return *rc::gen::build<Feed>(
              rc::gen::set(&Feed::examples, up_to(40)),
              rc::gen::set(&Feed::batch, rc::gen::map(up_to(11), [](int n) { return n + 1; })),
              rc::gen::set(&Feed::sharing, rc::gen::element(Sharing::kByRow, Sharing::kInParts,
                                                            Sharing::kByElement)),
              rc::gen::set(&Feed::policy,
                           rc::gen::element(EndOfData::kMaskReplicas, EndOfData::kPadWithEmpties,
                                            EndOfData::kDropPartialStep)),
              rc::gen::set(&Feed::prefetch, up_to(2)))
              .as("dataset");
}

// The results of a replica for its share: its numbers, and the mean count of numbers over the
// participating replicas, as a number and as a tensor.
struct Seen {
  std::vector<int> numbers;
  Row tensor;
  bool is_here = false;
  float host_mean = 0;
  float device_mean = 0;
};

void demand_step(const PerReplica<Seen>& seen, const std::vector<int>& own, const Shares& wanted,
                 const std::string& step, double tolerance) {
  float sum = 0;
  float count = 0;
  for (const auto& share : wanted) {
    sum += share ? static_cast<float>(share->size()) : 0;
    count += share ? 1 : 0;
  }
  const auto demand_of = [&step](int id, bool kept, const std::string& otherwise) {
    demand(kept, replica_text(id) + otherwise + " in " + step);
  };
  for (const int id : own) {
    const auto& share = wanted[static_cast<std::size_t>(id)];
    demand_of(id, seen.has(id) == share.has_value(), share ? " took no part" : " took part");
    if (!share) continue;
    demand_of(id, same_bits(seen[id].numbers, *share),
              " got " + text_of(seen[id].numbers) + " instead of " + text_of(*share));
    const Row numbers(share->begin(), share->end());
    demand_of(id, same_bits(seen[id].tensor, numbers), " got another tensor");
    demand_of(id, seen[id].is_here, " got a tensor elsewhere");
    const Row means = {seen[id].host_mean, seen[id].device_mean};
    const Slack slack = tolerance == 0 ? Slack() : Slack(2, tolerance * double{sum / count});
    demand(is_close(means, Row(2, sum / count), slack),
           "the means over those who take part in " + step + " are " + text_of(means) + ", not " +
               text_of(Row(1, sum / count)));
  }
}

void check_dataset(ContractFixture& fixture, Feed feed, double tolerance) {
  Strategy& strategy = fixture.strategy();
  const int replicas = strategy.num_replicas();
  // A program cannot drop steps that leave replicas without rows in a useful way.
  if (feed.to(replicas).leaves_some_out() && feed.policy == EndOfData::kDropPartialStep) {
    feed.policy = EndOfData::kMaskReplicas;
  }
  const auto examples = Dataset<int>::range(feed.examples).map([](int i) {
    return std::pair(Tensor<float>::full({}, static_cast<float>(i)), i);
  });
  auto batches = examples.batch(feed.batch);
  if (feed.sharing == Sharing::kInParts) {
    batches = batches.map([](const auto& batch) { return batch; });
  }
  DistributeOptions options{.end_of_data = feed.policy, .prefetch = feed.prefetch};
  if (feed.sharing == Sharing::kByElement) options.elements = ElementUse::kPerReplica;
  const std::vector<Shares> wanted = feed.to(replicas).steps();
  std::size_t step = 0;
  for (const auto& shares : strategy.distribute_dataset(batches, options)) {
    const std::string which = "step " + std::to_string(step);
    demand(step < wanted.size(), "there is a " + which + " after the end of the data");
    const auto seen = strategy.run(
        [](ReplicaContext& replica, const auto& share) {
          const auto& [tensor, numbers] = share;
          const auto count = static_cast<float>(numbers.size());
          const auto mean =
              replica.all_reduce(ReduceOp::kMean, Tensor<float>::full({1}, count)).to_host();
          return Seen{numbers, tensor.to_host(), tensor.placement() == replica.placement(),
                      replica.all_reduce(ReduceOp::kMean, count), mean[0]};
        },
        shares);
    demand_step(seen, fixture.own(), wanted[step++], which, tolerance);
  }
  demand(step == wanted.size(), "the data ended after " + std::to_string(step) + " steps of " +
                                    std::to_string(wanted.size()));
}

}  // namespace

void check_input(const ContractSubject& subject) {
  const Setting setting = draw_setting(subject);
  const std::uint64_t seed = draw_seed();
  const TensorRecipe recipe = *tensor_recipe().as("tensor");
  const NestShape shape = *nest_shape().as("nest");
  const Feed feed = draw_feed();
  ContractFixture fixture(subject, setting);
  check_shapes(fixture.strategy(), recipe, shape, seed);
  check_arguments(fixture, seed);
  check_dataset(fixture, feed, subject.tolerance());
}

}  // namespace belfry::testing
