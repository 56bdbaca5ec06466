// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/error.h"

#include <exception>

/// The last additions to the failure of a run, after all replicas and all hooks have ended.
namespace belfry::detail {

/// The exception for the caller of `run`: an error of a class of belfry gets the schedule, and the
/// call site of `run` if neither the error nor any replica in the report has a place. Exceptions of
/// users, and every exception if memory is short, stay unchanged.
///
/// `last`, the report of the strategy's last failure if this run has made the report, else null,
/// gets the same schedule, or none if memory is short.
std::exception_ptr leaving_run(const std::exception_ptr& thrown, ErrorReport* last,
                               const RunSettings& settings, CallSite site) noexcept;

}  // namespace belfry::detail
