// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::tool {

/// JSON in ASCII, with an equal value. Characters beyond ASCII, `<` and `~`, which JSON has in
/// strings alone, become `\u` escapes.
std::string ascii_json(std::string_view json);

/// A text of ASCII, packed for a page. A repetition of 6 to 69 characters becomes a reference: `~`,
/// a digit for the length less 6, and three digits for the distance back. Digits are those of
/// base 64. trace.js has the way back.
class PackedText {
 public:
  PackedText();

  /// Adds a line of ASCII without `~`, and a line end.
  void add(std::string_view line);
  const std::string& packed() const { return packed_; }

 private:
  // The last places of texts with equal hashes.
  static constexpr std::size_t kSlots = 8;
  struct Bucket {
    std::array<std::uint32_t, kSlots> places{};
    std::uint32_t next = 0;
  };
  struct Repetition {
    std::size_t length = 0, distance = 0;
  };

  Bucket& bucket_at(std::size_t place);
  Repetition longest_at(std::size_t place);
  void remember(std::size_t place);

  std::string text_;  // Without references.
  std::string packed_;
  std::vector<Bucket> buckets_;
};

}  // namespace belfry::tool
