// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/error.h"

#include <rapidcheck.h>

#include <exception>
#include <string>
#include <utility>

namespace belfry::testing {

/// The text of an exception in a report of a test: of an error of belfry `describe(report)`, with
/// the call site, the replicas, the seed and the replay token; of any other exception `what()`.
inline std::string describe_exception(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  return own == nullptr ? error.what() : describe(own->report());
}

/// A property with arguments of its own; made by `described`.
template <class Property, class Signature = rc::detail::FunctionType<Property>>
class Described;
/// The same, with the types of the arguments.
template <class Property, class R, class... Args>
class Described<Property, R(Args...)> {
 public:
  /// Calls `property`.
  explicit Described(Property property) : property_(std::move(property)) {}

  /// The property for these arguments. Throws: exceptions of the property; RapidCheck's failure in
  /// place of an error of belfry.
  R operator()(Args... args) const {
    try {
      return property_(std::forward<Args>(args)...);
    } catch (const Error& error) {
      throw rc::detail::CaseResult(rc::detail::CaseResult::Type::Failure,
                                   "Exception thrown with message:\n" + describe_exception(error));
    }
  }

 private:
  Property property_;
};

/// The same property for RapidCheck, which prints the `what()` of exceptions: an error of belfry
/// that leaves `property` is printed with describe_exception.
///
///     rc::check("means are exact", testing::described([](const sim::Options& options) { ... }));
template <class Property>
Described<Property> described(Property property) {
  return Described<Property>(std::move(property));
}

}  // namespace belfry::testing
