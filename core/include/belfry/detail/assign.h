// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/nest.h"

#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {

/// target[i] = target[i] op delta[i] for every leaf. Throws: StructureMismatchError when the leaves
/// differ in number, count or type, InvalidArgumentError (kDType) when a type has no such
/// operation; then nothing has changed.
void combine_leaves(AssignOp op, std::vector<LeafRef> target, std::vector<LeafRef> delta,
                    CallSite site = {});

/// Throws: StructureMismatchError (kStructure).
[[noreturn]] void throw_other_structure(CallSite site);

/// Sets `target` to `value`, or adds or subtracts it leaf by leaf.
template <class T>
void apply_assign(AssignOp op, T& target, T value, CallSite site) {
  if (op == AssignOp::kSet) {
    target = std::move(value);
  } else if constexpr (Nest<T>) {
    // Leaves of the same types may have other keys.
    if (!same_tree(target, value)) throw_other_structure(site);
    combine_leaves(op, leaves_of(target), leaves_of(value), site);
  } else {
    static_assert(Nest<T>, "only nests can be added to");
  }
}

}  // namespace belfry::detail
