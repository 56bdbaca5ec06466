// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/distributed_values.h"
#include "belfry/dtype.h"
#include "belfry/fused_update.h"
#include "belfry/replica_context.h"
#include "belfry/strategy.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

/// How GradientBuckets reduces.
struct BucketOptions {
  ReduceOp op = ReduceOp::kMean;  ///< The reduction of each gradient.
  /// A bucket is full with this many bytes of gradients. 0: one bucket for each gradient.
  std::size_t bytes = std::size_t{25} << 20;
  /// The same for the first bucket of a step, which should start early.
  std::size_t first_bytes = std::size_t{1} << 20;
  /// The number of rounds whose gradients each replica adds up before a reduction. At least 1.
  int rounds = 1;
};

/// The options as an initializer that compiles, without members of their usual value.
std::string to_string(const BucketOptions& options);

/// Reduces the gradients of a step in few collectives, while later gradients are computed.
///
///     GradientBuckets buckets(strategy, {"head", "body", "stem"});
///     strategy.run([&](ReplicaContext& replica) {
///       buckets.add(replica, "stem", of_stem);  // As gradients become ready.
///       ...
///       buckets.finish(replica, [&](CrossReplicaContext& cross, const TensorValues& gradients) {
///         cross.update_all(weights, FusedUpdate::plain(0.1), {}, gradients);
///       });
///     });
///
/// Every replica adds a gradient of each parameter once in a step, or skips the parameter, in the
/// same order (SEM-251). The gradients are put into buckets in this order. A replica that fills a
/// bucket waits for the other replicas, and the bucket is reduced: a collective for each element
/// type in the bucket. Device work of earlier buckets may still be running. Results have the bits
/// of single reductions if the strategy names an order.
///
/// The object belongs to a strategy and outlives the runs that use it. Replicas use it side by
/// side.
class GradientBuckets {
 public:
  /// `parameters`: a name for each parameter, in the order of the results.
  /// Throws: InvalidArgumentError (kInvalidArgument): a name twice, or rounds below 1.
  GradientBuckets(Strategy& strategy, std::vector<std::string> parameters,
                  BucketOptions options = {}, CallSite site = CallSite::here());
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;
  ~GradientBuckets();

  /// Takes the gradient of a parameter, computed or not.
  /// Order: blocks the host until all replicas have arrived if the gradient fills the bucket;
  /// enqueues the copy into the bucket, and the reduction. Gradients of earlier rounds are added.
  /// Throws, from `run`:
  /// - StructureMismatchError (kStructure): replicas added gradients in different orders, or of
  ///   different shapes or types; the report names the parameters;
  /// - InvalidArgumentError (kInvalidArgument): an unknown parameter, or one that has its gradient;
  ///   a default-constructed tensor;
  /// - ContextError (kOtherStrategy): a replica of another strategy;
  /// - the errors of a reduction.
  template <Element T>
  void add(ReplicaContext& replica, std::string_view parameter, const Tensor<T>& gradient,
           CallSite site = CallSite::here()) {
    arrive(replica, parameter, gradient.any(), site);
  }
  /// Declares that a parameter has no gradient in this step, on any replica. In each round.
  /// Order, Throws: as add.
  void skip(ReplicaContext& replica, std::string_view parameter, CallSite site = CallSite::here());

  /// Ends a round of the replica. In the last round: waits for all replicas, calls
  /// `fn(CrossReplicaContext&, const TensorValues&)` once, as a merge, with a value for each
  /// parameter, TensorValues::none for a skipped one; and begins a new step. Returns whether this
  /// was the last round; in all others nothing is reduced.
  /// Order: in the last round blocks the host until fn has returned.
  /// Throws, from `run`: exceptions of fn; InvalidArgumentError (kInvalidArgument): parameters
  /// without a gradient that were not skipped, by name.
  template <class F>
  bool finish(ReplicaContext& replica, const F& fn, CallSite site = CallSite::here()) {
    if (!end_round(replica, site)) return false;
    replica.merge_call_at(site, [this, &fn](CrossReplicaContext& cross) { fn(cross, values()); });
    begin_step(replica);
    return true;
  }
  /// Inside the function of `finish`: the reduced gradient of a parameter.
  /// Throws: InvalidArgumentError (kInvalidArgument): unknown, skipped, or not reduced so far;
  /// (kDType): of another element type.
  template <Element T>
  Mirrored<Tensor<T>> reduced(std::string_view parameter, CallSite site = CallSite::here()) const {
    const std::vector<AnyTensor> tensors = reduced_tensors(parameter, dtype_of<T>(), site);
    detail::ReplicaArray<Tensor<T>> components(static_cast<int>(tensors.size()));
    for (const AnyTensor& tensor : tensors) components.emplace_back(Tensor<T>(tensor));
    return detail::mirrored_on_own(core(), std::move(components));
  }
  /// Forgets all gradients: after a run that failed. Context: between runs.
  void discard();

 private:
  struct Side;

  detail::StrategyCore& core() const { return strategy_.cross_replica().core(); }
  std::size_t index_of(std::string_view parameter, CallSite site) const;
  Side& side_of(const ReplicaContext& replica, const char* what, CallSite site);
  void arrive(ReplicaContext& replica, std::string_view parameter, const AnyTensor& gradient,
              CallSite site);
  void close(ReplicaContext& replica, Side& side, CallSite site);
  void pack(ReplicaContext& replica, Side& side, CallSite site) const;
  void reduce(const detail::Participants& present, CallSite site);
  void require_one_order(const detail::Participants& present, CallSite site) const;
  bool end_round(ReplicaContext& replica, CallSite site);
  void begin_step(const ReplicaContext& replica);
  std::vector<AnyTensor> components_of(std::size_t parameter) const;
  TensorValues values() const;
  std::vector<AnyTensor> reduced_tensors(std::string_view parameter, DType dtype,
                                         CallSite site) const;

  Strategy& strategy_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> indices_;
  BucketOptions options_;
  std::vector<Side> sides_;  // Of the replicas of this process, each used by its replica alone.
};

}  // namespace belfry
