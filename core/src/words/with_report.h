// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <exception>

namespace belfry::detail {

/// The error with `report` in place of its own, if the type of the error belongs to the report.
/// Otherwise the error itself.
std::exception_ptr with_report(std::exception_ptr error, const ErrorReport& report);

/// A belfry error without a call site, with `site` added. Any other exception is returned
/// unchanged.
std::exception_ptr at_site(std::exception_ptr error, CallSite site);

}  // namespace belfry::detail
