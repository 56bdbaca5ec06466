// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/nest.h"

#include <string>
#include <vector>

namespace belfry::detail {

/// A hint for components of different keys or of lists with different lengths, with the first leaf
/// that only some have; `otherwise` if all have the same leaves. `replicas[i]` brought
/// `components[i]`.
std::string structure_hint(const std::vector<int>& replicas,
                           const std::vector<std::vector<LeafDescription>>& components,
                           const char* otherwise);

}  // namespace belfry::detail
