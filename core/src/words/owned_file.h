// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/file_owners.h"
#include "words/file_target.h"
#include "words/saved_file.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace belfry::detail {

// The files of jobs (SEM-138). A job owns a file while the owner file `.NAME.belfry-owner-ID`
// exists beside the file. At the first save a job creates an owner file, removes the owner files of
// the known owners, and then removes the new files of all foreign writers. A writer creates the new
// file first. Before the new file takes its place, the writer looks for the owner file. An
// overtaken writer therefore misses the owner file at the look, or else the new file at the rename.
// No step waits for a lock, because a stopped process would hold the lock.

/// The id of this process: host, number, and 64 random bits.
std::string owner_id();

/// A save of a job: `begin`, `add` for each piece, `finish`.
class OwnedSave {
 public:
  /// Creates the new file. All processes of the job must be known to be alive at some time between
  /// the call and `begin`: a later job then finds the new file. The owners must outlive the save.
  /// Throws: InvalidArgumentError (kFile) as save_file; also if another job has saved to the file
  /// since this job saved or restored the file.
  OwnedSave(const std::filesystem::path& path, FileOwners& owners, CallSite site,
            const std::string& id = owner_id(), const FileCalls& calls = {});
  /// Makes this job the owner. Throws: as the constructor.
  void begin();
  /// The next piece. Throws: as the constructor.
  void add(std::string_view piece);
  /// Saves the pieces, joined. Returns false, with the file as it was, if another job has removed
  /// the new file: a new save finds out whether this job may go on. Throws: as the constructor.
  bool finish();

 private:
  bool is_owner() const;
  bool take_over();
  void remove_others();
  [[noreturn]] void refuse(const std::string& owner) const;

  FileTarget target_;
  std::string id_;
  std::string own_file_;
  KnownOwners& known_;
  bool takes_over_;
  bool goes_on_ = true;  // Whether the new file was there when this job became the owner.
  NewFile file_;
};

/// Before a restore: learns the owners of the file, and at the first contact with the file removes
/// the new files of all foreign writers. A writer that was given up cannot replace the restored
/// file; a healthy writer begins again. Throws nothing for a file that the process may not save.
void meet_owners(const std::filesystem::path& path, FileOwners& owners,
                 const std::string& id = owner_id(), const FileCalls& calls = {});

}  // namespace belfry::detail
