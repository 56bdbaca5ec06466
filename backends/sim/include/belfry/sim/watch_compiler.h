// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstdint>

namespace belfry::sim::detail {

/// The compiler of watched code: each misses other accesses.
enum class WatchCompiler : std::uint8_t { kGcc, kClang };

/// The compiler of the including file. A file has its own, for a program may have files of both.
#ifdef __clang__
static constexpr WatchCompiler kWatchCompiler = WatchCompiler::kClang;
#else
static constexpr WatchCompiler kWatchCompiler = WatchCompiler::kGcc;
#endif

}  // namespace belfry::sim::detail
