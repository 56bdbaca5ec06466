// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/file_source.h"

#include "belfry/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace belfry::detail {
namespace {

[[noreturn]] void unreadable(const std::string& path, int reason, CallSite site) {
  const char* why = reason != 0 ? std::strerror(reason) : "it cannot be opened or read";
  throw InvalidArgumentError(ErrorCode::kFileFormat, "cannot read " + path + ": " + why,
                             "check the path and the permissions", site);
}

}  // namespace

std::ifstream open_file(const std::string& path, CallSite site) {
  if (path.find('\0') != std::string::npos) unreadable(path, EINVAL, site);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) unreadable(path, errno, site);
  errno = 0;
  in.peek();
  if (errno != 0) unreadable(path, errno, site);  // A folder opens, but cannot be read.
  in.clear();
  return in;
}

void read_up_to(std::size_t bytes, std::istream& in, const std::string& name, std::string& contents,
                CallSite site) {
  // Memory grows with the bytes that are read, not with the bytes that are asked for.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  while (bytes > 0) {
    const std::size_t begin = contents.size();
    const std::size_t piece = std::min(kPiece, bytes);
    contents.resize(begin + piece);
    errno = 0;
    in.read(contents.data() + begin, static_cast<std::streamsize>(piece));
    const auto got = static_cast<std::size_t>(in.gcount());
    contents.resize(begin + got);
    if (in.bad()) unreadable(name, errno, site);
    if (got < piece) return;
    bytes -= piece;
  }
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 20)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > 20 ? out + "..." : out;
}

}  // namespace belfry::detail
