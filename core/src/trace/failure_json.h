// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <string>

namespace belfry::detail {

/// The report as an object of JSON: `code`, `text`, `hint`, and for each replica its number, its
/// line and its part.
std::string failure_json(const ErrorReport& report);

}  // namespace belfry::detail
