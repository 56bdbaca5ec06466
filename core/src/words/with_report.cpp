// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "words/with_report.h"

#include <typeinfo>
#include <utility>

namespace belfry::detail {
namespace {

// An E with `report` if the class of `error` is E; else null.
template <class E>
std::exception_ptr as(const Error& error, const ErrorReport& report) {
  return typeid(error) == typeid(E) ? std::make_exception_ptr(E(report)) : nullptr;
}

template <class... E>
std::exception_ptr as_one_of(const Error& error, const ErrorReport& report) {
  std::exception_ptr made;
  static_cast<void>(((made = as<E>(error, report)) || ...));
  return made;
}

}  // namespace

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
    std::exception_ptr made =
        as_one_of<Error, ContextError, MergeMismatchError, StructureMismatchError,
                  InvalidArgumentError, VariableMismatchError, DeviceError, UnsupportedError,
                  StrategyError, ProcessLostError, PeerFailedError, InternalError>(own, report);
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
