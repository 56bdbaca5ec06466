// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/gradient_buckets.h"

#include "backend/part_of.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/type_lists.h"
#include "belfry/detail/reduce_values.h"
#include "belfry/detail/strategy_reductions.h"
#include "belfry/error.h"
#include "strategies/bucket_side.h"
#include "values/tensor_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace belfry {
namespace {

// The components of the own replicas, from replica `first` on.
struct ReducedGradient {
  int first;
  std::vector<AnyTensor> components;

  static void append(const void* value, int replica, std::vector<AnyTensor>& out) {
    const auto& own = *static_cast<const ReducedGradient*>(value);
    const int last = static_cast<int>(own.components.size()) - 1;
    out.push_back(own.components[static_cast<std::size_t>(
        replica < own.first || replica - own.first > last ? 0 : replica - own.first)]);
  }
};

[[noreturn]] void refuse(const std::string& summary, std::string hint, int replica, CallSite site) {
  ErrorReport report;
  report.code = ErrorCode::kInvalidArgument;
  report.summary = "gradient buckets: " + summary;
  report.hint = std::move(hint);
  report.site = site;
  if (replica >= 0) report.replicas.push_back({replica, site, "called here"});
  throw InvalidArgumentError(std::move(report));
}

}  // namespace

GradientBuckets::GradientBuckets(Strategy& strategy, std::vector<std::string> parameters,
                                 BucketOptions options, CallSite site)
    : strategy_(strategy),
      names_(std::move(parameters)),
      options_(options),
      sides_(static_cast<std::size_t>(std::max(core().own().count(), 1))) {
  for (std::size_t p = 0; p < names_.size(); ++p) {
    if (indices_.emplace(names_[p], p).second) continue;
    refuse("parameter \"" + names_[p] + "\" is named twice", "give each parameter its own name", -1,
           site);
  }
  if (options.rounds < 1) {
    refuse(fmt::format("{} rounds of gradients", options.rounds), "1 reduces every gradient", -1,
           site);
  }
  require_operator(options.op, site);
  if (!detail::is_additive(options.op)) {
    refuse("gradients do not combine by " + to_string(options.op),
           "use ReduceOp::kMean or ReduceOp::kSum", -1, site);
  }
  discard();
}

GradientBuckets::~GradientBuckets() = default;

void GradientBuckets::discard() {
  for (Side& side : sides_) side.begin_step(names_.size());
}

std::size_t GradientBuckets::index_of(std::string_view parameter, CallSite site) const {
  const auto found = indices_.find(parameter);
  if (found != indices_.end()) return found->second;
  refuse(fmt::format("no parameter is called \"{}\"", parameter),
         "use the names that the buckets were made with", -1, site);
}

GradientBuckets::Side& GradientBuckets::side_of(const ReplicaContext& replica, const char* what,
                                                CallSite site) {
  if (&replica.strategy() != &strategy_) {
    throw ContextError(ErrorCode::kOtherStrategy,
                       std::string(what) + " in a replica of another strategy",
                       "make gradient buckets for each strategy", site);
  }
  const int own = core().own().position(replica.replica_id());
  return sides_[static_cast<std::size_t>(own)];
}

void GradientBuckets::arrive(ReplicaContext& replica, std::string_view parameter,
                             const AnyTensor& gradient, CallSite site) {
  if (gradient.empty()) {
    refuse(fmt::format("the gradient of \"{}\" is a default-constructed tensor", parameter),
           "call skip for a parameter without a gradient", replica.replica_id(), site);
  }
  Side& side = side_of(replica, "add", site);
  const std::size_t p = index_of(parameter, site);
  if (side.rounds[p] > side.round) {
    refuse(fmt::format("\"{}\" has its gradient already", parameter),
           "add or skip each parameter once in a round, and end the round by finish; after a run "
           "that failed call discard",
           replica.replica_id(), site);
  }
  const detail::SiteScope scope(site);
  AnyTensor& sum = side.sums[p];
  if (sum.empty()) {
    sum = gradient;
  } else {
    detail::update_binary(BinaryOp::kAdd, sum, gradient, "add", site);
  }
  ++side.rounds[p];
  if (side.round + 1 < options_.rounds) return;
  side.arrivals.push_back({p, std::exchange(sum, {}).copy_to(replica.placement(), site), site});
  side.open_bytes += side.arrivals.back().gradient.bytes();
  const std::size_t most = side.bucket == 0 ? options_.first_bytes : options_.bytes;
  if (side.open_bytes >= std::min(most, options_.bytes) || side.arrivals.size() == names_.size()) {
    close(replica, side, site);
  }
}

void GradientBuckets::skip(ReplicaContext& replica, std::string_view parameter, CallSite site) {
  Side& side = side_of(replica, "skip", site);
  const std::size_t p = index_of(parameter, site);
  if (side.rounds[p] != side.round || !side.sums[p].empty()) {
    refuse(fmt::format("\"{}\" is skipped, and has a gradient", parameter),
           "add or skip each parameter once, and skip it in all rounds of a step or in none",
           replica.replica_id(), site);
  }
  ++side.rounds[p];
  if (side.round + 1 < options_.rounds) return;
  side.arrivals.push_back({p, {}, site});
  if (side.arrivals.size() == names_.size()) close(replica, side, site);
}

// Replicas meet by name, at any line: the buckets report different orders. Processes see their own
// gradients alone: the name lists the parameters.
void GradientBuckets::close(ReplicaContext& replica, Side& side, CallSite site) {
  pack(replica, side, site);
  std::string name = fmt::format("gradient bucket {}", side.bucket);
  if (!core().members().is_alone()) {
    for (std::size_t i = side.open; i < side.arrivals.size(); ++i) {
      name += (i == side.open ? ": " : ", ") + names_[side.arrivals[i].parameter];
    }
  }
  const MergeTag tag{name, site};
  replica.merge_call_at(
      tag,
      [this, site](CrossReplicaContext&, const PerReplica<int>& rounds) {
        reduce(rounds.present(), site);
      },
      side.round);
  side.open = side.arrivals.size();
  side.open_bytes = 0;
  ++side.bucket;
}

// Makes one launch for each element type. A single gradient is not copied.
// In ring order the place of an element in the tensor decides about additions: each gradient is a
// pack.
void GradientBuckets::pack(ReplicaContext& replica, Side& side, CallSite site) const {
  const detail::SiteScope scope(site);
  const bool each_alone = core().options().order == ReductionOrder::kRing;
  side.packs.clear();
  for (std::size_t i = side.open; i < side.arrivals.size(); ++i) {
    const AnyTensor& gradient = side.arrivals[i].gradient;
    if (gradient.empty()) continue;
    const auto same = std::ranges::find_if(side.packs, [&gradient](const BucketPack& one) {
      return one.tensor.dtype() == gradient.dtype();
    });
    if (same == side.packs.end() || each_alone) {
      side.packs.push_back({{i}, gradient});
    } else {
      same->arrivals.push_back(i);
    }
  }
  for (BucketPack& one : side.packs) {
    if (one.arrivals.size() == 1) continue;
    Kernel kernel;
    kernel.kind = KernelKind::kCopyEach;
    std::int64_t count = 0;
    for (const std::size_t i : one.arrivals) count += side.arrivals[i].gradient.shape().count();
    side.find_memory(one, count, replica.placement());
    std::size_t offset = 0;
    for (const std::size_t i : one.arrivals) {
      AnyTensor& gradient = side.arrivals[i].gradient;
      kernel.inputs.push_back(gradient.view());
      kernel.outputs.push_back(part_of(one.tensor.view(), offset, gradient.view().count));
      offset += gradient.view().count;
    }
    detail::launch(replica.placement(), std::move(kernel));
  }
}

namespace {

// The reduction of a pack over several processes.
void reduce_pack_over_processes(CrossReplicaContext& cross, ReduceOp op,
                                const detail::Participants& own,
                                const std::vector<AnyTensor*>& tensors, CallSite site) {
  kernels::visit_type(kernels::NumericTypes{}, tensors.front()->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    detail::ReplicaArray<Tensor<T>> components(static_cast<int>(tensors.size()));
    for (const AnyTensor* tensor : tensors) components.emplace_back(Tensor<T>(*tensor));
    const auto sums = cross.reduce(op, PerReplica<Tensor<T>>(std::move(components), own), site);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      *tensors[i] = sums[own.id(static_cast<int>(i))].any();
    }
  });
}

}  // namespace

void GradientBuckets::reduce(const detail::Participants& present, CallSite site) {
  require_one_order(present, site);
  std::vector<Side*> sides;
  for (int i = 0; i < present.count(); ++i) {
    const int position = core().own().position(present.id(i));
    sides.push_back(&sides_[static_cast<std::size_t>(position)]);
  }
  std::vector<std::vector<LeafRef>> parts(sides.size());
  const std::size_t packs = sides.front()->packs.size();
  for (std::size_t k = 0; k < packs; ++k) {
    std::vector<AnyTensor*> tensors;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      tensors.push_back(&sides[i]->packs[k].tensor);
      parts[i].push_back(detail::tensor_leaf(*tensors.back()));
    }
    if (!core().members().is_alone()) {
      require_reducible(options_.op, tensors.front()->dtype(), site);
      reduce_pack_over_processes(strategy_.cross_replica(), options_.op, present, tensors, site);
    }
  }
  if (packs != 0 && core().members().is_alone()) {
    detail::reduce_at(site, core(), {options_.op, parts, true, present});
  }
  for (Side* side : sides) side->take_results();
}

// Compares the gradients of the open buckets.
void GradientBuckets::require_one_order(const detail::Participants& present, CallSite site) const {
  const auto side = [&](int i) -> const Side& {
    return sides_[static_cast<std::size_t>(core().own().position(present.id(i)))];
  };
  const auto words = [&](int i, std::size_t at) -> std::string {
    const std::vector<Arrival>& arrivals = side(i).arrivals;
    if (at >= arrivals.size()) return "brings no gradient";
    const Arrival& arrival = arrivals[at];
    const std::string& name = names_[arrival.parameter];
    if (arrival.gradient.empty()) return "skipped \"" + name + "\"";
    return fmt::format("added \"{}\", {}", name, detail::describe_tensor(arrival.gradient));
  };
  std::size_t longest = 0;
  for (int i = 0; i < present.count(); ++i) {
    longest = std::max(longest, side(i).arrivals.size());
  }
  // Words take time: only for a difference.
  const auto agree = [&](int i, std::size_t at) {
    if (at >= side(0).arrivals.size() || at >= side(i).arrivals.size()) return false;
    const Arrival& one = side(0).arrivals[at];
    const Arrival& other = side(i).arrivals[at];
    return one.parameter == other.parameter && one.gradient.empty() == other.gradient.empty() &&
           one.gradient.dtype() == other.gradient.dtype() &&
           one.gradient.shape() == other.gradient.shape();
  };
  for (std::size_t at = side(0).open; at < longest; ++at) {
    for (int i = 1; i < present.count(); ++i) {
      if (agree(i, at)) continue;
      ErrorReport report;
      report.code = ErrorCode::kStructure;
      report.summary =
          fmt::format("replicas bring different gradients to a bucket, as gradient {}", at);
      report.site = site;
      for (int r = 0; r < present.count(); ++r) {
        const bool has = at < side(r).arrivals.size();
        report.replicas.push_back(
            {present.id(r), has ? side(r).arrivals[at].site : site, words(r, at), {}});
      }
      report.expected = "the same parameters in one order on every replica, of equal shapes";
      report.hint =
          "add gradients in the order of the layers, and skip a parameter on all replicas or on "
          "none";
      throw StructureMismatchError(std::move(report));
    }
  }
}

bool GradientBuckets::end_round(ReplicaContext& replica, CallSite site) {
  Side& side = side_of(replica, "finish", site);
  std::string missing;
  for (std::size_t p = 0; p < names_.size(); ++p) {
    if (side.rounds[p] == side.round)
      missing += (missing.empty() ? "\"" : ", \"") + names_[p] + '"';
  }
  if (!missing.empty()) {
    refuse(fmt::format("replica {} has no gradient of {}", replica.replica_id(), missing),
           "add the gradient, or skip the parameter on every replica", replica.replica_id(), site);
  }
  return ++side.round == options_.rounds;
}

void GradientBuckets::begin_step(const ReplicaContext& replica) {
  side_of(replica, "finish", {}).begin_step(names_.size());
}

// Returns a component for each replica of the process, also for absent replicas.
std::vector<AnyTensor> GradientBuckets::components_of(std::size_t parameter) const {
  const auto has_result = [parameter](const Side& side) {
    return !side.results[parameter].empty();
  };
  const auto any = std::ranges::find_if(sides_, has_result);
  std::vector<AnyTensor> components;
  if (any == sides_.end()) return components;
  components.reserve(sides_.size());
  for (const Side& side : sides_) {
    components.push_back((has_result(side) ? side : *any).results[parameter]);
  }
  return components;
}

TensorValues GradientBuckets::values() const {
  const auto all = std::make_shared<std::vector<ReducedGradient>>();
  all->reserve(names_.size());
  std::vector<detail::FusedValue> values(names_.size());
  for (std::size_t p = 0; p < names_.size(); ++p) {
    all->push_back({core().first_replica(), components_of(p)});
    if (all->back().components.empty()) continue;
    values[p] = {&all->back(), core().size(), &ReducedGradient::append, all};
  }
  return TensorValues(std::move(values));
}

std::vector<AnyTensor> GradientBuckets::reduced_tensors(std::string_view parameter, DType dtype,
                                                        CallSite site) const {
  std::vector<AnyTensor> components = components_of(index_of(parameter, site));
  if (components.empty()) {
    refuse(fmt::format("\"{}\" has no reduced gradient", parameter),
           "ask in the function of finish, for a parameter that is not skipped", -1, site);
  }
  if (components.front().dtype() == dtype) return components;
  throw InvalidArgumentError(ErrorCode::kDType,
                             fmt::format("the gradient of \"{}\" is {}, and not {}", parameter,
                                         to_string(components.front().dtype()), to_string(dtype)),
                             "name the element type of the gradient", site);
}

}  // namespace belfry
