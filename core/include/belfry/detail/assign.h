// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/nest.h"

#include <string_view>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Whether two lists of leaves agree in number, counts and types.
bool same_leaves(const std::vector<LeafRef>& a, const std::vector<LeafRef>& b);

/// target[i] = target[i] op delta[i] for every leaf. `variable` is the name of the variable with
/// the leaves, if any. Throws: StructureMismatchError if the leaves differ in number,
/// count or type, InvalidArgumentError (kDType) if a type has no such operation; then nothing has
/// changed.
void combine_leaves(AssignOp op, std::vector<LeafRef> target, std::vector<LeafRef> delta,
                    CallSite site = {}, std::string_view variable = {});

/// Throws StructureMismatchError (kStructure) with the first different leaf of `value`.
[[noreturn]] void throw_other_structure(std::string_view variable,
                                        const std::vector<LeafDescription>& target,
                                        const std::vector<LeafDescription>& value, CallSite site);

/// Sets `target`, a component of `variable`, to `value`, or adds or subtracts `value` leaf by leaf.
/// Callers have tested that T is a nest.
template <Nest T>
void apply_assign(AssignOp op, T& target, T value, std::string_view variable, CallSite site) {
  if (op == AssignOp::kSet) {
    target = std::move(value);
  } else {
    std::vector<LeafRef> to = leaves_of(target);
    std::vector<LeafRef> delta = leaves_of(value);
    // Leaves of the same types may have other keys.
    if (!same_tree(target, value) || !same_leaves(to, delta)) {
      throw_other_structure(variable, describe_leaves(target), describe_leaves(value), site);
    }
    combine_leaves(op, std::move(to), std::move(delta), site, variable);
  }
}

}  // namespace belfry::detail
