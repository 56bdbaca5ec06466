// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

/// One array of a file, row-major.
struct FileTensor {
  DType dtype = DType::kFloat32;
  Shape shape{};
  std::vector<std::byte> bytes{};

  bool operator==(const FileTensor&) const = default;
};

/// Arrays by name, and notes: the contents of a safetensors file (SEM-54). Numbers are written as
/// they lie in memory, which is little-endian on every machine belfry is built for.
class TensorFile {
 public:
  std::map<std::string, FileTensor> tensors{};
  std::map<std::string, std::string> notes{};

  /// Reads the contents of a file; `where` is its name, for messages.
  /// Throws: InvalidArgumentError (kFileFormat) naming the byte at which it stops making sense.
  static TensorFile parse(std::string_view contents, const std::string& where,
                          CallSite site = CallSite::here());
  /// The same of a file. Throws: the same, also for a file that cannot be read.
  static TensorFile read(const std::filesystem::path& path, CallSite site = CallSite::here());

  /// The contents of a file, for which `parse` gives this. Throws: InvalidArgumentError
  /// (kInvalidArgument) when an array's bytes do not fit its shape, or a name is the notes'.
  std::string contents(CallSite site = CallSite::here()) const;
  /// Saves the contents (SEM-138): a reader of `path` finds the old file or the new file, whole.
  /// Throws: as contents, before a file is touched; InvalidArgumentError (kFile) with the failed
  /// call of the system.
  void write(const std::filesystem::path& path, CallSite site = CallSite::here()) const;

  bool operator==(const TensorFile&) const = default;
};

}  // namespace belfry
