// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "words/owned_file.h"

#include "belfry/error.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

namespace belfry::detail {
namespace {

constexpr std::string_view kOwner = "owner-";
constexpr std::string_view kPart = "part-";
constexpr std::size_t kMostOfHost = 30;

std::string random_digits() {
  std::array<unsigned char, 8> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw InvalidArgumentError(ErrorCode::kFile, "cannot save files: the system has no random bits",
                               "provide the system call getrandom");
  }
  std::string digits;
  for (const unsigned char byte : bytes) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

std::string host_word() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::string word = name.data();
  word.resize(std::min(word.size(), kMostOfHost));
  std::ranges::replace_if(word, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return word;
}

KnownOwners& owners_of(FileOwners& owners, const FileTarget& target) {
  struct stat folder{};
  target.require(target.calls().status(target.folder(), "", &folder), "stat of the folder");
  return owners[{folder.st_dev, folder.st_ino, target.name()}];
}

bool exists(const FileTarget& target, const std::string& name) {
  struct stat found{};
  const int result = target.calls().status(target.folder(), name.c_str(), &found);
  if (result < 0 && errno == ENOENT) return false;
  target.require(result, "stat of " + name);
  return true;
}

void remove(const FileTarget& target, const std::string& name) {
  const int result = target.calls().remove(target.folder(), name.c_str());
  if (result < 0 && errno != ENOENT) target.fail("unlink of " + name, errno);
}

std::string owner_file(const FileTarget& target, const std::string& id) {
  return target.beside(std::string(kOwner) + id);
}

// The names of the new files of a job begin with this suffix.
std::string part_of(const std::string& id) { return std::string(kPart) + id + '-'; }

std::set<std::string> owners_beside(const FileTarget& target) {
  std::set<std::string> owners;
  for (const std::string& suffix : target.suffixes_beside()) {
    if (suffix.starts_with(kOwner)) owners.insert(suffix.substr(kOwner.size()));
  }
  return owners;
}

// New files with the id of a job; new files without an id if no living writer holds the lock.
void remove_new_files_of_others(const FileTarget& target, const std::string& id) {
  for (const std::string& suffix : target.suffixes_beside()) {
    if (!suffix.starts_with(kPart) || suffix.starts_with(part_of(id))) continue;
    const bool has_id = suffix.find_first_not_of("0123456789", kPart.size()) != std::string::npos;
    if (has_id) {
      remove(target, target.beside(suffix));
    } else {
      remove_leftover(target, target.beside(suffix));
    }
  }
}

}  // namespace

// A child of a fork has the random bits of the parent, and a number of its own.
std::string owner_id() {
  static const std::string digits = random_digits();
  return host_word() + '-' + std::to_string(::getpid()) + '-' + digits;
}

OwnedSave::OwnedSave(const std::filesystem::path& path, FileOwners& owners, CallSite site,
                     const std::string& id, const FileCalls& calls)
    : target_(path, site, calls),
      id_(id),
      own_file_(owner_file(target_, id)),
      known_(owners_of(owners, target_)),
      takes_over_(!is_owner()),
      file_(target_, part_of(id)) {
  if (!takes_over_) return;
  const std::set<std::string> found = owners_beside(target_);
  if (!known_.has_met) known_.ids = found;
  known_.has_met = true;
  for (const std::string& owner : found) {
    if (!known_.ids.contains(owner)) refuse(owner);
  }
}

bool OwnedSave::is_owner() const { return exists(target_, own_file_); }

void OwnedSave::begin() { goes_on_ = !takes_over_ || take_over(); }

void OwnedSave::add(std::string_view piece) {
  if (goes_on_) file_.add(piece);
}

bool OwnedSave::finish() {
  if (!goes_on_) return false;
  file_.complete();
  return is_owner() && file_.take_place();
}

// Returns false if a later job has removed the new file.
bool OwnedSave::take_over() {
  const int file = uninterrupted([&] {
    return target_.calls().open(target_.folder(), own_file_.c_str(),
                                O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  });
  target_.calls().close(target_.require(file, "open of " + own_file_));
  bool is_taken = false;
  try {
    is_taken = exists(target_, file_.name());
    if (is_taken) remove_others();
  } catch (...) {
    target_.calls().remove(target_.folder(), own_file_.c_str());
    throw;
  }
  if (!is_taken) remove(target_, own_file_);
  return is_taken;
}

// The names are listed anew after the former owners are gone. The writer of a later file will not
// find its owner file.
void OwnedSave::remove_others() {
  for (const std::string& owner : known_.ids) remove(target_, owner_file(target_, owner));
  for (const std::string& owner : owners_beside(target_)) {
    if (owner != id_) refuse(owner);
  }
  remove_new_files_of_others(target_, id_);
  known_.ids.clear();
}

void OwnedSave::refuse(const std::string& owner) const {
  target_.refuse(
      "another job has saved to it: " + owner + " (host, process, number)",
      "end one of the two jobs; or save to a file of its own; or restore the file first");
}

void meet_owners(const std::filesystem::path& path, FileOwners& owners, const std::string& id,
                 const FileCalls& calls) {
  try {
    const FileTarget target(path, {}, calls);
    KnownOwners& known = owners_of(owners, target);
    if (exists(target, owner_file(target, id))) return;
    known.ids = owners_beside(target);
    if (std::exchange(known.has_met, true)) return;
    remove_new_files_of_others(target, id);
  } catch (const InvalidArgumentError&) {
    // The restore itself tells the reason. In a folder without permissions nothing can be saved.
  }
}

}  // namespace belfry::detail
