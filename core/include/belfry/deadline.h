// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <cstdint>
#include <string>

namespace belfry {

/// The longest time that a call waits for another process without a sign of life of the process
/// (SEM-207). No conversion from numbers: the unit is in the name.
class Deadline {
 public:
  /// Throws: InvalidArgumentError (kInvalidArgument) for numbers below 1, and for numbers above a
  /// hundred years.
  static Deadline milliseconds(std::int64_t count, CallSite site = CallSite::here());
  /// As milliseconds.
  static Deadline seconds(std::int64_t count, CallSite site = CallSite::here());
  /// No limit: a call waits for a silent process for ever.
  static constexpr Deadline never() { return Deadline(kNever); }

  /// Whether there is no limit.
  constexpr bool is_never() const { return milliseconds_ == kNever; }
  /// The limit in milliseconds; the largest number without a limit.
  constexpr std::int64_t as_milliseconds() const { return milliseconds_; }
  friend constexpr bool operator==(const Deadline&, const Deadline&) = default;

 private:
  static constexpr std::int64_t kNever = INT64_MAX;

  explicit constexpr Deadline(std::int64_t count) : milliseconds_(count) {}

  std::int64_t milliseconds_;
};

/// C++ that compiles: `belfry::Deadline::milliseconds(1500)`, `belfry::Deadline::seconds(60)`,
/// `belfry::Deadline::never()`.
std::string to_string(const Deadline& deadline);

namespace detail {

/// The deadline in a sentence: `1500 ms`, `60 s`, `no limit`.
std::string words_of(const Deadline& deadline);

template <>
inline constexpr bool kPrints<Deadline> = true;

}  // namespace detail
}  // namespace belfry
