// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"

#include <cstddef>
#include <fstream>
#include <istream>
#include <span>
#include <streambuf>
#include <string>

namespace belfry::detail {

/// An existing, readable file. Throws: InvalidArgumentError (kFileFormat) with the reason.
std::ifstream open_file(const std::string& path, CallSite site);

/// Appends the next bytes of the file `name` to `contents`: `bytes` bytes, or fewer at the end of
/// the file. Throws: InvalidArgumentError (kFileFormat) if the device fails.
void read_up_to(std::size_t bytes, std::istream& in, const std::string& name, std::string& contents,
                CallSite site);

/// Lets a stream read from memory.
class MemoryBuffer final : public std::streambuf {
 public:
  explicit MemoryBuffer(std::span<const std::byte> bytes) {
    // A stream without writes does not change the bytes.
    char* begin = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    setg(begin, begin, begin + bytes.size());
  }
};

/// At most 20 characters of `text` for messages, with `?` for unprintable characters.
std::string printable(std::string_view text);

}  // namespace belfry::detail
