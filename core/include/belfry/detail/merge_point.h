// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/host_values.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/variable_state.h"
#include "belfry/error.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace belfry::detail {

/// `name` as replicas are matched by: a `_` and one digit before each `/` and at the end are
/// dropped, and nothing is `Variable` (SEM-48).
std::string canonical_name(std::string_view name);

/// The request of a replica that makes a variable.
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

/// `asked for "w", on write, aggregation sum`.
std::string words_of(const VariableRequest& request);

/// A variable that the first replica has made, and its request.
struct MadeVariable {
  VariableRequest request;
  // Owned by the handles as well.
  std::shared_ptr<void> state;
};

/// The variables made inside a run. `maker`, the first participating replica, makes them; the other
/// replicas find them by name and order. Replicas may run side by side in `add` and `take`; during
/// the other functions no replica runs.
class ReplicaVariables {
 public:
  ReplicaVariables(int replicas, int maker) : replicas_(replicas), maker_(maker) {}

  /// Adds a variable of the maker, and counts the request as served: both, or nothing.
  void add(const VariableRequest& request, std::shared_ptr<void> state);
  /// The state of the variable that belongs to `replica`'s next request of this name; null if the
  /// variable does not exist yet. Counts the request as served unless the state is null or memory
  /// runs out.
  /// Throws: VariableMismatchError (kVariableMismatch) if the requests differ.
  std::shared_ptr<void> take(int replica, const VariableRequest& request);

  /// Whether any replica has asked for a variable.
  bool any() const { return !taken_.empty(); }
  /// Whether `take` would return a variable. Throws: as `take`.
  bool has(int replica, const VariableRequest& request) const {
    return any() && find(replica, request) != nullptr;
  }

  /// Throws VariableMismatchError (kVariableMismatch) unless all participating replicas have made
  /// equal numbers of requests for each name.
  void require_equal_counts(const Participants& present) const;

 private:
  void begin();
  const MadeVariable* find(int replica, const VariableRequest& request) const;
  void count(int replica, const VariableRequest& request);

  int replicas_;
  int maker_;
  std::mutex mutex_;
  std::map<std::string, std::vector<MadeVariable>> made_;
  // How often each replica has asked for each name; empty until the first request.
  std::vector<std::map<std::string, std::size_t>> taken_;
  std::vector<std::vector<CallSite>> sites_;
};

/// The meeting point of the replicas of a run. A run has a runner; the default replica has no other
/// replicas to wait for and merges at once.
class MergePoint {
 public:
  explicit MergePoint(StrategyCore& core) : core_(core), notes_(core.notes_host_values()) {}
  MergePoint(const MergePoint&) = delete;
  MergePoint& operator=(const MergePoint&) = delete;

  StrategyCore& core() { return core_; }
  /// On a replica: returns when the merge that `request` asks for has been executed.
  /// Throws: ReplicaCancelled when the run has failed; MergeMismatchError (kMergeUnnamed).
  virtual void meet(int replica, MergeRequest& request) = 0;
  /// On a replica: announces an access to a variable. Throws: ReplicaCancelled, as above.
  virtual void touch(int replica, OperationKind kind, const VariableInfo& variable,
                     CallSite site) = 0;
  /// On a replica: the state of the variable that all replicas ask for here, made by `make` on
  /// replica 0 (SEM-48). Throws: VariableMismatchError, exceptions of `make`, and as `meet`.
  virtual std::shared_ptr<void> make_variable(int replica, const VariableRequest& request,
                                              FunctionRef<std::shared_ptr<void>()> make) = 0;

  /// The merge at which the replica waits, or that it leaves; null if there is none.
  virtual const MergeRequest* request_of(int /*replica*/) const { return nullptr; }

  /// Whether the log records the host values of replicas (SEM-77).
  bool notes() const { return notes_; }
  /// On a replica: tells the log the replica's present host values, if the log records them.
  template <class... T>
  void note([[maybe_unused]] int replica, const T&... values) {
    // Most merges have no values, and skip the test as well.
    if constexpr (sizeof...(values) > 0) {
      if (notes_) [[unlikely]] {
        note_host_values(core_, {AgentId::Kind::kReplica, replica - core_.first_replica()},
                         values...);
      }
    }
  }

  /// The members of the group that meets here; null: all replicas.
  virtual const Participants* group() const { return nullptr; }
  /// The meeting point of all replicas.
  virtual MergePoint& whole() { return *this; }

  /// Whether its replica is current where this thread has entered no context.
  virtual bool is_default() const { return false; }

 protected:
  ~MergePoint() = default;
  /// Throws: ContextError (kMergeNested) unless `replica` of this merge point is current.
  void require_current(int replica, const MergeRequest& request) const;

 private:
  StrategyCore& core_;
  bool notes_;
};

}  // namespace belfry::detail
