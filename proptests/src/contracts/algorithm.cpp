// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A-reduce: reductions of tensors by an algorithm, against the additions that the algorithm states.
#include "belfry/strategies.h"
#include "belfry/tensor_ops.h"
#include "belfry/testing/algorithm_contract.h"
#include "contracts/element_rows.h"
#include "contracts/judgement.h"
#include "suites/sum_in_order.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {
namespace {

// The additions of each element among some members.
class Additions {
 public:
  Additions(const CrossDeviceOps& algorithm, ReductionOrder order, int members)
      : plan_(algorithm.plan(members)), order_(order) {
    if (!plan_) return;
    demand(plan_->members == members, "its plan for " + std::to_string(members) +
                                          " members is for " + std::to_string(plan_->members));
    validate(*plan_);
    for (int chunk = 0; chunk < plan_->chunks; ++chunk) trees_.push_back(plan_->additions(chunk));
  }
  // Whether the bits of sums are known, and not only exact sums.
  bool are_known() const { return plan_ || order_ != ReductionOrder::kUnspecified; }

  template <class W>
  W sum(const std::vector<W>& terms, std::size_t element, std::size_t elements) const {
    if (!plan_) {
      const std::size_t length = (elements + terms.size() - 1) / terms.size();
      return sum_in_order(terms, order_, element / length);
    }
    const std::vector<std::size_t> begins = plan_->chunk_begins(elements);
    const auto after = std::upper_bound(begins.begin(), begins.end() - 1, element);
    return sum_of_tree(trees_[static_cast<std::size_t>(after - begins.begin()) - 1], terms);
  }

 private:
  std::optional<ReductionPlan> plan_;
  ReductionOrder order_;
  std::vector<AdditionTree> trees_;
};

// A random case: the tensors of a reduction.
struct Drawn {
  BackendRequest backend;
  std::vector<bool> takes_part;     // By replica.
  std::vector<std::int64_t> sizes;  // Of the tensors.
  std::uint64_t seed = 0;
  bool is_mean = false;
  bool keeps_inputs = false;

  int members() const {
    return static_cast<int>(std::count(takes_part.begin(), takes_part.end(), true));
  }
};

Drawn draw(int most_devices) {
  Drawn drawn;
  drawn.backend = *backend_request(most_devices).as("backend");
  const auto devices = static_cast<std::size_t>(drawn.backend.devices);
  const bool all = *rc::gen::arbitrary<bool>().as("some replicas take no part");
  drawn.takes_part.assign(devices, true);
  if (all) {
    drawn.takes_part = *rc::gen::container<std::vector<bool>>(devices, rc::gen::arbitrary<bool>())
                            .as("takes part");
    drawn.takes_part[*rc::gen::inRange<std::size_t>(0, devices)] = true;
  }
  const auto size = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(0, 30));
  drawn.sizes =
      *rc::gen::nonEmpty(rc::gen::resize(4, rc::gen::container<std::vector<std::int64_t>>(size)))
           .as("elements");
  drawn.seed = draw_seed();
  drawn.is_mean = *rc::gen::arbitrary<bool>().as("mean");
  drawn.keeps_inputs = *rc::gen::arbitrary<bool>().as("inputs are kept");
  return drawn;
}

template <class T>
class Check {
 public:
  Check(const Drawn& drawn, const Additions& additions) : drawn_(drawn), additions_(additions) {
    for (std::size_t tensor = 0; tensor < drawn.sizes.size(); ++tensor) {
      std::vector<std::vector<T>> terms;
      for (int id = 0; id < drawn.backend.devices; ++id) {
        if (drawn.takes_part[static_cast<std::size_t>(id)]) terms.push_back(row(id, tensor));
      }
      wanted_.push_back(reduced(terms));
    }
  }

  void run(Strategy& strategy) {
    const auto mask = PerReplica<int>::from([&] {
      std::vector<std::optional<int>> present;
      for (const bool takes_part : drawn_.takes_part) {
        present.push_back(takes_part ? std::optional(0) : std::nullopt);
      }
      return present;
    }());
    demand_nothing(
        strategy.run([&](ReplicaContext& replica, int) { return mistake(replica); }, mask));
  }

 private:
  ReduceOp op() const {
    return drawn_.is_mean && !std::is_integral_v<T> ? ReduceOp::kMean : ReduceOp::kSum;
  }
  std::vector<T> row(int id, std::size_t tensor) const {
    const Pattern pattern = additions_.are_known() ? Pattern::kRandom : Pattern::kSmallIntegers;
    return values_of<T>({pattern, drawn_.seed + tensor}, id,
                        static_cast<std::size_t>(drawn_.sizes[tensor]));
  }
  std::vector<T> reduced(const std::vector<std::vector<T>>& rows) const {
    std::vector<T> result;
    for (std::size_t i = 0; i < rows.front().size(); ++i) {
      std::vector<Wide<T>> terms;
      for (const std::vector<T>& row : rows) terms.push_back(static_cast<Wide<T>>(row[i]));
      Wide<T> sum = additions_.sum(terms, i, rows.front().size());
      if (op() == ReduceOp::kMean) sum /= static_cast<Wide<T>>(rows.size());
      result.push_back(static_cast<T>(sum));
    }
    return result;
  }

  // The mistakes that a replica finds. Every second replica overwrites its results at once.
  std::string mistake(ReplicaContext& replica) const {
    const int id = replica.replica_id();
    std::vector<Tensor<T>> own;
    for (std::size_t i = 0; i < drawn_.sizes.size(); ++i) {
      own.push_back(Tensor<T>::from({drawn_.sizes[i]}, row(id, i)));
      // The last write is a kernel, which the host does not wait for on any backend.
      scale(own.back(), T(1));
    }
    std::vector<Tensor<T>> kept;
    if (drawn_.keeps_inputs) kept = own;
    std::vector<Tensor<T>> sums = replica.all_reduce(op(), std::move(own));
    const bool overwrites = (drawn_.seed + static_cast<std::uint64_t>(id)) % 2 == 1;
    if (overwrites) {
      for (Tensor<T>& sum : sums) scale(sum, T(0));
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::vector<T> before = row(id, i);
      const std::vector<T> after = kept[i].to_host();
      if (!same_bits(after, before)) {
        return "it changed the input of " + replica_text(id) + " from " + text_of(before) + " to " +
               text_of(after);
      }
    }
    if (overwrites) return {};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::vector<T> got = sums[i].to_host();
      if (same_bits(got, wanted_[i])) continue;
      return to_string(op()) + " of " + std::to_string(drawn_.members()) + " tensors of " +
             to_string(dtype_of<T>()) + " gave " + replica_text(id) + ' ' + text_of(got) +
             ", not " + text_of(wanted_[i]);
    }
    return {};
  }

  const Drawn& drawn_;
  const Additions& additions_;
  std::vector<std::vector<T>> wanted_;
};

void check_case(const AlgorithmMaker& make, const BackendFactory& backends, int most_devices) {
  const Drawn drawn = draw(most_devices);
  const auto backend = backends.make(drawn.backend);
  const std::shared_ptr<CrossDeviceOps> algorithm = make(drawn.backend.devices);
  demand(algorithm != nullptr, "there is no algorithm");
  MirroredStrategy strategy(*backend, {.cross_device_ops = algorithm});
  std::vector<int> indices;
  for (int id = 0; id < drawn.backend.devices; ++id) indices.push_back(id);
  belfry::ReplicaDevices devices(*backend, indices);
  const ReductionOrder order = algorithm->order(devices);
  demand(algorithm->can_add_in(order, devices),
         "it declares " + to_string(order) + " and cannot add in it");
  const bool all_take_part = drawn.members() == drawn.backend.devices;
  const Additions additions(*algorithm, all_take_part ? order : ReductionOrder::kUnspecified,
                            drawn.members());
  const auto check = [&]<class T>(T) { Check<T>(drawn, additions).run(strategy); };
  switch (*rc::gen::inRange(0, 4).as("type: float32, float16, float64 or int32")) {
    case 0:
      check(float());
      break;
    case 1:
      check(Float16());
      break;
    case 2:
      check(double());
      break;
    default:
      check(std::int32_t());
      break;
  }
}

}  // namespace

ContractResult check_algorithm(const AlgorithmMaker& make, const BackendFactory& backends,
                               const ContractOptions& options) {
  const std::string id = "A-reduce";
  const std::string mistake =
      mistake_of([&] { check_case(make, backends, options.most_devices); }, id, options);
  if (mistake.empty()) return {id, true, {}, {}};
  const std::shared_ptr<CrossDeviceOps> algorithm = make(2);
  const std::string name = algorithm == nullptr ? "" : std::string(algorithm->name());
  return {id,
          false,
          id + " is broken by the algorithm '" + name + "' on " + std::string(backends.name()) +
              ": " + mistake,
          {}};
}

}  // namespace belfry::testing
