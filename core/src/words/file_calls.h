// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Appends the names in a folder. Returns -1 and sets `errno` if a call fails.
int list_folder(int folder, std::vector<std::string>& names);

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
  /// The status of a name in a folder; with an empty name, of an open file or folder.
  std::function<int(int, const char*, struct stat*)> status = [](int folder, const char* name,
                                                                 struct stat* found) {
    return ::fstatat(folder, name, found, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
  };
  std::function<int(int, const char*)> may_write = [](int folder, const char* name) {
    return ::faccessat(folder, name, W_OK, AT_EACCESS);
  };
  std::function<int(int, std::vector<std::string>&)> list = list_folder;
  /// Locks a file, without a wait. The lock ends with the open file.
  std::function<int(int)> lock = [](int file) { return ::flock(file, LOCK_EX | LOCK_NB); };
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

/// An open file or folder, closed by the destructor.
class Descriptor {
 public:
  explicit Descriptor(const FileCalls& calls) : calls_(calls) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  void own(int number) {
    close();
    number_ = number;
  }
  void close() {
    const int number = std::exchange(number_, -1);
    if (number >= 0) calls_.close(number);
  }

 private:
  const FileCalls& calls_;
  int number_ = -1;
};

/// Repeats a call while signals interrupt the call.
template <class F>
auto uninterrupted(const F& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace belfry::detail
