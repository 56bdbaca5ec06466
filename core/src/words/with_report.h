// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <exception>

namespace belfry::detail {

/// A belfry error with another report, if its type is the one that belongs to the report; else the
/// error itself.
std::exception_ptr with_report(std::exception_ptr error, const ErrorReport& report);

/// A belfry error that names no call site, with this one; any other exception as it is.
std::exception_ptr at_site(std::exception_ptr error, CallSite site);

}  // namespace belfry::detail
