// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "words/saved_file.h"

#include <cerrno>
#include <cstddef>

// A save of `model` in steps, and what is in the folder if the process is killed after each:
//
//   create        `.model.belfry-part-0` beside the file, locked    the old file, and a part
//   add, complete writes, mode and owner of the old file, fsync     the old file, and the part
//   take_place    rename to `model`, fsync of the folder            the new file
//
// Invariant: `model` is the old file or the new file, whole. A part whose lock nobody holds belongs
// to a killed writer, and the next writer removes it. Two writers at once have parts 0 and 1.
namespace belfry::detail {
namespace {

constexpr int kMostNames = 100'000;
constexpr mode_t kModeBits = 07777;

}  // namespace

NewFile::NewFile(const FileTarget& target, const std::string& prefix)
    : target_(target), calls_(target.calls()), old_(target.existing()), file_(calls_) {
  const mode_t mode = old_ ? 0600 : 0666;
  for (int number = 0; number < kMostNames; ++number) {
    name_ = target.beside(prefix + std::to_string(number));
    if (!create(mode) && !(remove_leftover(target, name_) && create(mode))) continue;
    while (remove_leftover(target, target.beside(prefix + std::to_string(++number)))) {
    }
    return;
  }
  target_.fail("open of " + name_ + " beside it", EEXIST);
}

NewFile::~NewFile() {
  if (exists_) calls_.remove(target_.folder(), name_.c_str());
}

// Returns false if a second writer has the name, or has taken the file for a leftover before the
// lock.
bool NewFile::create(mode_t mode) {
  const int file = uninterrupted([&] {
    return calls_.open(target_.folder(), name_.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  });
  if (file < 0 && errno == EEXIST) return false;
  target_.require(file, "open of " + name_ + " beside it");
  file_.own(file);
  // File systems without locks fail in different ways.
  if (calls_.lock(file) != 0 && errno == EWOULDBLOCK) return false;
  struct stat made{};
  exists_ = calls_.status(file, "", &made) != 0 || made.st_nlink > 0;
  return exists_;
}

void NewFile::complete() {
  if (old_) keep_properties(*old_);
  target_.require(uninterrupted([&] { return calls_.sync(file_.number()); }), "fsync");
}

// The file is closed afterwards, as the lock ends with the open file. A close after a sync loses
// nothing.
bool NewFile::take_place() {
  const int result = calls_.rename(target_.folder(), name_.c_str(), target_.name().c_str());
  if (result < 0 && errno == ENOENT) return exists_ = false;
  target_.require(result, "rename");
  exists_ = false;
  sync_folder();
  return true;
}

void NewFile::add(std::string_view piece) {
  std::string_view rest = piece;
  while (!rest.empty()) {
    const ssize_t written =
        uninterrupted([&] { return calls_.write(file_.number(), rest.data(), rest.size()); });
    target_.require(written, "write");
    if (written == 0) target_.fail("write", EIO);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

// After the last write, because a write clears the bits that lend the owner's and the group's
// rights.
void NewFile::keep_properties(const struct stat& old) {
  struct stat made{};
  target_.require(calls_.status(file_.number(), "", &made), "stat");
  const auto no_owner = static_cast<uid_t>(-1);
  bool keeps_owner = made.st_uid == old.st_uid;
  bool keeps_group = made.st_gid == old.st_gid;
  if (!keeps_owner || !keeps_group) {
    const bool both = change_owner(old.st_uid, old.st_gid);
    keeps_owner = keeps_owner || both;
    keeps_group = keeps_group || both || change_owner(no_owner, old.st_gid);
  }
  mode_t mode = old.st_mode & kModeBits;
  if (!keeps_owner) mode &= ~static_cast<mode_t>(S_ISUID);
  if (!keeps_group) mode &= ~static_cast<mode_t>(S_ISGID);
  target_.require(uninterrupted([&] { return calls_.change_mode(file_.number(), mode); }),
                  "fchmod");
}

// Returns whether the system permits the change.
bool NewFile::change_owner(uid_t owner, gid_t group) const {
  const int result =
      uninterrupted([&] { return calls_.change_owner(file_.number(), owner, group); });
  if (result < 0 && (errno == EPERM || errno == EINVAL || errno == ENOTSUP)) return false;
  target_.require(result, "fchown");
  return true;
}

void NewFile::sync_folder() {
  const int result = uninterrupted([&] { return calls_.sync(target_.folder()); });
  // File systems without a sync of folders answer with this error.
  if (result == 0 || errno == EINVAL) return;
  target_.fail("fsync of its folder", errno,
               "the new file is in its place; if the machine stops now, the old one may come back");
}

void save_file(const std::filesystem::path& path, std::span<const std::string_view> pieces,
               CallSite site, const FileCalls& calls) {
  const FileTarget target(path, site, calls);
  NewFile file(target, "part-");
  for (const std::string_view piece : pieces) file.add(piece);
  file.complete();
  if (!file.take_place()) target.fail("rename", ENOENT);
}

}  // namespace belfry::detail
