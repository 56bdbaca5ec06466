// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace belfry::testing {

/// How often operator new was called so far, by any thread of a program that links this.
std::size_t allocations();

}  // namespace belfry::testing
