// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

namespace belfry::detail {

/// Throws: ContextError (kWrongContext): `what` would happen once for each call.
[[noreturn]] void throw_inside_update(const char* what, CallSite site);

}  // namespace belfry::detail
