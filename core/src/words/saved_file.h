// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace belfry::detail {

/// The calls of the operating system during a save. Each call has the meaning, the result and the
/// `errno` of the POSIX function in the initialiser. A test replaces some calls.
struct FileCalls {
  std::function<int(int, const char*, int, mode_t)> open = [](int folder, const char* name,
                                                              int flags, mode_t mode) {
    return ::openat(folder, name, flags, mode);
  };
  std::function<ssize_t(int, const char*, char*, std::size_t)> read_link =
      [](int folder, const char* name, char* target, std::size_t size) {
        return ::readlinkat(folder, name, target, size);
      };
  std::function<int(int, const char*, struct stat*)> status = [](int folder, const char* name,
                                                                 struct stat* found) {
    return ::fstatat(folder, name, found, AT_SYMLINK_NOFOLLOW);
  };
  std::function<int(int, const char*)> may_write = [](int folder, const char* name) {
    return ::faccessat(folder, name, W_OK, AT_EACCESS);
  };
  std::function<ssize_t(int, const char*, std::size_t)> write =
      [](int file, const char* bytes, std::size_t size) { return ::write(file, bytes, size); };
  std::function<int(int, uid_t, gid_t)> change_owner = [](int file, uid_t owner, gid_t group) {
    return ::fchown(file, owner, group);
  };
  std::function<int(int, mode_t)> change_mode = [](int file, mode_t mode) {
    return ::fchmod(file, mode);
  };
  std::function<int(int)> sync = [](int file) { return ::fsync(file); };
  std::function<int(int)> close = [](int file) { return ::close(file); };
  std::function<int(int, const char*, const char*)> rename = [](int folder, const char* from,
                                                                const char* to) {
    return ::renameat(folder, from, folder, to);
  };
  std::function<int(int, const char*)> remove = [](int folder, const char* name) {
    return ::unlinkat(folder, name, 0);
  };
};

/// Saves the pieces, joined, as the file at `path` (SEM-138). A reader of the path finds the old
/// contents or the new contents, whole. Symbolic links are followed. Mode and, if the system
/// permits, owner and group of an existing file are kept.
/// Throws: InvalidArgumentError (kFile) with the failed call and the reason. The path has the old
/// contents then and no new file is left, except after a failed sync of the folder: the path has
/// the new contents then.
void save_file(const std::filesystem::path& path, std::span<const std::string_view> pieces,
               CallSite site, const FileCalls& calls = {});

}  // namespace belfry::detail
