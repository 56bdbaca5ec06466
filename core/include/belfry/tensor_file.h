// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"
#include "belfry/dtype.h"
#include "belfry/shape.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

/// An array of a file, row-major.
struct FileTensor {
  DType dtype = DType::kFloat32;   ///< The element type.
  Shape shape{};                   ///< The extents.
  std::vector<std::byte> bytes{};  ///< The elements, row-major, little-endian.

  bool operator==(const FileTensor&) const = default;
};

/// An array with an element type that belfry lacks, such as `F8_E4M3`. Reading and writing keep the
/// array; no operation uses the array.
struct UnsupportedTensor {
  std::string dtype{};             ///< The format's name for the type.
  Shape shape{};                   ///< The extents.
  std::vector<std::byte> bytes{};  ///< The elements, as in the file.

  bool operator==(const UnsupportedTensor&) const = default;
};

/// The contents of a safetensors file: arrays by name, and notes (SEM-54).
///
///     const TensorFile file = TensorFile::read("model.safetensors");
///     const FileTensor& bias = file.tensors.at("bias");
///
/// Numbers are little-endian, in files and in the memory of every machine that belfry supports.
class TensorFile {
 public:
  std::map<std::string, FileTensor> tensors{};             ///< Arrays by name.
  std::map<std::string, std::string> notes{};              ///< Notes by name.
  std::map<std::string, UnsupportedTensor> unsupported{};  ///< Other arrays by name.

  /// Reads the contents of a file by the rules of the format (SEM-139); `where` is the name of the
  /// file, for messages.
  /// Throws: InvalidArgumentError (kFileFormat) with the byte at fault.
  static TensorFile parse(std::string_view contents, const std::string& where,
                          CallSite site = CallSite::here());
  /// Reads a file.
  /// Throws: InvalidArgumentError (kFileFormat) as parse, and for a file that cannot be read.
  static TensorFile read(const std::filesystem::path& path, CallSite site = CallSite::here());

  /// The contents of a file; `parse` of the contents gives an equal object. Each array is at a
  /// multiple of the element size.
  /// Throws: InvalidArgumentError (kInvalidArgument) for contents that the format excludes: an
  /// array with bytes that do not fit the shape, a name or a note in malformed UTF-8, an array with
  /// the name of the notes, a header above the format's limit.
  std::string contents(CallSite site = CallSite::here()) const;
  /// Saves the contents: a reader of `path` finds the old file or the new file, whole (SEM-138).
  /// Throws: the errors of contents, before a file is touched; InvalidArgumentError (kFile) with
  /// the failed call of the system.
  void write(const std::filesystem::path& path, CallSite site = CallSite::here()) const;

  bool operator==(const TensorFile&) const = default;
};

/// `float32[2,3]`; `F8_E4M3[2]`.
std::string to_string(const FileTensor& tensor);
std::string to_string(const UnsupportedTensor& tensor);
/// The arrays by name, then the notes: `bias float32[2], step "7"`.
std::string to_string(const TensorFile& file);

}  // namespace belfry
