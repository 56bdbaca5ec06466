// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_code.h"

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace belfry::demo {

inline constexpr int kPixels = 64;   ///< Of an 8 x 8 image.
inline constexpr int kDarkest = 16;  ///< The largest value of a pixel.
inline constexpr int kDigits = 10;

/// Labelled images of handwritten digits.
struct Digits {
  std::vector<std::uint8_t> pixels;  ///< kPixels for each image, 0 to kDarkest.
  std::vector<std::uint8_t> labels;  ///< 0 to 9, one for each image.

  int count() const { return static_cast<int>(labels.size()); }
};

using tool::UnreadableFile;

/// The project's own images, wherever the process runs: an absolute path. Images for an installed
/// program are below the prefix.
std::string project_digits();
/// Reads an image from each line: 64 pixels and the digit, separated by commas; line ends may be CR
/// LF. Throws: UnreadableFile; InvalidArgumentError (kFileFormat) with file, line and column of the
/// first wrong character.
Digits read_digits(const std::string& path);
/// The same from a stream; `name` stands for the file in messages.
Digits parse_digits(std::istream& in, const std::string& name);

}  // namespace belfry::demo
