// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/call_site.h"

#include <string_view>

namespace belfry {

bool same_place(const CallSite& a, const CallSite& b) noexcept {
  // Equal text at different addresses is common: every translation unit has its own literal.
  return a.line == b.line && (a.file == b.file || std::string_view(a.file) == b.file);
}

std::string to_string(const CallSite& site) {
  const std::string_view path = site.file;
  if (path.empty()) return "?";
  const std::size_t slash = path.find_last_of("/\\");
  std::string text(slash == std::string_view::npos ? path : path.substr(slash + 1));
  text += ':';
  text += std::to_string(site.line);
  return text;
}

}  // namespace belfry
