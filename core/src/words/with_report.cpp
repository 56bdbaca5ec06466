// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "words/with_report.h"

#include "words/error_classes.h"

#include <utility>

namespace belfry::detail {

std::optional<ErrorReport> error_report(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error.report();
  } catch (...) {
    return std::nullopt;
  }
}

std::exception_ptr with_report(std::exception_ptr error, const ErrorReport& report) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& own) {
    std::exception_ptr made = ErrorClasses::same_class(own, report);
    return made == nullptr ? error : made;
  } catch (...) {
    return error;
  }
}

std::exception_ptr at_site(std::exception_ptr error, CallSite site) {
  std::optional<ErrorReport> report = error_report(error);
  if (!report || !report->site.empty()) return error;
  report->site = site;
  return with_report(std::move(error), *report);
}

}  // namespace belfry::detail
