// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "words/with_report.h"

#include <typeinfo>
#include <utility>

namespace belfry::detail {
namespace {

bool has_type(const std::exception_ptr& exception, const std::type_info& type) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return typeid(error) == type;
  } catch (...) {
    return false;
  }
}

}  // namespace

std::exception_ptr with_report(std::exception_ptr error, const ErrorReport& report) {
  try {
    throw_error(report);
  } catch (const Error& rebuilt) {
    if (has_type(error, typeid(rebuilt))) return std::current_exception();
  }
  return error;
}

std::exception_ptr at_site(std::exception_ptr error, CallSite site) {
  ErrorReport report;
  try {
    std::rethrow_exception(error);
  } catch (const Error& own) {
    report = own.report();
  } catch (...) {
    return error;
  }
  if (*report.site.file != '\0') return error;
  report.site = site;
  return with_report(std::move(error), report);
}

}  // namespace belfry::detail
