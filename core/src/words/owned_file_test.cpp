// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "words/owned_file.h"

#include "belfry/error.h"
#include "belfry/testing/asserts.h"
#include "words/stopping_calls_test.h"
#include "words/temporary_folder_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace belfry::detail::owned_file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The end of an exchange in a process after all processes have given the process up.
struct GivenUp : std::runtime_error {
  GivenUp() : std::runtime_error("given up") {}
};

// A job saves and restores a file. `meet` is the exchange with the processes of the job, and throws
// in a process that was given up.
struct Job {
  std::string id;
  FileOwners owners{};
  std::function<void()> meet = [] {};

  // Returns "saved", "given up", or the message of a refusal.
  std::string save(const fs::path& path, std::string_view contents, const FileCalls& calls = {}) {
    try {
      while (true) {
        OwnedSave save(path, owners, CallSite::here(), id, calls);
        meet();
        save.begin();
        save.add(contents);
        if (save.finish()) return "saved";
      }
    } catch (const GivenUp&) {
      return "given up";
    } catch (const InvalidArgumentError& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFile);
      EXPECT_FALSE(error.report().hint.empty());
      return error.report().summary;
    }
  }
};

std::string owner_file(const std::string& id) { return ".a.belfry-owner-" + id; }

TEST(OwnedFile, HasAFileOfItsOwnerBesideIt) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  Job job{"one"};
  EXPECT_EQ(job.save(folder / "a", "1"), "saved");
  EXPECT_EQ(job.save(folder / "a", "2"), "saved");
  EXPECT_EQ(folder.text("a"), "2");
  EXPECT_THAT(folder.names(), ElementsAre(owner_file("one"), "a"));
  Job next{"two"};
  EXPECT_EQ(next.save(folder / "a", "3"), "saved");
  EXPECT_THAT(folder.names(), ElementsAre(owner_file("two"), "a"));
}

TEST(OwnedFile, OfAProcessHasAnIdOfItsOwn) {
  const std::string id = owner_id();
  EXPECT_EQ(owner_id(), id);
  EXPECT_THAT(id, HasSubstr("-" + std::to_string(::getpid()) + "-"));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(::write(ends[1], owner_id().c_str(), owner_id().size()) > 0 ? 0 : 1);
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::string other(id.size() + 20, '\0');
  other.resize(static_cast<std::size_t>(::read(ends[0], other.data(), other.size())));
  EXPECT_NE(other, id);
  ::close(ends[0]);
  ::close(ends[1]);
}

// Both jobs live. The first job is told of the second, and goes on after a restore.
TEST(OwnedFile, IsNotTakenBack) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  Job first{"host-7-aa"};
  Job second{"host-8-bb"};
  EXPECT_EQ(first.save(folder / "a", "1"), "saved");
  EXPECT_EQ(second.save(folder / "a", "30"), "saved");
  FileCalls calls;
  calls.open = [](int at, const char* name, int flags, mode_t mode) {
    EXPECT_EQ(std::string(name).find("owner-"), std::string::npos);  // Refused before a change.
    return ::openat(at, name, flags, mode);
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(first.save(folder / "a", "2", calls),
                HasSubstr("another job has saved to it: host-8-bb"));
  }
  EXPECT_EQ(folder.text("a"), "30");
  EXPECT_EQ(second.save(folder / "a", "31"), "saved");
  meet_owners(folder / "a", first.owners, first.id);
  EXPECT_EQ(first.save(folder / "a", "32"), "saved");
  EXPECT_THAT(second.save(folder / "a", "33"), HasSubstr("host-7-aa"));
  EXPECT_THAT(folder.names(), ElementsAre(owner_file(first.id), "a"));
}

// Two jobs save for the first time at the same time.
TEST(OwnedFile, IsNotSavedByTwoJobsAtOnce) {
  const TemporaryFolder folder;
  Job job{"job"};
  int lists = 0;
  FileCalls calls;
  calls.list = [&](int at, std::vector<std::string>& names) {
    if (lists++ == 1) folder.file(owner_file("second"), "");
    return list_folder(at, names);
  };
  EXPECT_THAT(job.save(folder / "a", "1", calls), HasSubstr("another job has saved to it: second"));
  EXPECT_THAT(folder.names(), ElementsAre(owner_file("second")));
}

// The first job restores, and saves after the second job has saved.
TEST(OwnedFile, IsNotTakenBackAfterARestore) {
  const TemporaryFolder folder;
  Job first{"first"};
  Job second{"second"};
  folder.file("a", "0");
  meet_owners(folder / "a", first.owners, first.id);
  EXPECT_EQ(second.save(folder / "a", "30"), "saved");
  EXPECT_THAT(first.save(folder / "a", "1"), HasSubstr("second"));
  EXPECT_EQ(folder.text("a"), "30");
}

// An evaluation reads the files of a training.
TEST(OwnedFile, IsNotTakenByRestores) {
  const TemporaryFolder folder;
  Job training{"training"};
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(training.save(folder / "a", std::to_string(step)), "saved");
    Job evaluation{"evaluation" + std::to_string(step)};
    for (int i = 0; i < 2; ++i) meet_owners(folder / "a", evaluation.owners, evaluation.id);
  }
  EXPECT_THAT(folder.names(), ElementsAre(owner_file("training"), "a"));
}

TEST(OwnedFile, MayLoseItsOwnerFile) {
  const TemporaryFolder folder;
  Job job{"one"};
  EXPECT_EQ(job.save(folder / "a", "1"), "saved");
  fs::remove(folder / owner_file("one"));
  EXPECT_EQ(job.save(folder / "a", "2"), "saved");
  fs::remove(folder / "a");
  EXPECT_EQ(job.save(folder / "a", "3"), "saved");
  EXPECT_EQ(folder.text("a"), "3");
}

TEST(OwnedFile, IsToldApartByItsName) {
  const TemporaryFolder folder;
  const std::string name(255, 'n');
  const std::string other = name.substr(0, 254) + 'o';
  Job first{"first"};
  Job second{"second"};
  EXPECT_EQ(first.save(folder / name, "1"), "saved");
  EXPECT_EQ(second.save(folder / other, "2"), "saved");
  EXPECT_EQ(first.save(folder / name, "3"), "saved");
  EXPECT_EQ(folder.text(name), "3");
  EXPECT_EQ(folder.text(other), "2");
  EXPECT_EQ(folder.names().size(), 4U);
}

// The actions of the next job.
enum class Next : std::uint8_t { kSaves, kRestores, kRestoresAndSaves };

// Stops a save of `old` before each call of the system in turn. Meanwhile the next job begins. The
// old job goes on afterwards, and the next job saves once more.
void overtake(const TemporaryFolder& folder, bool is_group, bool is_first_save, Next what) {
  int number = 0;
  for (bool has_stopped = true; has_stopped; ++number) {
    SCOPED_TRACE("call " + std::to_string(number));
    for (const std::string& name : folder.names()) fs::remove(folder / name);
    folder.file("a", "0");
    Job old{"old"};
    if (!is_first_save) {
      ASSERT_EQ(old.save(folder / "a", "1"), "saved");
    }
    Job next{"next"};
    std::string restored;
    bool has_next = false;
    const auto begin_next = [&] {
      has_next = true;
      if (what != Next::kSaves) meet_owners(folder / "a", next.owners, next.id);
      restored = folder.text("a");
      if (what != Next::kRestores) {
        EXPECT_EQ(next.save(folder / "a", "30"), "saved");
      }
      return false;
    };
    if (is_group) {
      old.meet = [&] {
        if (has_next) throw GivenUp();
      };
    }
    StoppingCalls stopping(number, begin_next);
    old.save(folder / "a", "2", stopping.calls());
    has_stopped = stopping.has_stopped();
    if (!has_stopped) break;
    EXPECT_EQ(folder.text("a"), what == Next::kRestores ? restored : "30");
    EXPECT_EQ(next.save(folder / "a", "31"), "saved");
    EXPECT_EQ(folder.text("a"), "31");
    EXPECT_THAT(folder.names(), ElementsAre(owner_file("next"), "a"));
  }
  EXPECT_GT(number, 15);
}

// The old process is given up by the processes of its job.
TEST(OwnedFile, IsNotReplacedByAProcessThatWasGivenUp) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  for (const Next what : {Next::kSaves, Next::kRestores, Next::kRestoresAndSaves}) {
    for (const bool is_first_save : {true, false}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(what)) + (is_first_save ? " first" : " later"));
      overtake(folder, true, is_first_save, what);
    }
  }
}

// The old job has a single process, and no exchange tells of the end.
TEST(OwnedFile, IsNotReplacedByAJobThatWasOvertaken) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  for (const Next what : {Next::kSaves, Next::kRestoresAndSaves}) {
    SCOPED_TRACE(static_cast<int>(what));
    overtake(folder, false, false, what);
  }
}

// A save in another process, which is killed before call `number` of the system.
pid_t save_in_child(const fs::path& path, Job& job, int number) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  StoppingCalls stopping(number, [] { return ::raise(SIGKILL) != 0; });
  job.save(path, "2", stopping.calls());
  ::_exit(0);
}

int status_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// The next save, of any job, removes the new file of a killed process.
TEST(OwnedFile, HasNoLeftoversOfKilledJobs) {
  testing::asserts("SEM-138");
  const TemporaryFolder folder;
  for (int number = 0;; ++number) {
    SCOPED_TRACE("call " + std::to_string(number));
    Job old{"old" + std::to_string(number)};
    const pid_t child = save_in_child(folder / "a", old, number);
    ASSERT_GT(child, 0);
    if (!WIFSIGNALED(status_of(child))) break;
    Job next{"next" + std::to_string(number)};
    meet_owners(folder / "a", next.owners, next.id);
    for (const std::string& name : folder.names()) EXPECT_THAT(name, Not(HasSubstr("part-")));
    EXPECT_EQ(next.save(folder / "a", "30"), "saved");
    EXPECT_THAT(folder.names(), ElementsAre(owner_file(next.id), "a"));
  }
}

// A restore of a second job removes the new file of a healthy job: the save begins again.
TEST(OwnedFile, IsSavedInSpiteOfRestores) {
  const TemporaryFolder folder;
  Job training{"training"};
  EXPECT_EQ(training.save(folder / "a", "1"), "saved");
  int restores = 0;
  FileCalls calls;
  calls.sync = [&](int file) {
    if (restores++ < 3) {
      Job evaluation{"evaluation" + std::to_string(restores)};
      meet_owners(folder / "a", evaluation.owners, evaluation.id);
    }
    return ::fsync(file);
  };
  EXPECT_EQ(training.save(folder / "a", "2", calls), "saved");
  EXPECT_EQ(restores, 5);  // Three in vain, then of the file and of the folder.
  EXPECT_EQ(folder.text("a"), "2");
}

// A folder without the permission to change names.
TEST(OwnedFile, CanBeRestoredWithoutPermissions) {
  const TemporaryFolder folder;
  folder.file(".a.belfry-part-other-0", "half");
  folder.file("a", "0");
  Job job{"job"};
  FileCalls calls;
  calls.remove = [](int, const char*) {
    errno = EROFS;
    return -1;
  };
  meet_owners(folder / "a", job.owners, job.id, calls);
  meet_owners(folder / "no" / "a", job.owners, job.id);
  EXPECT_THAT(job.save(folder / "a", "1", calls), HasSubstr("Read-only file system"));
  EXPECT_EQ(folder.text("a"), "0");
}

// Each call fails in turn: the file is old or new, and the next save succeeds.
TEST(OwnedFile, IsAsBeforeIfACallFails) {
  const TemporaryFolder folder;
  for (int number = 0;; ++number) {
    SCOPED_TRACE("call " + std::to_string(number));
    folder.file("a", "0");
    Job job{"job" + std::to_string(number)};
    StoppingCalls stopping(number, [] { return true; });
    job.save(folder / "a", "1", stopping.calls());
    if (!stopping.has_stopped()) break;
    EXPECT_THAT(folder.text("a"), ::testing::AnyOf("0", "1"));
    EXPECT_EQ(job.save(folder / "a", "2"), "saved");
    EXPECT_THAT(folder.names(), ElementsAre(owner_file(job.id), "a"));
  }
}

}  // namespace
}  // namespace belfry::detail::owned_file_test
