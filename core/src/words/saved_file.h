// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "words/file_calls.h"
#include "words/file_target.h"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace belfry::detail {

/// A new file beside a target, locked until the file takes the name of the target or is removed.
/// On a file system without locks the file is not locked. Functions throw as FileTarget's.
class NewFile {
 public:
  /// Creates the file. The suffix of the file's name is `prefix` with the first free number. Files
  /// of killed writers with these names are removed.
  NewFile(const FileTarget& target, const std::string& prefix);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  /// Removes the file, unless the file has the name of the target.
  ~NewFile();

  /// In the folder of the target.
  const std::string& name() const { return name_; }
  /// Writes the next piece.
  void add(std::string_view piece);
  /// Gives the file the properties of the existing file. Afterwards the contents are on the disk.
  void complete();
  /// Takes the name of the target, in place of the existing file. Returns false if the new file has
  /// been removed.
  bool take_place();

 private:
  bool create(mode_t mode);
  void keep_properties(const struct stat& old);
  bool change_owner(uid_t owner, gid_t group) const;
  void sync_folder();

  const FileTarget& target_;
  const FileCalls& calls_;
  std::optional<struct stat> old_;
  Descriptor file_;
  std::string name_;
  bool exists_ = false;
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
