// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The texts of options. Call sites are left out: a place says nothing about the choice.
#include "belfry/checkpoint.h"
#include "belfry/cross_device_ops.h"
#include "belfry/detail/dataset/distribute_options.h"
#include "belfry/detail/options_text.h"
#include "belfry/detail/strategy/options.h"
#include "belfry/detail/tensor/matrix.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/fused_update.h"
#include "belfry/gradient_buckets.h"
#include "belfry/planned_all_reduce.h"
#include "belfry/strategies.h"

#include <array>
#include <string>
#include <string_view>

namespace belfry {
namespace {

using detail::Enumerators;
using detail::OptionsText;
using Name = std::string_view;

constexpr std::array<Name, 8> kAggregations{"kNone", "kSum",  "kMean",      "kMax",
                                            "kMin",  "kProd", "kOnlyFirst", "kOther"};
constexpr std::array<Name, 4> kSynchronizations{"kAuto", "kNone", "kOnWrite", "kOnRead"};
constexpr std::array<Name, 4> kOrders{"kReplicaOrder", "kTree", "kRing", "kUnspecified"};
constexpr std::array<Name, 3> kEnds{"kDropPartialStep", "kPadWithEmpties", "kMaskReplicas"};
constexpr std::array<Name, 2> kUses{"kGlobalBatch", "kPerReplica"};
constexpr std::array<Name, 2> kSplits{"kEvenSizes", "kEachBatch"};
constexpr std::array<Name, 5> kOps{"kSum", "kMean", "kMax", "kMin", "kProd"};
constexpr std::array<Name, 2> kSums{"kFirst", "kDivide"};

// The members that options of all strategies have.
template <class Options>
void add_shared(OptionsText& text, const Options& options) {
  text.add("devices", options.devices, {});
  if (options.order) {
    const Enumerators orders{"belfry::ReductionOrder", kOrders};
    text.put("order", detail::enumerator_code(orders, static_cast<int>(*options.order)));
  }
  if (options.cross_device_ops != nullptr) {
    text.put("cross_device_ops", detail::quoted(options.cross_device_ops->name()));
  }
  text.add("links", options.links, {});
  if (options.log) text.put("log", detail::quoted("a function"));
}

// Likewise, after the members of a kind of strategy.
template <class Options>
void add_checks(OptionsText& text, const Options& options) {
  text.add("require_names", options.require_names, false);
  text.add("report_overflow", options.report_overflow, false);
}

}  // namespace

std::string to_string(const VariableOptions& options) {
  const VariableOptions usual;
  OptionsText text;
  text.add("name", options.name, usual.name);
  text.add("aggregation", options.aggregation, usual.aggregation,
           {"belfry::Aggregation", kAggregations});
  text.add("trainable", options.trainable, usual.trainable);
  text.add("synchronization", options.synchronization, usual.synchronization,
           {"belfry::Synchronization", kSynchronizations});
  text.add("devices", options.devices, {});
  return text.text();
}

std::string to_string(const StrategyOptions& options) {
  OptionsText text;
  add_shared(text, options);
  add_checks(text, options);
  return text.text();
}

std::string to_string(const CentralStorageOptions& options) {
  OptionsText text;
  add_shared(text, options);
  text.add("storage", options.storage, {});
  add_checks(text, options);
  return text.text();
}

std::string to_string(const DistributeOptions& options) {
  const DistributeOptions usual{.end_of_data = options.end_of_data};
  OptionsText text;
  text.put("end_of_data", detail::enumerator_code({"belfry::EndOfData", kEnds, 1},
                                                  static_cast<int>(options.end_of_data)));
  text.add("elements", options.elements, usual.elements, {"belfry::ElementUse", kUses});
  text.add("prefetch", options.prefetch, usual.prefetch);
  text.add("num_workers", options.num_workers, usual.num_workers);
  text.add("worker", options.worker, usual.worker);
  text.add("split", options.split, usual.split, {"belfry::BatchSplit", kSplits});
  text.add("equal_steps", options.equal_steps, usual.equal_steps);
  return text.text();
}

std::string to_string(const RunOptions& options) {
  OptionsText text;
  text.add("concurrent", options.concurrent, true);
  return text.text();
}

std::string to_string(const UpdateOptions& options) {
  OptionsText text;
  text.add("in_place", options.in_place, false);
  text.add("anew", options.anew, false);
  return text.text();
}

std::string to_string(const RestoreOptions& options) {
  OptionsText text;
  text.add("sums", options.sums, SumSplit::kFirst, {"belfry::SumSplit", kSums});
  return text.text();
}

std::string to_string(const RingOptions& options) {
  const RingOptions usual;
  OptionsText text;
  text.add("hosts", options.hosts, usual.hosts);
  text.add("permutation", options.permutation, usual.permutation);
  text.add("subchunks", options.subchunks, usual.subchunks);
  text.add("start", options.start, usual.start);
  return text.text();
}

std::string to_string(const PackOptions& options) {
  const PackOptions usual;
  OptionsText text;
  text.add("bytes_per_tensor", options.bytes_per_tensor, usual.bytes_per_tensor);
  text.add("bytes_per_pack", options.bytes_per_pack, usual.bytes_per_pack);
  return text.text();
}

std::string to_string(const AdamOptions& options) {
  const AdamOptions usual;
  OptionsText text;
  text.add("rate", options.rate, usual.rate);
  text.add("decay", options.decay, usual.decay);
  text.add("second_decay", options.second_decay, usual.second_decay);
  text.add("epsilon", options.epsilon, usual.epsilon);
  return text.text();
}

std::string to_string(const BucketOptions& options) {
  const BucketOptions usual;
  OptionsText text;
  text.add("op", options.op, usual.op, {"belfry::ReduceOp", kOps});
  text.add("bytes", options.bytes, usual.bytes);
  text.add("first_bytes", options.first_bytes, usual.first_bytes);
  text.add("rounds", options.rounds, usual.rounds);
  return text.text();
}

std::string to_string(const MatmulOptions& options) {
  OptionsText text;
  text.add("transpose_a", options.transpose_a, false);
  text.add("transpose_b", options.transpose_b, false);
  return text.text();
}

}  // namespace belfry
