// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/variable_state.h"
#include "belfry/error.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace belfry::detail {

/// `name` as replicas are matched by: a `_` and one digit before each `/` and at the end are
/// dropped, and nothing is `Variable` (SEM-48).
std::string canonical_name(std::string_view name);

/// What a replica asks for when it makes a variable.
struct VariableRequest {
  std::string name;
  Synchronization synchronization = Synchronization::kOnWrite;
  Aggregation aggregation = Aggregation::kNone;
  bool trainable = true;
  const std::type_info* type = nullptr;
  std::optional<std::string>
      structure{};                ///< Of the initial value; nothing where it must be asked.
  std::uint64_t host_digest = 0;  ///< Of the initial value's host leaves; 0 if there are none.
  CallSite site{};
  std::optional<std::string> tag{};  ///< The name of its MergeTag, if it has one.
};

/// A variable that the first replica has made, and what it asked for.
struct MadeVariable {
  VariableRequest request;
  // Owned by the handles as well.
  std::shared_ptr<void> state;
};

/// The variables made inside one run: `maker`, the first replica that takes part, makes them, the
/// others find them by name and order.
class ReplicaVariables {
 public:
  ReplicaVariables(int replicas, int maker);

  /// The variable that belongs to `replica`'s next request of this name; null when it has not
  /// been made yet. Throws: VariableMismatchError (kVariableMismatch) when the requests differ.
  const MadeVariable* find(int replica, const VariableRequest& request) const;
  /// Counts a request as served. If memory runs out it is not counted.
  void take(int replica, const VariableRequest& request);
  /// Adds what the maker made, and counts its request as served: both, or nothing.
  void add(const VariableRequest& request, std::shared_ptr<void> state);

  /// Throws VariableMismatchError (kVariableMismatch) unless all that take part have asked for as
  /// many.
  void require_equal_counts(const Participants& present) const;

 private:
  int maker_;
  std::map<std::string, std::vector<MadeVariable>> made_;
  // How often each replica has asked for each name; empty until the first request.
  std::vector<std::map<std::string, std::size_t>> taken_;
  std::vector<std::vector<CallSite>> sites_;
};

}  // namespace belfry::detail
