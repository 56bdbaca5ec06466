// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/run_view.h"
#include "belfry/nest.h"

#include <string>
#include <type_traits>
#include <vector>

namespace belfry::detail {

/// Shows the leaves of a nest, with `path` before the path of each.
void show_leaves(const std::vector<LeafRef>& leaves,
                 const std::vector<LeafDescription>& descriptions, const std::string& path,
                 ValueVisitor& visitor);
/// Shows a value that is no nest. `spelling` is the compiler's, with the name of the type.
void show_other(std::string_view spelling, const std::string& path, ValueVisitor& visitor);

/// Shows a value, leaf by leaf.
template <class T>
void show_value(const T& value, const std::string& path, ValueVisitor& visitor) {
  if constexpr (Nest<T>) {
    show_leaves(leaves_of(const_cast<T&>(value)), describe_leaves(value), path, visitor);
  } else {
    show_other(spelling_with_name<T>(), path, visitor);
  }
}

}  // namespace belfry::detail
