// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/tensor_file.h"
#include "values/tensor_file_layout.h"
#include "values/tensor_header.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace belfry::detail {

/// An open tensor file, of which some arrays are not read at once. The file is checked as by
/// TensorFile::read.
class TensorFileInPieces {
 public:
  /// Leaves the elements of the arrays `later` in the file. Throws: as TensorFile::read.
  TensorFileInPieces(const std::string& path, const std::set<std::string>& later, CallSite site);
  TensorFileInPieces(const TensorFileInPieces&) = delete;
  TensorFileInPieces& operator=(const TensorFileInPieces&) = delete;

  /// All other contents.
  const TensorFile& contents() const { return contents_; }
  /// The arrays of `later` that the file has with an element type of belfry.
  const std::vector<ArrayOutline>& outlines() const { return outlines_; }
  /// Reads the elements of an outlined array from byte `at` on. Throws: as TensorFile::read.
  void read(const std::string& name, std::uint64_t at, std::span<std::byte> to);

 private:
  void read_file(std::uint64_t at, std::span<std::byte> to);
  void check_bools(const std::string& name, const HeaderEntry& entry);

  std::string path_;
  CallSite site_;
  std::ifstream file_;
  std::size_t start_ = 0;  // Of the arrays.
  TensorHeader header_;
  TensorFile contents_;
  std::vector<ArrayOutline> outlines_;
};

}  // namespace belfry::detail
