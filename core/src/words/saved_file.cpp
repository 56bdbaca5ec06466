// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The contents are written to a new file in the folder of the target, under an unused name. The new
// file gets the mode of the old file, is synced and takes the target's name by a rename. The folder
// is opened first and all names are relative to the open folder: a move of the folder during the
// save makes no difference.
#include "words/saved_file.h"

#include "belfry/error.h"

#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace belfry::detail {
namespace {

constexpr int kMostLinks = 40;  // The kernel follows as many.
constexpr int kMostNames = 100'000;
constexpr mode_t kModeBits = 07777;

// An open file or folder, closed by the destructor.
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
  int close() {
    const int number = std::exchange(number_, -1);
    return number < 0 ? 0 : calls_.close(number);
  }

 private:
  const FileCalls& calls_;
  int number_ = -1;
};

// Repeats a call while signals interrupt the call.
template <class F>
auto uninterrupted(const F& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

class FileSaver {
 public:
  FileSaver(const std::filesystem::path& path, CallSite site, const FileCalls& calls)
      : path_(path), site_(site), calls_(calls), folder_(calls), file_(calls) {}

  void save(std::span<const std::string_view> pieces) {
    find_target();
    const std::optional<struct stat> old = old_file();
    create(old ? 0600 : 0666);
    try {
      for (const std::string_view piece : pieces) write(piece);
      if (old) keep_properties(*old);
      require(uninterrupted([&] { return calls_.sync(file_.number()); }), "fsync");
      require(file_.close(), "close");
      require(calls_.rename(folder_.number(), fresh_.c_str(), name_.c_str()), "rename");
    } catch (...) {
      calls_.remove(folder_.number(), fresh_.c_str());
      throw;
    }
    sync_folder();
  }

 private:
  // Follows the symbolic links and opens the folder of the target.
  void find_target() {
    if (path_.native().find('\0') != std::string::npos) refuse("its name has a zero byte");
    std::filesystem::path place = path_;
    for (int links = 0;; ++links) {
      name_ = place.filename().native();
      if (name_.empty()) refuse("it names no file");
      const std::filesystem::path parent = place.parent_path();
      const std::string folder = parent.empty() ? "." : parent.native();
      folder_.own(require(uninterrupted([&] {
                            return calls_.open(AT_FDCWD, folder.c_str(),
                                               O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
                          }),
                          "open of the folder " + folder));
      const std::optional<std::string> link = link_at_name();
      if (!link) return;
      if (links == kMostLinks) fail("readlink", ELOOP);
      // Joined as text: GCC 12's paths free a part twice if memory runs out during a join.
      place = link->starts_with('/') ? *link : folder + '/' + *link;
    }
  }

  std::optional<std::string> link_at_name() const {
    std::array<char, PATH_MAX> target{};
    const ssize_t size =
        calls_.read_link(folder_.number(), name_.c_str(), target.data(), target.size());
    if (size < 0 && (errno == EINVAL || errno == ENOENT)) return std::nullopt;
    require(size, "readlink");
    if (static_cast<std::size_t>(size) == target.size()) fail("readlink", ENAMETOOLONG);
    return std::string(target.data(), static_cast<std::size_t>(size));
  }

  std::optional<struct stat> old_file() const {
    struct stat found{};
    const int result = calls_.status(folder_.number(), name_.c_str(), &found);
    if (result < 0 && errno == ENOENT) return std::nullopt;
    require(result, "stat");
    if (!S_ISREG(found.st_mode)) {
      refuse(std::string("it is ") + kind_of(found.st_mode) + ", not a regular file");
    }
    // A rename checks the folder's permissions alone.
    require(calls_.may_write(folder_.number(), name_.c_str()), "access");
    return found;
  }

  void create(mode_t mode) {
    const std::string stem = ".belfry-" + std::to_string(::getpid()) + "-";
    for (int number = 0; number < kMostNames; ++number) {
      fresh_ = stem + std::to_string(number);
      const int file = uninterrupted([&] {
        return calls_.open(folder_.number(), fresh_.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
      });
      if (file >= 0) return file_.own(file);
      if (errno != EEXIST) break;
    }
    fail("open of " + fresh_ + " beside it", errno);
  }

  void write(std::string_view rest) {
    while (!rest.empty()) {
      const ssize_t written =
          uninterrupted([&] { return calls_.write(file_.number(), rest.data(), rest.size()); });
      require(written, "write");
      if (written == 0) fail("write", EIO);
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  // After the last write, because a write clears the bits that lend the owner's and the group's
  // rights.
  void keep_properties(const struct stat& old) {
    struct stat made{};
    require(calls_.status(folder_.number(), fresh_.c_str(), &made), "stat");
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
    require(uninterrupted([&] { return calls_.change_mode(file_.number(), mode); }), "fchmod");
  }

  // Returns whether the system permits the change.
  bool change_owner(uid_t owner, gid_t group) const {
    const int result =
        uninterrupted([&] { return calls_.change_owner(file_.number(), owner, group); });
    if (result < 0 && (errno == EPERM || errno == EINVAL || errno == ENOTSUP)) return false;
    require(result, "fchown");
    return true;
  }

  void sync_folder() {
    const int result = uninterrupted([&] { return calls_.sync(folder_.number()); });
    // File systems without a sync of folders answer with this error.
    if (result == 0 || errno == EINVAL) return;
    fail("fsync of its folder", errno,
         "the new file is in its place; if the machine stops now, the old one may come back");
  }

  template <class Result>
  Result require(Result result, const std::string& call) const {
    if (result < 0) fail(call, errno);
    return result;
  }

  [[noreturn]] void fail(const std::string& call, int reason,
                         const char* hint =
                             "the file is as it was; see that its folder exists, "
                             "may be written to and has room") const {
    throw InvalidArgumentError(ErrorCode::kFile,
                               "cannot save " + path_.string() + ": " + call + ": " +
                                   std::generic_category().message(reason),
                               hint, site_);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw InvalidArgumentError(ErrorCode::kFile, "cannot save \"" + path_.string() + "\": " + why,
                               "name a regular file, or one that does not exist yet", site_);
  }

  const std::filesystem::path& path_;
  CallSite site_;
  const FileCalls& calls_;
  Descriptor folder_;
  std::string name_;  // Of the target, in the folder.
  Descriptor file_;
  std::string fresh_;  // The name of the file that is written.
};

}  // namespace

void save_file(const std::filesystem::path& path, std::span<const std::string_view> pieces,
               CallSite site, const FileCalls& calls) {
  FileSaver(path, site, calls).save(pieces);
}

}  // namespace belfry::detail
