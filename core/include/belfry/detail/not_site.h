// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <type_traits>

namespace belfry::detail {

/// Last argument of an arity overload: anything but the call site that may follow it.
template <class T>
concept NotSite = !std::is_same_v<std::remove_cvref_t<T>, CallSite>;

}  // namespace belfry::detail
