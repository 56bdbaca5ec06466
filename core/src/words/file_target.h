// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "words/file_calls.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace belfry::detail {

/// A file to be saved: the open folder of the file, and the name in the folder. Symbolic links are
/// followed. All functions throw InvalidArgumentError (kFile) with the failed call and the reason.
class FileTarget {
 public:
  /// Opens the folder.
  FileTarget(const std::filesystem::path& path, CallSite site, const FileCalls& calls);
  FileTarget(const FileTarget&) = delete;
  FileTarget& operator=(const FileTarget&) = delete;

  const FileCalls& calls() const { return calls_; }
  int folder() const { return folder_.number(); }
  const std::string& name() const { return name_; }
  /// The status of the existing file, which may be written; nothing without a file.
  std::optional<struct stat> existing() const;

  /// The name of a file of belfry beside the target: `.NAME.belfry-SUFFIX`. A long name is cut, and
  /// told apart by a digest.
  std::string beside(const std::string& suffix) const { return stem_ + suffix; }
  /// The suffixes of all files of belfry beside the target.
  std::vector<std::string> suffixes_beside() const;

  /// Returns `result`, or throws if the result is negative.
  template <class Result>
  Result require(Result result, const std::string& call) const {
    if (result < 0) fail(call, errno);
    return result;
  }
  [[noreturn]] void fail(const std::string& call, int reason,
                         const char* hint =
                             "the file is as it was; see that its folder exists, "
                             "may be written to and has room") const;
  [[noreturn]] void refuse(const std::string& why, const char* hint) const;

 private:
  void open_folder();
  std::optional<std::string> link_at_name() const;

  std::filesystem::path path_;
  CallSite site_;
  FileCalls calls_;
  Descriptor folder_;
  std::string name_;
  std::string stem_;
};

/// Removes a file that a killed writer has left behind: nobody holds the lock of the file. Returns
/// whether a file is removed.
bool remove_leftover(const FileTarget& target, const std::string& name);

}  // namespace belfry::detail
