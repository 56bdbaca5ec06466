// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/exception_text.h"

#include "words/with_report.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <typeinfo>
#include <utility>

namespace belfry::detail {
namespace {

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : type.name();
}

}  // namespace

std::string text_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return to_string(error.code()) + " (" + error.report().summary + ")";
  } catch (const std::exception& error) {
    return type_name(typeid(error)) + " \"" + error.what() + "\"";
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return type == nullptr ? "an unknown exception" : "an exception of type " + type_name(*type);
  }
}

std::string text_if_possible(const std::exception_ptr& exception) noexcept {
  if (exception == nullptr) return {};
  try {
    return text_of(exception);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

ErrorReport report_of(const std::exception_ptr& exception) {
  std::optional<ErrorReport> own = error_report(exception);
  if (own) return *std::move(own);
  ErrorReport report;
  report.code = ErrorCode::kMergeThrew;
  report.summary = text_of(exception);
  return report;
}

std::exception_ptr exception_of(const ErrorReport& report) {
  try {
    throw_error(report);
  } catch (...) {
    return std::current_exception();
  }
}

std::exception_ptr stray_cancellation(const char* thrower) noexcept {
  try {
    throw ContextError(
        ErrorCode::kRunFailed,
        std::string(thrower) + " threw belfry::ReplicaCancelled in a run that has not failed",
        "it is belfry's own: throw another type, and rethrow what a failed run threw in no other "
        "run");
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace belfry::detail
