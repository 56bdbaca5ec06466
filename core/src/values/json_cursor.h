// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace belfry {

/// Reads the JSON of a tensor file's header, piece by piece: objects, arrays, strings and whole
/// numbers that are not negative. Nothing else occurs there, and nothing else is accepted.
class JsonCursor {
 public:
  /// `text` begins at byte `offset` of the file `where`.
  JsonCursor(std::string_view text, std::size_t offset, const std::string& where, CallSite site)
      : text_(text), offset_(offset), where_(where), site_(site) {}

  /// The byte of the file that is read next.
  std::size_t position() const { return offset_ + next_; }
  /// Skips blanks; whether `mark` comes then. If so, it is passed.
  bool accept(char mark);
  void expect(char mark);
  /// Throws unless only blanks are left.
  void expect_end();
  /// A string, with its escapes resolved to UTF-8.
  std::string string();
  /// A whole number below 2^63.
  std::int64_t number();

  /// Throws: InvalidArgumentError (kFileFormat) at a byte of the file.
  [[noreturn]] void fail(std::size_t position, const std::string& what) const;

 private:
  void skip_blanks();
  char take(const char* wanted);
  std::uint32_t hex4();
  void escape(std::string& out);

  std::string_view text_;
  std::size_t offset_;
  const std::string& where_;
  CallSite site_;
  std::size_t next_ = 0;
};

/// Throws: InvalidArgumentError (kFileFormat): `where` does not make sense at byte `position`.
[[noreturn]] void throw_bad_file(const std::string& where, std::size_t position,
                                 const std::string& what, CallSite site);

}  // namespace belfry
