// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/detail/prints.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::sim {

/// Facts about a record of a log, for people. No hash and no token includes them.
struct Annotation {
  std::uint64_t record = 0;  ///< The index of the record.
  CallSite site{};           ///< The user's call; empty if not known.
  std::uint32_t name = 0;    ///< A number for Annotations::name.
  bool failed = false;       ///< Work failed, or was skipped after a failure.
};

/// `record 3, name 2, train.cpp:5, failed`, without the facts that are missing.
std::string to_string(const Annotation& annotation);

/// The annotations of a log. Records without facts have none. If memory runs out, later annotations
/// are missing.
class Annotations {
 public:
  /// The annotation of the record with the index `record`, or null.
  const Annotation* find(std::uint64_t record) const;
  /// The kernel, verb, variable or exception with the number `name`; empty for 0.
  std::string_view name(std::uint32_t name) const;

  /// For logs: adds the annotation of the last record.
  void add(const Operation& operation, std::uint64_t record) noexcept;

 private:
  std::uint32_t number_of(std::string_view name, std::uint64_t hint);

  std::vector<Annotation> annotations_;
  std::vector<std::string> names_;  // Name n is at n - 1.
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::array<std::uint32_t, 16> recent_{};  // The last number for each hint: saves a search.
};

using belfry::operator<<;

}  // namespace belfry::sim
