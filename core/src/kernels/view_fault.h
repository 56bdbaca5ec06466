// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/error.h"

#include <optional>
#include <string>

namespace belfry::kernels {

/// Why nobody can use a view; the text goes on after its name, as in `input 0 has no buffer`.
struct ViewFault {
  ErrorCode code;
  std::string text;
};

std::optional<ViewFault> fault_of(const BufferView& view);

}  // namespace belfry::kernels
