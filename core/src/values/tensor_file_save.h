// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/file_owners.h"
#include "belfry/tensor_file.h"
#include "words/owned_file.h"

#include <filesystem>
#include <string>

namespace belfry::detail {

/// A save of a tensor file by a job, in two steps, as OwnedSave.
class TensorFileSave {
 public:
  /// The file must outlive the save. Throws: as TensorFile::write and OwnedSave.
  TensorFileSave(const TensorFile& file, const std::filesystem::path& path, FileOwners& owners,
                 CallSite site);
  /// Returns false if another job has removed the new file. Throws: as OwnedSave::finish.
  bool finish();

 private:
  const TensorFile& file_;
  CallSite site_;
  std::string head_;
  OwnedSave save_;
};

}  // namespace belfry::detail
