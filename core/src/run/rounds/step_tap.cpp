// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/step_tap.h"

namespace belfry::detail {

constinit thread_local StepTap* step_tap = nullptr;

}  // namespace belfry::detail
