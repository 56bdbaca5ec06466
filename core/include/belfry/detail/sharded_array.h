// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/shard_plan.h"
#include "belfry/detail/variable_state.h"
#include "belfry/tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace belfry::detail {

/// Takes the next elements of an array.
using TakeElements = FunctionRef<void(std::span<const std::byte>)>;
/// Fills the memory with the elements of an array from byte `at` on.
using GiveElements = FunctionRef<void(std::uint64_t at, std::span<std::byte> to)>;

/// A sharded variable as one array, row-major, without its element type. The array comes and goes
/// in pieces of at most 1 MiB, or of one line if a line is longer: no process holds the whole.
class ShardedArray {
 public:
  /// `part` gives the tensor of a component.
  ShardedArray(std::shared_ptr<VariableRecord> variable, std::function<AnyTensor&(int)> part)
      : variable_(std::move(variable)), part_(std::move(part)) {}

  const VariableInfo& info() const { return variable_->info; }
  const ShardPlan& plan() const { return *variable_->info.shards; }

  /// Calls `take` with the elements, piece by piece, in each process. Order: blocks the host until
  /// all processes have called. Throws: as require_rows_of and require_own_value; exceptions of
  /// `take`; DeviceError, and then PeerFailedError in the other processes; as
  /// RoundMembers::exchange.
  void read(TakeElements take, CallSite site) const;
  /// Replaces the parts of this process by elements that `give` writes, piece by piece. A part
  /// keeps its memory, unless the memory has a second user. After an exception the variable has no
  /// value. Order: copies to devices are enqueued. Throws: exceptions of `give`; DeviceError.
  void write(GiveElements give, CallSite site);

 private:
  void require_parts(CallSite site) const;
  void write_parts(GiveElements give, CallSite site);
  void prepare_part(int component, CallSite site);
  void write_lines(int component, std::int64_t begin, std::int64_t end,
                   std::span<const std::byte> piece, CallSite site);

  std::shared_ptr<VariableRecord> variable_;
  std::function<AnyTensor&(int)> part_;
};

}  // namespace belfry::detail
