// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

namespace belfry::detail {

/// False for all arguments: for the static_assert of a function that takes wrong arguments, so that
/// the first error says what to write.
template <class... Args>
inline constexpr bool kTaken = false;

/// The result of a call that does not compile.
template <class T>
T refused();

}  // namespace belfry::detail
