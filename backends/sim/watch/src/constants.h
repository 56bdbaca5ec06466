// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace belfry::sim::watch {

/// Whether the byte at `address` is in a part of the program or of a library that is never written
/// while the program runs.
bool is_constant(std::uintptr_t address);

}  // namespace belfry::sim::watch
