// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/byte_stream.h"

#include "belfry/error.h"

#include <cstring>

namespace belfry::detail {

// Apart: GCC 12 takes the copy for an overflow where the length is known.
void ByteWriter::add(const void* data, std::size_t count) {
  const auto* const begin = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), begin, begin + count);
}

void ByteReader::take(void* data, std::size_t count) {
  check(count <= rest_.size(), "a message between processes ends early");
  if (count > 0) std::memcpy(data, rest_.data(), count);
  rest_ = rest_.subspan(count);
}

bool ByteReader::flag() {
  const auto value = get<std::uint8_t>();
  check(value <= 1, "a bool of a message between processes is neither 0 nor 1");
  return value == 1;
}

const std::byte* ByteReader::skip(std::size_t count) {
  check(count <= rest_.size(), "a message between processes ends early");
  const std::byte* const skipped = rest_.data();
  rest_ = rest_.subspan(count);
  return skipped;
}

std::size_t ByteReader::count(std::size_t bytes_each) {
  const auto number = get<std::uint64_t>();
  // The message does not limit the number of elements without bytes.
  check(bytes_each == 0 || number <= rest_.size() / bytes_each,
        "a message between processes ends early");
  return static_cast<std::size_t>(number);
}

std::string ByteReader::text() {
  std::string value(count(1), '\0');
  take(value.data(), value.size());
  return value;
}

}  // namespace belfry::detail
