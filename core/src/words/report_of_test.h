// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

namespace belfry {

/// The report of the error of belfry that `call` throws; the summary is "no error" without an
/// error.
ErrorReport report_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.report();
  }
  ErrorReport none;
  none.summary = "no error";
  return none;
}

}  // namespace belfry
