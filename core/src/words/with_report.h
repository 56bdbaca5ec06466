// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <exception>
#include <optional>

namespace belfry::detail {

/// The report of an Error; nothing for any other exception.
std::optional<ErrorReport> error_report(const std::exception_ptr& exception);

/// An error of a class of belfry, with the report replaced by `report`. Objects of classes derived
/// by users are returned unchanged.
std::exception_ptr with_report(std::exception_ptr error, const ErrorReport& report);

/// A belfry error without a call site, with `site` added. Errors with a site and exceptions of
/// users are returned unchanged.
std::exception_ptr at_site(std::exception_ptr error, CallSite site);

}  // namespace belfry::detail
