// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "words/saved_file.h"

#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "words/stopping_calls_test.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace belfry::detail::saved_file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void save(const fs::path& path, std::string_view contents, const FileCalls& calls = {}) {
  const std::string_view pieces[] = {contents};
  save_file(path, pieces, CallSite::here(), calls);
}

// The message of a refused save.
std::string refusal_of(const fs::path& path, const FileCalls& calls = {}) {
  try {
    save(path, "new", calls);
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_FALSE(error.report().hint.empty());
    EXPECT_NE(*error.report().site.file, '\0');
    return error.report().summary;
  }
  return "saved";
}

mode_t mode_of(const fs::path& path) {
  struct stat found{};
  EXPECT_EQ(::stat(path.c_str(), &found), 0);
  return found.st_mode & 07777;
}

TEST(SavedFile, HasThePiecesOneAfterAnother) {
  const TemporaryFolder folder;
  const std::string_view pieces[] = {"one", "", "two"};
  save_file(folder / "a", pieces, CallSite::here());
  EXPECT_EQ(folder.text("a"), "onetwo");
  save(folder / "a", "3");
  EXPECT_EQ(folder.text("a"), "3");
  save(folder / "a", "");
  EXPECT_EQ(folder.text("a"), "");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(SavedFile, IsFoundFromTheCurrentFolder) {
  const TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder / "");
  save("a", "plain");
  save("./b", "dotted");
  fs::current_path(before);
  EXPECT_EQ(folder.text("a"), "plain");
  EXPECT_EQ(folder.text("b"), "dotted");
}

// The first names of new files belong to a living writer, to links and to a folder.
TEST(SavedFile, LeavesItsNeighboursAlone) {
  const TemporaryFolder folder;
  const std::string taken = ".copy.belfry-part-";
  folder.file("a.part", "precious");
  folder.file("important", "precious");
  const int writer = ::open(folder.file(taken + "0", "precious").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(writer, LOCK_EX), 0);
  fs::create_symlink("important", folder / (taken + "1"));
  fs::create_symlink("nowhere", folder / (taken + "2"));
  fs::create_directory(folder / (taken + "3"));
  folder.file(".other.belfry-part-0", "precious");
  const std::vector<std::string> before = folder.names();
  save(folder / "copy", "new");
  fs::remove(folder / "copy");
  EXPECT_EQ(folder.names(), before);
  for (const std::string& name : {std::string("a.part"), std::string("important"), taken + "0"}) {
    EXPECT_EQ(folder.text(name), "precious") << name;
  }
  ::close(writer);
}

TEST(SavedFile, IsLockedWhileItIsWritten) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  const std::string part = folder / ".a.belfry-part-0";
  FileCalls calls;
  const auto expect_lock = [&] {
    const int file = ::open(part.c_str(), O_RDONLY);
    ASSERT_GE(file, 0);
    EXPECT_EQ(::flock(file, LOCK_EX | LOCK_NB), -1);
    ::close(file);
    save(folder / "a", "by another");
  };
  calls.sync = [&](int file) {
    if (fs::exists(part)) expect_lock();
    return ::fsync(file);
  };
  calls.rename = [&](int at, const char* from, const char* to) {
    expect_lock();
    return ::renameat(at, from, at, to);
  };
  save(folder / "a", "new", calls);
  EXPECT_EQ(folder.text("a"), "new");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

// A writer takes a new file for a leftover, between the creation and the lock.
TEST(SavedFile, IsMadeAnewIfItIsTakenForALeftover) {
  const TemporaryFolder folder;
  int locks = 0;
  FileCalls calls;
  calls.lock = [&](int file) {
    if (locks++ == 0) fs::remove(folder / ".a.belfry-part-0");
    return ::flock(file, LOCK_EX | LOCK_NB);
  };
  save(folder / "a", "new", calls);
  EXPECT_EQ(folder.text("a"), "new");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

// The next save removes the new files of killed processes.
TEST(SavedFile, HasNoLeftoversOfKilledProcesses) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  folder.file(".a.belfry-part-1", "of a former one");
  folder.file(".a.belfry-part-2", "of a former one");
  bool was_killed = true;
  for (int number = 0; was_killed; ++number) {
    SCOPED_TRACE("call " + std::to_string(number));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      StoppingCalls stopping(number, [] { return ::raise(SIGKILL) != 0; });
      save(folder / "a", "killed", stopping.calls());
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    was_killed = WIFSIGNALED(status);
    save(folder / "a", "new");
    EXPECT_EQ(folder.text("a"), "new");
    EXPECT_THAT(folder.names(), ElementsAre("a"));
  }
}

TEST(SavedFile, FollowsSymbolicLinks) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "deep" / "er");
  save(folder / "deep" / "er" / "real", "old");
  fs::create_symlink("er/real", folder / "deep" / "inner");
  fs::create_symlink(folder / "deep" / "inner", folder / "outer");
  fs::create_directory_symlink("deep/er", folder / "door");
  save(folder / "outer", "through two links");
  EXPECT_EQ(folder.text("deep/er/real"), "through two links");
  save(folder / "door" / "real", "through a folder");
  EXPECT_EQ(folder.text("deep/er/real"), "through a folder");
  EXPECT_TRUE(fs::is_symlink(folder / "outer"));
  EXPECT_TRUE(fs::is_symlink(folder / "deep" / "inner"));
  EXPECT_THAT(folder.names(), ElementsAre("deep", "door", "outer"));
}

// The system follows 40 links, and is asked as well.
TEST(SavedFile, IsBehindAsManyLinksAsTheSystemFollows) {
  const TemporaryFolder folder;
  folder.file("0", "old");
  for (int link = 1; link <= 41; ++link) {
    fs::create_symlink(std::to_string(link - 1), folder / std::to_string(link));
  }
  EXPECT_TRUE(std::ifstream(folder / "40").is_open());
  EXPECT_FALSE(std::ifstream(folder / "41").is_open());
  save(folder / "40", "new");
  EXPECT_EQ(folder.text("0"), "new");
  EXPECT_THAT(refusal_of(folder / "41"), HasSubstr("Too many levels of symbolic links"));
}

TEST(SavedFile, IsMadeAtTheTargetOfADanglingLink) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  fs::create_directory(folder / "real");
  fs::create_symlink("real/a", folder / "latest");
  save(folder / "latest", "new");
  EXPECT_EQ(folder.text("real/a"), "new");
  EXPECT_TRUE(fs::is_symlink(folder / "latest"));
}

TEST(SavedFile, KeepsItsOtherNamesContents) {
  const TemporaryFolder folder;
  folder.file("a", "old");
  fs::create_hard_link(folder / "a", folder / "b");
  save(folder / "a", "new");
  EXPECT_EQ(folder.text("a"), "new");
  EXPECT_EQ(folder.text("b"), "old");
}

TEST(SavedFile, TakesThePlaceOfRegularFilesAlone) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  fs::create_directory(folder / "folder");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string socket_path = folder / "socket";
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, socket_path.c_str());
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  fs::create_symlink("pipe", folder / "link");
  const std::vector<std::string> before = folder.names();
  EXPECT_THAT(refusal_of(folder / "folder"), HasSubstr("it is a folder, not a regular file"));
  EXPECT_THAT(refusal_of(folder / "pipe"), HasSubstr("it is a pipe"));
  EXPECT_THAT(refusal_of(folder / "link"), HasSubstr("it is a pipe"));
  EXPECT_THAT(refusal_of(folder / "socket"), HasSubstr("it is a socket"));
  EXPECT_EQ(folder.names(), before);
  EXPECT_TRUE(fs::is_directory(folder / "folder"));
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
  EXPECT_TRUE(fs::is_socket(folder / "socket"));
  ::close(socket);
}

// Making a device needs privileges: instead, the reported status of a file names a device.
TEST(SavedFile, TakesThePlaceOfNoDevice) {
  const TemporaryFolder folder;
  folder.file("device", "old");
  for (const mode_t kind : {S_IFCHR, S_IFBLK}) {
    FileCalls calls;
    calls.status = [&](int at, const char* name, struct stat* found) {
      const int result = ::fstatat(at, name, found, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
      found->st_mode = (found->st_mode & ~static_cast<mode_t>(S_IFMT)) | kind;
      return result;
    };
    EXPECT_THAT(refusal_of(folder / "device", calls), HasSubstr("it is a device"));
  }
  EXPECT_EQ(folder.text("device"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("device"));
}

TEST(SavedFile, IsRefusedWithoutAName) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "folder");
  folder.file("file", "old");
  fs::create_symlink("folder/", folder / "to_folder");
  fs::create_symlink("loop", folder / "loop");
  const std::vector<std::string> before = folder.names();
  EXPECT_THAT(refusal_of(""), HasSubstr("it names no file"));
  EXPECT_THAT(refusal_of("."), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal_of(".."), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal_of("/"), HasSubstr("it names no file"));
  EXPECT_THAT(refusal_of(folder / "folder" / ""), HasSubstr("it names no file"));
  EXPECT_THAT(refusal_of(folder / "new" / ""), HasSubstr("it names no file"));
  EXPECT_THAT(refusal_of(folder / "file" / ""), HasSubstr("it names no file"));
  EXPECT_THAT(refusal_of(folder / "file" / "."), HasSubstr("Not a directory"));
  EXPECT_THAT(refusal_of(folder / "to_folder"), HasSubstr("it names no file"));
  EXPECT_THAT(refusal_of(folder / "loop"), HasSubstr("Too many levels of symbolic links"));
  EXPECT_THAT(refusal_of(folder / "missing" / "a"), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal_of(folder / "file" / "a"), HasSubstr("Not a directory"));
  EXPECT_THAT(refusal_of(folder / std::string(256, 'n')), HasSubstr("File name too long"));
  EXPECT_THAT(refusal_of(folder / std::string("file\0more", 9)), HasSubstr("a zero byte"));
  EXPECT_EQ(folder.names(), before);
  EXPECT_EQ(folder.text("file"), "old");
}

TEST(SavedFile, KeepsItsMode) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  save(folder / "a", "new");
  EXPECT_EQ(mode_of(folder / "a"), 0640U);
  for (const mode_t mode : {0600U, 0666U, 0755U, 0604U, 04711U}) {
    ASSERT_EQ(::chmod((folder / "a").c_str(), mode), 0);
    save(folder / "a", "newer");
    EXPECT_EQ(mode_of(folder / "a"), mode);
  }
  ::umask(before);
}

// The contents may be secret: no other user may read the new file before the mode is set.
TEST(SavedFile, IsPrivateUntilItHasItsMode) {
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.file("a", "old").c_str(), 0644), 0);
  mode_t written = 07777;
  FileCalls calls;
  calls.write = [&](int file, const char* bytes, std::size_t size) {
    struct stat found{};
    EXPECT_EQ(::fstat(file, &found), 0);
    written = found.st_mode & 07777;
    return ::write(file, bytes, size);
  };
  save(folder / "a", "new", calls);
  EXPECT_EQ(written, 0600U);
  EXPECT_EQ(mode_of(folder / "a"), 0644U);
}

// A save of another user's file. `permits` is the answer of the system to a change of owner.
struct Owned {
  std::vector<std::string> asked{};
  mode_t mode = 0;

  Owned(const fs::path& path, const std::function<bool(uid_t)>& permits) {
    FileCalls calls;
    calls.status = [&](int at, const char* name, struct stat* found) {
      const int result = ::fstatat(at, name, found, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
      if (path.filename() == name) {
        found->st_uid = 7001;
        found->st_gid = 7002;
      }
      return result;
    };
    calls.change_owner = [&](int, uid_t owner, gid_t group) {
      const bool keeps = owner == static_cast<uid_t>(-1);
      asked.push_back((keeps ? "-" : std::to_string(owner)) + ":" + std::to_string(group));
      errno = EPERM;
      return permits(owner) ? 0 : -1;
    };
    save(path, "new", calls);
    mode = mode_of(path);
  }
};

TEST(SavedFile, KeepsItsOwnerIfTheSystemPermits) {
  const TemporaryFolder folder;
  const auto fresh = [&] {
    EXPECT_EQ(::chmod(folder.file("a", "old").c_str(), 06755), 0);
    return folder / "a";
  };
  const Owned both(fresh(), [](uid_t) { return true; });
  EXPECT_THAT(both.asked, ElementsAre("7001:7002"));
  EXPECT_EQ(both.mode, 06755U);
  const Owned group(fresh(), [](uid_t owner) { return owner == static_cast<uid_t>(-1); });
  EXPECT_THAT(group.asked, ElementsAre("7001:7002", "-:7002"));
  EXPECT_EQ(group.mode, 02755U);
  const Owned none(fresh(), [](uid_t) { return false; });
  EXPECT_THAT(none.asked, ElementsAre("7001:7002", "-:7002"));
  EXPECT_EQ(none.mode, 0755U);
}

TEST(SavedFile, IsRefusedIfTheOldOneMayNotBeWritten) {
  const TemporaryFolder folder;
  folder.file("a", "old");
  FileCalls calls;
  calls.may_write = [](int, const char*) {
    errno = EACCES;
    return -1;
  };
  EXPECT_THAT(refusal_of(folder / "a", calls), HasSubstr("access: Permission denied"));
  EXPECT_EQ(folder.text("a"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

std::size_t open_files() {
  const fs::directory_iterator open("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(open), end(open)));
}

TEST(SavedFile, IsMadeInTheOrderThatLosesNothing) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  folder.file("a", "old");
  StoppingCalls none(-1, {});
  save(folder / "a", "new", none.calls());
  EXPECT_THAT(none.made(),
              ElementsAre("open", "readlink", "stat", "access", "open", "flock", "stat", "open",
                          "write", "stat", "fchmod", "fsync", "rename", "fsync", "close", "close"));
}

// Each call fails in turn. The old file stays, except for the sync of the folder, after the rename.
TEST(SavedFile, IsAsBeforeIfAnyCallFails) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  // A close after a sync can lose no data. Without a lock, and without a look at the names of
  // killed writers, a file is saved all the same.
  const std::set<std::string> harmless{"close 0", "close 1", "flock 0", "open 2", "stat 1"};
  for (int number = 0;; ++number) {
    folder.file("a", "old");
    const std::size_t open_before = open_files();
    StoppingCalls stopping(number, [] { return true; });
    const std::string message = refusal_of(folder / "a", stopping.calls());
    if (!stopping.has_stopped()) break;
    const auto failed = stopping.made().begin() + number;
    const std::string where =
        *failed + " " + std::to_string(std::count(stopping.made().begin(), failed, *failed));
    EXPECT_EQ(open_files(), open_before) << where;
    EXPECT_THAT(folder.names(), ElementsAre("a")) << where;
    if (harmless.contains(where)) {
      EXPECT_EQ(message, "saved") << where;
      continue;
    }
    EXPECT_THAT(message, HasSubstr(*failed)) << where;
    EXPECT_THAT(message, HasSubstr("No space left on device")) << where;
    EXPECT_EQ(folder.text("a"), where == "fsync 1" ? "new" : "old") << where;
  }
}

// A failed removal of the new file does not change the report.
TEST(SavedFile, ReportsTheFirstFailure) {
  const TemporaryFolder folder;
  FileCalls calls;
  calls.write = [](int, const char*, std::size_t) -> ssize_t {
    errno = EIO;
    return -1;
  };
  calls.remove = [](int, const char*) {
    errno = EROFS;
    return -1;
  };
  EXPECT_THAT(refusal_of(folder / "a", calls), HasSubstr("write: Input/output error"));
}

// File systems without a sync of folders call the folder an invalid argument.
TEST(SavedFile, NeedsNoSyncOfAFolderThatHasNone) {
  const TemporaryFolder folder;
  const auto with_invalid_sync = [](int number) {
    FileCalls calls;
    calls.sync = [number](int file) mutable {
      if (number-- != 0) return ::fsync(file);
      errno = EINVAL;
      return -1;
    };
    return calls;
  };
  save(folder / "a", "new", with_invalid_sync(1));
  EXPECT_EQ(folder.text("a"), "new");
  EXPECT_THAT(refusal_of(folder / "a", with_invalid_sync(0)), HasSubstr("fsync: Invalid argument"));
}

TEST(SavedFile, IsWholeAfterShortWritesAndSignals) {
  const TemporaryFolder folder;
  int calls_made = 0;
  FileCalls calls;
  calls.write = [&](int file, const char* bytes, std::size_t size) -> ssize_t {
    if (calls_made++ % 2 == 0) {
      errno = EINTR;
      return -1;
    }
    return ::write(file, bytes, std::min<std::size_t>(size, 2));
  };
  int syncs = 0;
  calls.sync = [&](int file) {
    if (syncs++ % 2 == 1) return ::fsync(file);
    errno = EINTR;
    return -1;
  };
  save(folder / "a", "abcde", calls);
  EXPECT_EQ(folder.text("a"), "abcde");
  EXPECT_EQ(calls_made, 6);
  EXPECT_EQ(syncs, 4);
}

TEST(SavedFile, FailsIfNothingIsTaken) {
  const TemporaryFolder folder;
  FileCalls calls;
  calls.write = [](int, const char*, std::size_t) -> ssize_t { return 0; };
  EXPECT_THAT(refusal_of(folder / "a", calls), HasSubstr("write: Input/output error"));
  EXPECT_TRUE(folder.names().empty());
}

// A limit of the system on the size of files, in a separate process.
TEST(SavedFile, IsAsBeforeIfTheSystemHasNoRoom) {
  const TemporaryFolder folder;
  folder.file("a", "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    int status = ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      save(folder / "a", std::string(5000, 'n'));
      status |= 2;
    } catch (const Error& error) {
      const std::string what = error.what();
      if (error.code() != ErrorCode::kFile) status |= 4;
      if (what.find("write: File too large") == std::string::npos) status |= 8;
    }
    ::_exit(status);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(folder.text("a"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

}  // namespace
}  // namespace belfry::detail::saved_file_test
