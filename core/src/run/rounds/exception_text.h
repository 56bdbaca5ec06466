// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "belfry/error.h"

#include <exception>
#include <string>

namespace belfry::detail {

/// The text of an exception: its type, if the compiler knows the type, and its message.
std::string text_of(const std::exception_ptr& exception);

/// The same; an empty text without an exception, or without memory for the text.
std::string text_if_possible(const std::exception_ptr& exception) noexcept;

/// The report of a belfry error. Any other exception gets a report with code kMergeThrew and the
/// exception's text.
ErrorReport report_of(const std::exception_ptr& exception);

/// The exception for a report.
std::exception_ptr exception_of(const ErrorReport& report);

/// The error to report in place of a ReplicaCancelled thrown by code in a run that had not failed;
/// std::bad_alloc without memory for the error.
std::exception_ptr stray_cancellation(const char* thrower) noexcept;

}  // namespace belfry::detail
