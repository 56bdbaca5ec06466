// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "belfry/error.h"

#include <exception>
#include <string>

namespace belfry::detail {

/// What an exception says: its type where the compiler can tell, and its message.
std::string text_of(const std::exception_ptr& exception);

/// The report of a belfry error; for anything else one with code kMergeThrew and its text.
ErrorReport report_of(const std::exception_ptr& exception);

/// The exception that belongs to a report.
std::exception_ptr exception_of(const ErrorReport& report);

/// The error to report in place of a ReplicaCancelled that code threw in a run that had not failed;
/// std::bad_alloc if there is no memory for it.
std::exception_ptr stray_cancellation(const char* thrower) noexcept;

}  // namespace belfry::detail
