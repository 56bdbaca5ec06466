// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <list>

namespace belfry::host {

/// The bytes of a buffer without a value: the outputs of work with a failure (SEM-74).
class LostBytes {
 public:
  /// Bytes from `begin` to before `end`, with the exception of the work.
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::exception_ptr reason;
  };
  /// Ranges made before the work runs: `lose` then needs no memory.
  using Room = std::list<Range>;

  bool empty() const { return ranges_.empty(); }
  /// The latest reason for a byte from `begin` to before `end` without a value; null if each byte
  /// has a value.
  std::exception_ptr reason(std::size_t begin, std::size_t end) const;
  /// Takes the value of the bytes from `begin` to before `end`. Uses a range of `room`;
  /// `room` is not empty.
  void lose(std::size_t begin, std::size_t end, const std::exception_ptr& reason,
            Room& room) noexcept;
  /// Called before the bytes from `begin` to before `end` are written: the bytes have a value.
  /// Throws: std::bad_alloc, without a change.
  void restore(std::size_t begin, std::size_t end);

 private:
  std::list<Range> ranges_;  // The latest first. Ranges may overlap, and none is empty.
};

}  // namespace belfry::host
