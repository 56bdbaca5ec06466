// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

namespace belfry::detail {

struct CurrentContext;

/// Whether `context` lies in a function that is called for each component, device or element
/// (SEM-41): also by way of a scope, a fetch or a run that was begun there.
bool is_inside_update(const CurrentContext* context);

/// Throws: ContextError (kWrongContext): `what` would be done once for each call.
[[noreturn]] void throw_inside_update(const char* what, CallSite site);

}  // namespace belfry::detail
