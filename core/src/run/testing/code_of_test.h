// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

namespace belfry {

/// The code of the belfry error thrown by `body`; kInternal without a belfry error.
inline ErrorCode code_of(const auto& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

}  // namespace belfry
