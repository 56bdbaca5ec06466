// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/error.h"

#include <exception>
#include <optional>

/// The last additions to the failure of a run, after all replicas have ended.
namespace belfry::detail {

/// Adds the schedule of the backend, if the backend tells schedules. Without memory for the
/// schedule the report stays unchanged.
void add_schedule(const RunSettings& settings, std::optional<ErrorReport>& report) noexcept;

/// The exception for the caller of `run`: an error of a class of belfry gets the schedule, and the
/// call site of `run` if neither the error nor any replica in the report has a place. Exceptions of
/// users, and every exception if memory is short, stay unchanged.
std::exception_ptr leaving_run(const std::exception_ptr& thrown, const RunSettings& settings,
                               CallSite site) noexcept;

}  // namespace belfry::detail
