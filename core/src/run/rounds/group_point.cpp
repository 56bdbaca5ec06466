// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/group_point.h"

#include "belfry/error.h"

#include <string>
#include <utility>

namespace belfry::detail {

std::string text_of_group(const Participants& members) {
  std::string text = "group {";
  for (int i = 0; i < members.count(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(members.id(i));
  }
  return text + "}";
}

std::string group_text(const MergeRequest& request) {
  return request.group == nullptr ? std::string() : " of " + text_of_group(*request.group);
}

void GroupPoint::meet(int replica, MergeRequest& request) {
  const MergeKind kind = request.type->kind;
  if (kind == MergeKind::kAssign || kind == MergeKind::kScatter) {
    ErrorReport report;
    report.code = ErrorCode::kUnsupported;
    report.summary =
        (request.type->describe == nullptr ? name_of(request) : request.type->describe(request)) +
        " through the context of " + text_of_group(members_);
    report.site = request.site;
    report.replicas.push_back({replica, request.site, "asked for it", {}});
    report.expected = "a change of a mirrored variable by all replicas";
    report.hint = "combine the values in the group, and assign with the context of the replica";
    throw UnsupportedError(std::move(report));
  }
  request.group = &members_;
  whole_.meet(replica, request);
}

}  // namespace belfry::detail
