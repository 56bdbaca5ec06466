// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "words/file_source.h"

#include "belfry/error.h"

#include <cerrno>
#include <cstring>
#include <string_view>

namespace belfry::detail {
namespace {

[[noreturn]] void unreadable(const std::string& path, int reason, CallSite site) {
  const char* why = reason != 0 ? std::strerror(reason) : "it cannot be opened";
  throw InvalidArgumentError(ErrorCode::kFileFormat, "cannot read " + path + ": " + why,
                             "check the path and the permissions", site);
}

}  // namespace

std::ifstream open_file(const std::string& path, CallSite site) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) unreadable(path, errno, site);
  errno = 0;
  in.peek();
  if (errno != 0) unreadable(path, errno, site);  // A folder opens, but cannot be read.
  in.clear();
  return in;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 20)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > 20 ? out + "..." : out;
}

}  // namespace belfry::detail
