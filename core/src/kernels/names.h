// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel.h"

#include <string_view>

namespace belfry::kernels {

/// Names of operations in messages: `exp`, `multiply`, `sum`, `normal`.
std::string_view name_of(UnaryOp op);
std::string_view name_of(BinaryOp op);
std::string_view name_of(FoldOp op);
std::string_view name_of(ScatterOp op);
std::string_view name_of(Distribution distribution);

}  // namespace belfry::kernels
