// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/detail/variable_state.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"
#include "belfry/tensor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <typeinfo>
#include <vector>

namespace belfry::detail {

/// The first values of a sharded variable: a function that makes the whole, or a shape and a
/// function that makes the rows `begin` to before `end`.
struct ShardedInit {
  DType dtype = DType::kFloat32;
  Axis axis{0};
  const std::type_info* type = nullptr;  ///< Of a part.
  std::function<AnyTensor()> whole{};
  std::optional<Shape> shape{};
  std::function<AnyTensor(std::int64_t begin, std::int64_t end)> rows{};
};

/// Makes the state of a variable from the parts of this process.
using MakeShardedState = FunctionRef<std::shared_ptr<void>(VariableInfo, std::vector<AnyTensor>)>;

/// Makes a sharded variable: in cross-replica context at once, in a replica together with the
/// other replicas. Order, Throws: as Strategy::sharded_variable; VariableMismatchError
/// (kVariableMismatch) if replicas or processes ask for different variables; UnsupportedError in a
/// run to which processes listen.
std::shared_ptr<void> make_sharded_state(StrategyCore& core, CrossReplicaContext& cross,
                                         const ShardedInit& init, VariableOptions options,
                                         MergePlace place, MakeShardedState finish);

}  // namespace belfry::detail
