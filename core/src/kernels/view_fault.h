// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/error.h"

#include <optional>
#include <string>

namespace belfry::kernels {

/// The reason why a view is unusable. The text continues the name of the view: `input 0 has no
/// buffer`.
struct ViewFault {
  ErrorCode code;
  std::string text;
};

std::optional<ViewFault> fault_of(const BufferView& view);

}  // namespace belfry::kernels
