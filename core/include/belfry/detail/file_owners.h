// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace belfry::detail {

/// The jobs that have saved to a file, as a strategy knows them.
struct KnownOwners {
  bool has_met = false;         ///< Whether the strategy has saved or restored the file.
  std::set<std::string> ids{};  ///< Other jobs that the strategy may overwrite.
};

/// By device and inode of the folder, and the name of the file.
using FileOwners = std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>, KnownOwners>;

}  // namespace belfry::detail
