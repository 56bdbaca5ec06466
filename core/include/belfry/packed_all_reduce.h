// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cross_device_ops.h"
#include "belfry/pack_plan.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belfry {

/// How the tensors of one call are packed.
struct PackOptions {
  /// The largest tensor that is packed: larger tensors take longer to copy than to reduce. At least
  /// 0, which is no bound.
  std::int64_t bytes_per_tensor = 4096;
  /// The bound of the packs, as of `pack_by_bytes`; at least 0.
  std::int64_t bytes_per_pack = 65536;
  /// Makes the plan in place of `pack_small_items`. Equal items give equal plans. Threads of
  /// several strategies may call the function at once.
  std::function<PackPlan(std::span<const PackItem>)> packer{};
};

/// The text of the options, as for StrategyOptions; a packer is the word `"a function"`.
std::string to_string(const PackOptions& options);

namespace detail {
template <>
inline constexpr bool kPrints<PackOptions> = true;
}  // namespace detail

/// An algorithm that copies the tensors of a call into packs, reduces the packs by another
/// algorithm, and copies the results back (SEM-149). A pack with one slice is reduced where the
/// tensor is, without copies.
class PackedAllReduce final : public CrossDeviceOps {
 public:
  /// Throws: InvalidArgumentError (kInvalidArgument) if `inner` is null, or a bound negative.
  explicit PackedAllReduce(std::shared_ptr<CrossDeviceOps> inner, PackOptions options = {},
                           CallSite site = CallSite::here());
  /// `packed`, and the name of the inner algorithm.
  std::string_view name() const override { return name_; }
  void require_fit(const ReplicaDevices& devices) const override { inner_->require_fit(devices); }
  /// The inner order, if it is the same for all elements: replica order or tree order. Else
  /// unspecified: the place of an element in a pack decides its additions.
  ReductionOrder order(ReplicaDevices& devices) const override;
  /// The orders of the inner algorithm, except ring order, and the own order.
  bool can_add_in(ReductionOrder order, ReplicaDevices& devices) const override;
  /// The inner plan if it has one chunk, so that the place in a pack decides nothing; else none.
  std::optional<ReductionPlan> plan(int members) const override;
  /// Order: as CrossDeviceOps::all_reduce.
  /// Throws:
  /// - InvalidArgumentError (kInvalidArgument) if the plan of `packer` is not valid or is for other
  ///   items, StructureMismatchError (kStructure) if the members have different items, both before
  ///   any work is enqueued;
  /// - DeviceError;
  /// - exceptions of `packer` and of the inner algorithm.
  void all_reduce(const TensorReduction& reduction) override;

 private:
  PackPlan plan_of(const TensorReduction& reduction) const;

  std::shared_ptr<CrossDeviceOps> inner_;
  PackOptions options_;
  CallSite site_;
  std::string name_;
};

}  // namespace belfry
