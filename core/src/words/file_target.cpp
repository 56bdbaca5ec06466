// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "words/file_target.h"

#include "belfry/error.h"
#include "words/text_digest.h"

#include <array>
#include <climits>
#include <memory>
#include <string_view>
#include <system_error>

namespace belfry::detail {
namespace {

constexpr int kMostLinks = 40;  // The kernel follows as many.
constexpr std::size_t kMostOfName = 150;
constexpr const char* kUsualHint = "name a regular file, or one that does not exist yet";

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Cut between two characters of UTF-8.
std::string shortened(const std::string& name) {
  if (name.size() <= kMostOfName) return name;
  std::size_t end = kMostOfName;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
  return name.substr(0, end) + '~' + std::to_string(text_digest(name));
}

}  // namespace

int list_folder(int folder, std::vector<std::string>& names) {
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return -1;
  DIR* const stream = ::fdopendir(copy);
  if (stream == nullptr) return ::close(copy), -1;
  errno = 0;
  while (const dirent* const entry = ::readdir(stream)) names.emplace_back(entry->d_name);
  const int reason = errno;
  ::closedir(stream);
  errno = reason;
  return reason == 0 ? 0 : -1;
}

FileTarget::FileTarget(const std::filesystem::path& path, CallSite site, const FileCalls& calls)
    : path_(path), site_(site), calls_(calls), folder_(calls_) {
  open_folder();
  stem_ = '.' + shortened(name_) + ".belfry-";
}

void FileTarget::open_folder() {
  if (path_.native().find('\0') != std::string::npos)
    refuse("its name has a zero byte", kUsualHint);
  std::filesystem::path place = path_;
  for (int links = 0;; ++links) {
    name_ = place.filename().native();
    if (name_.empty()) refuse("it names no file", kUsualHint);
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

std::optional<std::string> FileTarget::link_at_name() const {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = calls_.read_link(folder(), name_.c_str(), target.data(), target.size());
  if (size < 0 && (errno == EINVAL || errno == ENOENT)) return std::nullopt;
  require(size, "readlink");
  if (static_cast<std::size_t>(size) == target.size()) fail("readlink", ENAMETOOLONG);
  return std::string(target.data(), static_cast<std::size_t>(size));
}

std::optional<struct stat> FileTarget::existing() const {
  struct stat found{};
  const int result = calls_.status(folder(), name_.c_str(), &found);
  if (result < 0 && errno == ENOENT) return std::nullopt;
  require(result, "stat");
  if (!S_ISREG(found.st_mode)) {
    refuse(std::string("it is ") + kind_of(found.st_mode) + ", not a regular file", kUsualHint);
  }
  // A rename checks the folder's permissions alone.
  require(calls_.may_write(folder(), name_.c_str()), "access");
  return found;
}

std::vector<std::string> FileTarget::suffixes_beside() const {
  std::vector<std::string> names;
  require(calls_.list(folder(), names), "readdir");
  std::vector<std::string> suffixes;
  for (const std::string& name : names) {
    if (name.starts_with(stem_)) suffixes.push_back(name.substr(stem_.size()));
  }
  return suffixes;
}

void FileTarget::fail(const std::string& call, int reason, const char* hint) const {
  throw InvalidArgumentError(ErrorCode::kFile,
                             "cannot save " + path_.string() + ": " + call + ": " +
                                 std::generic_category().message(reason),
                             hint, site_);
}

void FileTarget::refuse(const std::string& why, const char* hint) const {
  throw InvalidArgumentError(ErrorCode::kFile, "cannot save \"" + path_.string() + "\": " + why,
                             hint, site_);
}

// The holder of the lock alone removes the file: the name keeps naming the locked file.
bool remove_leftover(const FileTarget& target, const std::string& name) {
  const FileCalls& calls = target.calls();
  Descriptor file(calls);
  file.own(uninterrupted([&] {
    return calls.open(target.folder(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                      0);
  }));
  if (file.number() < 0 || calls.lock(file.number()) != 0) return false;
  struct stat locked{};
  struct stat named{};
  if (calls.status(file.number(), "", &locked) != 0 || !S_ISREG(locked.st_mode)) return false;
  if (calls.status(target.folder(), name.c_str(), &named) != 0) return false;
  if (locked.st_dev != named.st_dev || locked.st_ino != named.st_ino) return false;
  return calls.remove(target.folder(), name.c_str()) == 0;
}

}  // namespace belfry::detail
