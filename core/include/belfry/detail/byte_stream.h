// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/compiler.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belfry::detail {

using Bytes = std::vector<std::byte>;

/// Whether two messages, or parts of messages, have the same bytes. For frequent comparisons:
/// algorithms compare bytes one by one.
inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// Appends values to a message between processes, in the byte order of the machine.
class ByteWriter {
 public:
  void add(const void* data, std::size_t count);
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>)
  void put(const T& value) {
    add(&value, sizeof(value));
  }
  /// The length, then the contents.
  void text(std::string_view value) {
    put(static_cast<std::uint64_t>(value.size()));
    add(value.data(), value.size());
  }

  /// The place of `count` bytes that the caller writes before the next call.
  std::byte* make_room(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return bytes_.data() + (bytes_.size() - count);
  }

  /// Overwrites bytes that were written from `at` on.
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>)
  void put_at(std::size_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof(value));
  }
  /// Drops the bytes after the first `count`, and keeps the memory.
  void truncate(std::size_t count) { bytes_.resize(count); }

  void reserve(std::size_t count) { bytes_.reserve(count); }

  const Bytes& bytes() const { return bytes_; }
  /// The bytes of a writer that writes no more.
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Reads a message in the order in which a ByteWriter wrote it. Every function throws InternalError
/// beyond the end of the message, and for a bool that is neither 0 nor 1.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  void take(void* data, std::size_t count);
  /// The next `count` bytes, in the message itself.
  const std::byte* skip(std::size_t count);
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>)
  T get() {
    if constexpr (std::is_same_v<T, bool>) {
      return flag();
    } else {
      T value;
      take(&value, sizeof(value));
      return value;
    }
  }
  /// A number of elements that follow, each of at least `bytes_each` bytes. Throws: InternalError
  /// for more elements than the rest of the message has room for, unless `bytes_each` is 0.
  std::size_t count(std::size_t bytes_each = 0);
  std::string text();
  /// The unread part of the message.
  std::span<const std::byte> rest() const { return rest_; }

 private:
  bool flag();

  std::span<const std::byte> rest_;
};

}  // namespace belfry::detail
