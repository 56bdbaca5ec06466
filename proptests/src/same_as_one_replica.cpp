// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/testing/same_as_one_replica.h"

#include "belfry/error.h"
#include "belfry/sim/backend.h"
#include "belfry/strategies.h"
#include "reduction_tape.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace belfry::testing {
namespace {

constexpr std::size_t kMostInputs = 8;

bool has_16_bits(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// Of a rounded element.
Exact unit_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 0x1p-24L;
    case DType::kFloat64:
      return 0x1p-53L;
    case DType::kFloat16:
      return 0x1p-11L;
    case DType::kBFloat16:
      return 0x1p-8L;
    default:
      return 0;
  }
}

// The rounding of a number near zero has an absolute error, too.
Exact smallest_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 0x1p-149L;
    case DType::kFloat64:
      return std::numeric_limits<double>::denorm_min();
    case DType::kFloat16:
      return 0x1p-24L;
    case DType::kBFloat16:
      return 0x1p-133L;
    default:
      return 0;
  }
}

Exact growth(Exact steps, Exact unit) {
  const Exact share = steps * unit;
  return share < 1 ? share / (1 - share) : std::numeric_limits<Exact>::infinity();
}

Exact bound_of(const TapedReduction& reduction, const ReducedLeaf& leaf, std::size_t element,
               int terms) {
  const Exact unit = unit_of(leaf.dtype);
  if (unit == 0) return 0;
  const auto replicas = static_cast<Exact>(leaf.inputs.size());
  const bool is_mean = reduction.op == ReduceOp::kMean;
  Exact magnitude = 0;
  for (const std::vector<Exact>& input : leaf.inputs) magnitude += std::fabs(input[element]);
  if (is_mean) magnitude /= replicas;
  const Exact steps = replicas - 1 + (is_mean ? 1 : 0);
  Exact factor = growth(steps, has_16_bits(leaf.dtype) ? 0x1p-24L : unit);
  if (has_16_bits(leaf.dtype)) factor += unit * (1 + factor);
  if (terms > 1) factor += 2 * growth(static_cast<Exact>(terms) - 1, unit);
  return magnitude * factor + smallest_of(leaf.dtype);
}

bool same_within(Exact one, Exact many, Exact bound) {
  if (one == many || (std::isnan(one) && std::isnan(many))) return true;
  return std::isfinite(one) && std::isfinite(many) && std::fabs(one - many) <= bound;
}

std::string text_of(Exact number, DType dtype) {
  std::ostringstream out;
  out.precision(unit_of(dtype) == 0 ? 20 : std::numeric_limits<double>::max_digits10);
  out << number;
  return out.str();
}

std::string on(int replicas) {
  return " on " + std::to_string(replicas) + (replicas == 1 ? " replica" : " replicas");
}

// The reductions until the end of the body or its exception.
struct Tape {
  int devices = 0;
  int replicas = 0;
  std::vector<TapedReduction> reductions{};
  std::exception_ptr thrown{};
};

// Strategies that leave devices out have a single replica, too.
std::string on(const Tape& tape) {
  const std::string text = on(tape.replicas);
  return tape.replicas == 1 && tape.devices > 1
             ? text + " of " + std::to_string(tape.devices) + " devices"
             : text;
}

class Comparison {
 public:
  Comparison(int terms, const Tape& one, const Tape& many) : terms_(terms), many_(many) {
    for (const TapedReduction& reduction : one.reductions) {
      one_[reduction.place.key].push_back(&reduction);
    }
  }

  OneReplicaReport report() {
    OneReplicaReport report;
    for (const TapedReduction& reduction : many_.reductions) {
      const std::size_t turn = turns_[reduction.place.key]++;
      report.difference = difference_of(reduction, turn);
      if (!report.difference.empty()) return report;
      ++report.reductions;
      report.unjudged +=
          static_cast<int>(std::ranges::count(reduction.leaves, false, &ReducedLeaf::judged));
    }
    if (many_.thrown == nullptr) report.difference = missing();
    return report;
  }

 private:
  std::string difference_of(const TapedReduction& many, std::size_t turn) const {
    const std::string name = "#" + std::to_string(turn + 1) + " of " + many.place.text;
    const auto found = one_.find(many.place.key);
    if (found == one_.end() || turn >= found->second.size()) {
      return name + " happens" + on(many_) + " and not" + on(1);
    }
    const TapedReduction& one = *found->second[turn];
    if (one.op != many.op) {
      return name + " is a " + to_string(one.op) + on(1) + ", a " + to_string(many.op) + on(many_);
    }
    if (one.leaves.size() != many.leaves.size()) return name + kStructure;
    for (std::size_t i = 0; i < many.leaves.size(); ++i) {
      const std::string leaf = difference_of_leaves(one.leaves[i], many, i);
      if (!leaf.empty()) return name + leaf;
    }
    return {};
  }

  std::string difference_of_leaves(const ReducedLeaf& one, const TapedReduction& reduction,
                                   std::size_t index) const {
    const ReducedLeaf& many = reduction.leaves[index];
    if (one.dtype != many.dtype || one.judged != many.judged) return kStructure;
    if (one.result.size() != many.result.size()) return kStructure;
    for (std::size_t i = 0; i < many.result.size(); ++i) {
      const Exact bound = bound_of(reduction, many, i, terms_);
      if (same_within(one.result[i], many.result[i], bound)) continue;
      return " differs: element " + std::to_string(i) + " of leaf " + std::to_string(index) +
             " is " + text_of(one.result[i], one.dtype) + on(1) + ", " +
             text_of(many.result[i], many.dtype) + on(many_) + "; the bound is " +
             text_of(bound, DType::kFloat64) + inputs_of(many, i) +
             guess(one.result[i], many.result[i], bound);
    }
    return {};
  }

  static std::string inputs_of(const ReducedLeaf& leaf, std::size_t element) {
    std::string text = "; the inputs are ";
    for (std::size_t i = 0; i < leaf.inputs.size() && i < kMostInputs; ++i) {
      text += (i == 0 ? "" : ", ") + text_of(leaf.inputs[i][element], leaf.dtype);
    }
    return leaf.inputs.size() > kMostInputs ? text + ", ..." : text;
  }

  // A frequent mistake, if the numbers fit.
  std::string guess(Exact one, Exact many, Exact bound) const {
    const auto replicas = static_cast<Exact>(many_.replicas);
    if (one == 0 || !std::isfinite(one) || !std::isfinite(many)) return {};
    if (std::fabs(replicas * one - many) <= bound) {
      return "; the result is " + std::to_string(many_.replicas) +
             " times too large: take the mean, or share the batch out";
    }
    if (std::fabs(one - replicas * many) > bound) return {};
    return "; the result is " + std::to_string(many_.replicas) +
           " times too small: take the sum, or the mean over the global batch once";
  }

  std::string missing() const {
    for (const auto& [key, reductions] : one_) {
      const auto turns = turns_.find(key);
      const std::size_t met = turns == turns_.end() ? 0 : turns->second;
      if (met >= reductions.size()) continue;
      return "#" + std::to_string(met + 1) + " of " + reductions[met]->place.text + " happens" +
             on(1) + " and not" + on(many_);
    }
    return {};
  }

  static constexpr const char* kStructure =
      " differs: the values have a different structure, element type or size";

  int terms_;
  const Tape& many_;
  std::map<std::string, std::vector<const TapedReduction*>> one_;
  std::map<std::string, std::size_t> turns_;
};

[[noreturn]] void refuse(const std::string& what, const char* hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, what, hint, site);
}

std::unique_ptr<Strategy> strategy_on(Backend& backend, const OneReplicaOptions& options,
                                      CallSite site) {
  if (!options.strategy) {
    return std::make_unique<MirroredStrategy>(backend, StrategyOptions{}, site);
  }
  std::unique_ptr<Strategy> strategy = options.strategy(backend);
  if (strategy == nullptr) {
    refuse("a comparison with one replica without a strategy",
           "return a strategy from OneReplicaOptions::strategy", site);
  }
  return strategy;
}

Tape tape_of(int devices, const OneReplicaOptions& options,
             const std::function<void(Strategy&)>& body, CallSite site) {
  sim::Backend backend({.devices = devices, .record = false, .seed = options.seed}, site);
  const std::unique_ptr<Strategy> strategy = strategy_on(backend, options, site);
  Tape tape{.devices = devices, .replicas = strategy->num_replicas()};
  if (devices == 1 && tape.replicas != 1) {
    refuse("a comparison with one replica has " + std::to_string(tape.replicas) + " on one device",
           "make the strategy of OneReplicaOptions::strategy over the devices of its backend",
           site);
  }
  const ReductionTape reductions(*strategy);
  try {
    body(*strategy);
  } catch (...) {
    tape.thrown = std::current_exception();
  }
  tape.reductions = reductions.reductions();
  return tape;
}

}  // namespace

OneReplicaReport compare_with_one_replica(const OneReplicaOptions& options,
                                          const std::function<void(Strategy&)>& body,
                                          CallSite site) {
  if (options.replicas < 2) {
    refuse("a comparison of one replica with " + std::to_string(options.replicas),
           "compare with two replicas or more", site);
  }
  const Tape one = tape_of(1, options, body, site);
  if (one.thrown) std::rethrow_exception(one.thrown);
  const Tape many = tape_of(options.replicas, options, body, site);
  OneReplicaReport report = Comparison(options.terms, one, many).report();
  if (report.difference.empty() && many.thrown) std::rethrow_exception(many.thrown);
  return report;
}

std::string to_string(const OneReplicaOptions& options) {
  std::string text = "OneReplicaOptions{.replicas = " + std::to_string(options.replicas);
  if (options.seed != 0) text += ", .seed = " + std::to_string(options.seed);
  if (options.terms != 0) text += ", .terms = " + std::to_string(options.terms);
  if (options.strategy) text += ", .strategy = \"a function\"";
  return text + '}';
}

std::string to_string(const OneReplicaReport& report) {
  if (!report.difference.empty()) return report.difference;
  const bool is_single = report.reductions == 1;
  std::string text = std::to_string(report.reductions) +
                     (is_single ? " reduction is the same" : " reductions are the same");
  if (report.unjudged > 0) text += ", " + std::to_string(report.unjudged) + " leaves not judged";
  return text;
}

}  // namespace belfry::testing
