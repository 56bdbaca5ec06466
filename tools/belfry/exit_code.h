// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

namespace belfry::tool {

/// The exit status of the tool.
enum class ExitCode : int {
  kGood = 0,
  kMismatch = 1,     ///< Something was checked and found wrong, or two runs differ.
  kUsage = 2,        ///< Wrong flags, or a file with wrong contents.
  kEnvironment = 3,  ///< A missing file or device, or an output without room.
};

/// Arguments that do not fit each other or their files.
struct UsageError : InvalidArgumentError {
  using InvalidArgumentError::InvalidArgumentError;
};

/// A file that is missing or unreadable.
struct UnreadableFile : InvalidArgumentError {
  using InvalidArgumentError::InvalidArgumentError;
};

}  // namespace belfry::tool
