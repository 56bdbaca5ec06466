// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/group_point.h"

#include "belfry/error.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

namespace belfry::detail {
namespace {

// Room for the name of a merge of some members. Every merge of a group has a name in the log.
constexpr std::size_t kNameSize = 64;

void append_group(std::string& text, const Participants& members) {
  text += "group {";
  for (int i = 0; i < members.count(); ++i) {
    if (i > 0) text.append(", ", 2);
    const fmt::format_int id(members.id(i));
    text.append(id.data(), id.size());
  }
  text += '}';
}

}  // namespace

std::string text_of_group(const Participants& members) {
  std::string text;
  append_group(text, members);
  return text;
}

std::string group_text(const MergeRequest& request) {
  return request.group == nullptr ? std::string() : " of " + text_of_group(*request.group);
}

std::string name_of(const MergeRequest& request) {
  std::string name;
  name.reserve(kNameSize);
  name += to_string(request.type->kind);
  if (request.tag != nullptr) name += text_of(request.tag);
  if (request.group == nullptr) return name;
  name += " of ";
  append_group(name, *request.group);
  return name;
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
