// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/failure_json.h"

#include "belfry/detail/json.h"

#include <fmt/format.h>

namespace belfry::detail {
namespace {

std::string line_of(const CallSite& site) {
  return site.empty() ? std::string() : fmt::format("{}:{}", site.file, site.line);
}

}  // namespace

std::string failure_json(const ErrorReport& report) {
  std::string replicas;
  std::string lines;
  std::string parts;
  if (report.replicas.empty() && !report.site.empty()) lines = json_string(line_of(report.site));
  for (const ReplicaReport& replica : report.replicas) {
    const char* const gap = replicas.empty() ? "" : ",";
    replicas += gap + std::to_string(replica.replica_id);
    lines += gap + json_string(line_of(replica.site));
    parts += gap + json_string(replica.what);
  }
  return fmt::format(
      "{{\"code\":\"BF-{:03}\",\"text\":{},\"replicas\":[{}],\"lines\":[{}],\"parts\":[{}],"
      "\"hint\":{}}}",
      static_cast<int>(report.code), json_string(report.summary), replicas, lines, parts,
      json_string(report.hint));
}

}  // namespace belfry::detail
