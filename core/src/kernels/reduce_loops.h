// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/reduce_call.h"

#include <cstddef>

namespace belfry::kernels {

inline constexpr std::size_t kLineBytes = 64;  ///< Of a cache.

/// Reduces whole vectors of elements from `first` on, in any order but a ring's. Returns the end of
/// the last whole vector. `stream`: stores bypass the caches; every output's element `first` is
/// then at a multiple of kLineBytes.
template <class T>
using ReduceLoop = std::size_t (*)(const ReduceCall<T>& call, std::size_t first, bool stream);

/// With vectors that every processor of the architecture has.
template <class T>
std::size_t reduce_baseline(const ReduceCall<T>& call, std::size_t first, bool stream);

/// With wider vectors; requires `has_wide_vectors`.
template <class T>
std::size_t reduce_wide(const ReduceCall<T>& call, std::size_t first, bool stream);
bool has_wide_vectors();

}  // namespace belfry::kernels
