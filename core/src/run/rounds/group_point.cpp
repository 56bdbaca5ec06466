// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/group_point.h"

#include "belfry/error.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace belfry::detail {
namespace {

// Every merge of a group has a name in the log: few groups need more than one allocation.
std::string text_behind(std::string_view before, const Participants& members) {
  std::string text;
  text.reserve(64);
  text += before;
  text += "group {";
  for (int i = 0; i < members.count(); ++i) {
    if (i > 0) text += ", ";
    const fmt::format_int id(members.id(i));
    text.append(id.data(), id.size());
  }
  text += '}';
  return text;
}

}  // namespace

std::string text_of_group(const Participants& members) { return text_behind("", members); }

std::string group_text(const MergeRequest& request) {
  return request.group == nullptr ? std::string() : text_behind(" of ", *request.group);
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
