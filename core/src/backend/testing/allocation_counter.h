// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace belfry::testing {

/// The number of calls of operator new until now, by all threads of a program with this library.
std::size_t allocations();

}  // namespace belfry::testing
