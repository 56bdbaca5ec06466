// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The cost of a property test over strategies: RapidCheck's cases a second, the time to shrink a
// counterexample, and the time of many reductions in one merge.
//
// Each benchmark compares with a baseline of the same run; `base/ours` says how many times as long
// the baseline takes (core/src/backend/testing/paired.h); the comment of each benchmark has the
// goal.

#include "backend/testing/paired.h"
#include "belfry/belfry.h"
#include "belfry/sim/backend.h"
#include "belfry/testing/arbitrary.h"

#include <benchmark/benchmark.h>
#include <rapidcheck.h>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace belfry {
namespace {

using testing::Pattern;
using testing::Values;

constexpr int kMostReplicas = 16;
constexpr int kCases = 2000;

using List = std::vector<float>;

// Counts the attempts to shrink, and prints nothing.
struct SilentListener final : rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override { ++shrinks; }
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
  int shrinks = 0;
};

enum class Outcome { kHolds, kFails };

// Seconds in which RapidCheck checks `property`. Throws if the outcome is not `expected`.
template <class Property>
double check_seconds(const Property& property, Outcome expected) {
  rc::detail::TestParams params;
  params.seed = 1;
  params.maxSuccess = kCases;
  SilentListener listener;
  Outcome outcome = Outcome::kHolds;
  const double seconds = testing::cpu_seconds([&] {
    const auto result =
        rc::detail::checkTestable(property, rc::detail::TestMetadata{}, params, listener);
    if (result.template is<rc::detail::FailureResult>()) outcome = Outcome::kFails;
  });
  if (outcome != expected) throw std::runtime_error("a property has not the expected outcome");
  return seconds;
}

// The body of a property, with a strategy for each number of replicas, made once as in a fixture.
class StrategyBody {
 public:
  StrategyBody() {
    for (int replicas = 1; replicas <= kMostReplicas; ++replicas) {
      backends_.push_back(std::make_unique<sim::Backend>(
          sim::Options{.devices = replicas, .record_limit = 1024, .seed = 1}));
      strategies_.push_back(std::make_unique<MirroredStrategy>(*backends_.back()));
    }
  }

  // One merge_call and one all_reduce. Every sum is exact. Each replica moves its list away.
  void operator()(std::vector<List> lists) {
    const int replicas = static_cast<int>(lists.size());
    float first = 0;
    for (const List& own : lists) first += own.empty() ? 0 : own[0];
    const auto sums = strategies_[lists.size() - 1]->run([&lists](ReplicaContext& replica) {
      const int all = replica.merge_call(
          [](CrossReplicaContext&, const PerReplica<int>& ids) {
            return std::accumulate(ids.begin(), ids.end(), 0);
          },
          replica.replica_id());
      List& own = lists[static_cast<std::size_t>(replica.replica_id())];
      return std::pair(all, replica.all_reduce(ReduceOp::kSum, std::move(own)));
    });
    RC_ASSERT(sums[0].first == replicas * (replicas - 1) / 2);
    const List& sum = sums[replicas - 1].second;
    if (!sum.empty()) RC_ASSERT(sum[0] == first);
  }

 private:
  std::vector<std::unique_ptr<sim::Backend>> backends_;
  std::vector<std::unique_ptr<MirroredStrategy>> strategies_;
};

// Draws a number of replicas, and a list for each replica.
std::vector<List> draw_lists() {
  const int replicas = *rc::gen::inRange(1, kMostReplicas + 1);
  const auto elements = static_cast<std::size_t>(*rc::gen::inRange(0, 201));
  const Values values{Pattern::kSmallIntegers, *rc::gen::arbitrary<std::uint64_t>()};
  std::vector<List> lists;
  for (int id = 0; id < replicas; ++id) {
    lists.push_back(testing::values_of<float>(values, id, elements));
  }
  return lists;
}

// GOAL-21: base/ours at least 0.5. The baseline draws the same lists and does nothing with them.
void BM_PropertyAgainstEmptyBody(benchmark::State& state) {
  StrategyBody body;
  const auto with = [&] { body(draw_lists()); };
  const auto without = [] { benchmark::DoNotOptimize(draw_lists()); };
  double ours = 0;
  testing::report_ratio(
      state, [&] { return ours = check_seconds(with, Outcome::kHolds); },
      [&] { return check_seconds(without, Outcome::kHolds); });
  state.counters["cases/s"] = kCases / ours;
}
BENCHMARK(BM_PropertyAgainstEmptyBody)->UseManualTime()->Iterations(15);

// GOAL-22: base/ours at least 50. Shrinks eight lists of a hundred floats: as a recipe (Values),
// and element by element as the baseline.
void BM_ShrinkingAgainstElementwise(benchmark::State& state) {
  const auto recipe = [] {
    const Values values = *rc::gen::arbitrary<Values>();
    for (int id = 0; id < 8; ++id) {
      for (std::size_t i = 0; i < 100; ++i) {
        RC_ASSERT(testing::value_at<float>(values, id, i) <= 3.0F);
      }
    }
  };
  const auto elementwise = [] {
    const auto lists = *rc::gen::container<std::vector<List>>(
        8, rc::gen::container<List>(100, rc::gen::arbitrary<float>()));
    for (const List& list : lists) {
      for (const float x : list) RC_ASSERT(x <= 3.0F);
    }
  };
  testing::report_ratio(
      state, [&] { return check_seconds(recipe, Outcome::kFails); },
      [&] { return check_seconds(elementwise, Outcome::kFails); });
}
BENCHMARK(BM_ShrinkingAgainstElementwise)->UseManualTime()->Iterations(15);

// A thousand tensors of a hundred floats on each of eight replicas, with their strategy.
class Batch {
 public:
  using Row = Tensor<float>;
  using Rows = std::vector<Row>;

  // Processor time until the results of `reduce(replica, rows)` are computed.
  template <class F>
  double seconds(const F& reduce) {
    return testing::cpu_seconds([&] {
      for (int round = 0; round < 20; ++round) {
        const auto sums = strategy_.run(reduce, rows_);
        strategy_.cross_replica().group(sums).wait();
      }
    });
  }

 private:
  sim::Backend backend_{{.devices = 8, .record_limit = 1024, .seed = 1}};
  MirroredStrategy strategy_{backend_};
  PerReplica<Rows> rows_ = strategy_.run([](ReplicaContext&) {
    Rows own;
    for (int i = 0; i < 1000; ++i) own.push_back(Row::full({100}, 1.0F));
    return own;
  });
};

// GOAL-26: base/ours at least 3. A single merge reduces all tensors as a batch; the baseline has a
// merge for each tensor.
void BM_BatchAgainstSeparateMerges(benchmark::State& state) {
  using Row = Batch::Row;
  using Rows = Batch::Rows;
  Batch batch;
  const auto together = [](ReplicaContext& replica, const Rows& rows) {
    const auto reduce = [](CrossReplicaContext& cross, const PerReplica<Rows>& all) {
      return std::get<0>(cross.batch_reduce(ReduceOp::kSum, all));
    };
    return replica.merge_call(reduce, rows);
  };
  const auto apart = [](ReplicaContext& replica, const Rows& rows) {
    const auto reduce = [](CrossReplicaContext& cross, const PerReplica<Row>& row) {
      return cross.reduce(ReduceOp::kSum, row);
    };
    Rows sums;
    for (const Row& row : rows) sums.push_back(replica.merge_call(reduce, row));
    return sums;
  };
  testing::report_ratio(
      state, [&] { return batch.seconds(together); }, [&] { return batch.seconds(apart); });
}
BENCHMARK(BM_BatchAgainstSeparateMerges)->UseManualTime()->Iterations(15);

// The same for lists on the host: one reduction of a nest; the baseline reduces each list.
void BM_NestAgainstSeparateReductions(benchmark::State& state) {
  constexpr int kLists = 1000;
  sim::Backend backend{{.devices = 8, .record_limit = 1024, .seed = 1}};
  MirroredStrategy strategy{backend};
  // Each round reduces the results of the round before. The lists are zeros, so sums do not grow.
  constexpr int kRounds = 20;
  const auto seconds = [&](auto reduce) {
    return testing::cpu_seconds([&] {
      strategy.run([&](ReplicaContext& replica) {
        std::vector<std::vector<float>> own(kLists, std::vector<float>(100));
        for (int round = 0; round < kRounds; ++round) reduce(replica, own);
        return own.back().back();
      });
    });
  };
  const auto together = [&] {
    return seconds([](ReplicaContext& replica, auto& own) {
      own = replica.all_reduce(ReduceOp::kSum, std::move(own));
    });
  };
  const auto apart = [&] {
    return seconds([](ReplicaContext& replica, auto& own) {
      for (auto& list : own) list = replica.all_reduce(ReduceOp::kSum, std::move(list));
    });
  };
  testing::report_ratio(state, together, apart);
}
BENCHMARK(BM_NestAgainstSeparateReductions)->UseManualTime()->Iterations(15);

}  // namespace
}  // namespace belfry
