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

}  // namespace belfry::detail
