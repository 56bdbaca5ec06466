// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "one_replica_comparison.h"

#include "rounding.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace belfry::testing {
namespace {

constexpr std::size_t kMostInputs = 8;
// Hints call smaller shares of the values rounding.
constexpr Exact kMostRounding = 0x1p-10L;

constexpr const char* kStructure =
    " differs: the values have a different structure, element type or size";

bool same_within(Exact one, Exact many, Exact bound) {
  if (one == many || (std::isnan(one) && std::isnan(many))) return true;
  return std::isfinite(one) && std::isfinite(many) && std::fabs(one - many) <= bound;
}

bool same_structure(const std::vector<TapedLeaf>& one, const std::vector<TapedLeaf>& many) {
  return std::ranges::equal(one, many, [](const TapedLeaf& a, const TapedLeaf& b) {
    return a.dtype == b.dtype && a.judged == b.judged && a.result.size() == b.result.size();
  });
}

std::string inputs_of(const TapedLeaf& leaf, std::size_t element) {
  if (leaf.inputs.empty()) return {};
  std::string text = "; the inputs are ";
  for (std::size_t i = 0; i < leaf.inputs.size() && i < kMostInputs; ++i) {
    text += (i == 0 ? "" : ", ") + text_of(leaf.inputs[i][element], leaf.dtype);
  }
  return leaf.inputs.size() > kMostInputs ? text + ", ..." : text;
}

std::string short_text(Exact number) {
  std::string text(16, '\0');
  const int length = std::snprintf(text.data(), text.size(), "%.1Le", number);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

const std::vector<TapedLeaf>* RunRecord::take(TapedReduction reduction) {
  changed_.clear();
  reductions_[reduction.place.key].push_back(std::move(reduction));
  return nullptr;
}

const std::vector<TapedLeaf>* RunRecord::take(TapedChange change) {
  std::vector<TapedChange>& updates = updates_[change.variable];
  if (!changed_.insert(change.variable).second) updates.pop_back();
  updates.push_back(std::move(change));
  return nullptr;
}

OneReplicaComparison::OneReplicaComparison(const OneReplicaOptions& options, const RunRecord& one,
                                           int replicas, std::string on_replicas)
    : options_(options), one_(one), replicas_(replicas), on_replicas_(std::move(on_replicas)) {}

const std::vector<TapedLeaf>* OneReplicaComparison::take(TapedReduction reduction) {
  if (ended_) return nullptr;
  end_updates();
  const TapedReduction* one = nullptr;
  const std::string difference = difference_of(reduction, one);
  if (!difference.empty()) {
    ended_ = true;
    differences_.push_back({counts_, {}});
    differences_.back().report.difference = difference;
    return nullptr;
  }
  ++counts_.reductions;
  counts_.unjudged +=
      static_cast<int>(std::ranges::count(reduction.leaves, false, &TapedLeaf::judged));
  return options_.realign ? &one->leaves : nullptr;
}

const std::vector<TapedLeaf>* OneReplicaComparison::take(TapedChange change) {
  if (ended_) return nullptr;
  auto present = std::ranges::find(present_, change.variable, &Difference::variable);
  if (present == present_.end()) {
    ++updates_[change.variable];
    ++all_updates_;
    present = present_.insert(present_.end(), {{}, change.variable});
  }
  const std::size_t turn = updates_[change.variable];
  const auto found = one_.updates().find(change.variable);
  if (found == one_.updates().end() || turn > found->second.size()) return nullptr;
  const TapedChange& one = found->second[turn - 1];
  present->report = counts_;
  present->report.difference = difference_of(change, one);
  const bool is_same = present->report.difference.empty();
  return is_same && options_.realign ? &one.leaves : nullptr;
}

// A variable may change several times in an update, once for each part of a value, for example.
void OneReplicaComparison::end_updates() {
  for (Difference& update : present_) {
    if (!update.report.difference.empty()) differences_.push_back(std::move(update));
  }
  present_.clear();
}

OneReplicaReport OneReplicaComparison::report(bool ended_early) {
  end_updates();
  for (const Difference& difference : differences_) {
    const bool may_count = ended_ || ended_early || has_all_updates(difference.variable);
    if (difference.variable.empty() || may_count) return difference.report;
  }
  OneReplicaReport report = counts_;
  if (!ended_early) report.difference = missing();
  return report;
}

// The number of updates may depend on the number of replicas.
bool OneReplicaComparison::has_all_updates(const std::string& variable) const {
  return one_.updates().at(variable).size() == updates_.at(variable);
}

std::string OneReplicaComparison::difference_of(const TapedReduction& many,
                                                const TapedReduction*& one) {
  const std::size_t turn = turns_[many.place.key]++;
  const std::string name = "#" + std::to_string(turn + 1) + " of " + many.place.text;
  const auto found = one_.reductions().find(many.place.key);
  if (found == one_.reductions().end() || turn >= found->second.size()) {
    return name + " happens" + on_replicas_ + " and not on 1 replica";
  }
  one = &found->second[turn];
  if (one->op != many.op) {
    return name + " is a " + to_string(one->op) + " on 1 replica, a " + to_string(many.op) +
           on_replicas_;
  }
  if (!same_structure(one->leaves, many.leaves)) return name + kStructure;
  for (std::size_t i = 0; i < many.leaves.size(); ++i) {
    const TapedLeaf& leaf = many.leaves[i];
    Exact& magnitude = largest_[{many.place.key, i}];
    magnitude = std::max(magnitude, magnitude_of_inputs(many.op, leaf));
    const Exact of_terms = terms_bound(leaf.dtype, options_.terms, magnitude);
    for (std::size_t element = 0; element < leaf.result.size(); ++element) {
      const Exact bound = reduction_bound(many.op, leaf, element) + of_terms;
      const std::string difference = difference_of_elements(
          {one->leaves[i], leaf, i, magnitude, element, bound + allowed(leaf, magnitude)});
      if (!difference.empty()) return name + difference;
    }
  }
  return {};
}

// Equal reductions give equal updates. The program may add up values itself, for example after a
// gather, in its own order: sums of at most as many terms, none larger than the largest element.
std::string OneReplicaComparison::difference_of(const TapedChange& many,
                                                const TapedChange& one) const {
  const std::string name = "update " + std::to_string(updates_.at(many.variable)) + " of " +
                           many.variable + " at " + to_string(many.site);
  if (!same_structure(one.leaves, many.leaves)) return name + kStructure;
  for (std::size_t i = 0; i < many.leaves.size(); ++i) {
    const TapedLeaf& leaf = one.leaves[i];
    const Exact magnitude = magnitude_of_result(leaf);
    const Exact unit = unit_of(leaf.dtype);
    const int terms = std::max(options_.terms, replicas_) + 1;
    const Exact bound =
        unit == 0 ? 0 : terms_bound(leaf.dtype, terms, magnitude) + smallest_of(leaf.dtype);
    for (std::size_t element = 0; element < leaf.result.size(); ++element) {
      const std::string difference = difference_of_elements(
          {leaf, many.leaves[i], i, magnitude, element, bound + allowed(leaf, magnitude)});
      if (difference.empty()) continue;
      return name + difference +
             "; the reductions before are the same: a value of the update was not reduced, or "
             "depends on the number of replicas";
    }
  }
  return {};
}

Exact OneReplicaComparison::allowed(const TapedLeaf& leaf, Exact magnitude) const {
  return unit_of(leaf.dtype) == 0 ? 0 : static_cast<Exact>(options_.tolerance) * magnitude;
}

std::string OneReplicaComparison::difference_of_elements(const Judged& judged) const {
  const Exact one = judged.one.result[judged.element], many = judged.many.result[judged.element];
  if (same_within(one, many, judged.bound)) return {};
  return " differs: element " + std::to_string(judged.element) + " of leaf " +
         std::to_string(judged.leaf) + " is " + text_of(one, judged.one.dtype) + " on 1 replica, " +
         text_of(many, judged.many.dtype) + on_replicas_ + "; the bound is " +
         text_of(judged.bound, DType::kFloat64) + inputs_of(judged.many, judged.element) +
         rounding_hint(judged) + guess(one, many, judged.bound);
}

// A mistake changes a good share of a value; rounding does not.
std::string OneReplicaComparison::rounding_hint(const Judged& judged) const {
  const Exact unit = unit_of(judged.many.dtype);
  const Exact difference =
      std::fabs(judged.one.result[judged.element] - judged.many.result[judged.element]);
  const Exact most = std::max(kMostRounding, 16 * unit) * judged.magnitude;
  if (unit == 0 || !std::isfinite(difference) || difference > most) return {};
  std::string text = "; this is " + short_text(difference / judged.magnitude) +
                     " of the largest element, probably rounding: ";
  if (!options_.realign && all_updates_ > 0) {
    return text + "that of " + std::to_string(all_updates_) +
           (all_updates_ == 1 ? " update" : " updates") +
           " before is in it, unless OneReplicaOptions::realign is true";
  }
  return text +
         "if replicas add up examples, set OneReplicaOptions::terms to the examples of the "
         "global batch, or give a tolerance";
}

// A frequent mistake, if the numbers fit.
std::string OneReplicaComparison::guess(Exact one, Exact many, Exact bound) const {
  const auto replicas = static_cast<Exact>(replicas_);
  if (one == 0 || !std::isfinite(one) || !std::isfinite(many)) return {};
  if (std::fabs(replicas * one - many) <= bound) {
    return "; the result is " + std::to_string(replicas_) +
           " times too large: take the mean, or share the batch out";
  }
  if (std::fabs(one - replicas * many) > bound) return {};
  return "; the result is " + std::to_string(replicas_) +
         " times too small: take the sum, or the mean over the global batch once";
}

std::string OneReplicaComparison::missing() const {
  for (const auto& [key, reductions] : one_.reductions()) {
    const auto turns = turns_.find(key);
    const std::size_t met = turns == turns_.end() ? 0 : turns->second;
    if (met >= reductions.size()) continue;
    return "#" + std::to_string(met + 1) + " of " + reductions[met].place.text +
           " happens on 1 replica and not" + on_replicas_;
  }
  return {};
}

}  // namespace belfry::testing
