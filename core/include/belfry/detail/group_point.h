// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/call_site.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/merge_point.h"
#include "belfry/detail/merge_request.h"
#include "belfry/detail/participants.h"

#include <memory>
#include <string>
#include <utility>

namespace belfry::detail {

/// `group {0, 3}`.
std::string text_of_group(const Participants& members);
/// ` of group {0, 3}`; nothing for a merge of all replicas.
std::string group_text(const MergeRequest& request);

/// The meeting point of a group of replicas: marks requests with the members, and passes all on to
/// the meeting point of all replicas. Changes of mirrored variables need all replicas, and are
/// refused (SEM-274).
class GroupPoint final : public MergePoint {
 public:
  GroupPoint(MergePoint& whole, Participants members)
      : MergePoint(whole.core()), whole_(whole.whole()), members_(std::move(members)) {}

  /// Throws: UnsupportedError (kUnsupported) for a change of a mirrored variable.
  void meet(int replica, MergeRequest& request) override;
  void touch(int replica, OperationKind kind, const VariableInfo& variable,
             CallSite site) override {
    whole_.touch(replica, kind, variable, site);
  }
  std::shared_ptr<void> make_variable(int replica, const VariableRequest& request,
                                      FunctionRef<std::shared_ptr<void>()> make) override {
    return whole_.make_variable(replica, request, make);
  }
  const MergeRequest* request_of(int replica) const override { return whole_.request_of(replica); }
  const Participants* group() const override { return &members_; }
  MergePoint& whole() override { return whole_; }
  bool is_default() const override { return whole_.is_default(); }

 private:
  MergePoint& whole_;
  Participants members_;
};

}  // namespace belfry::detail
