// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/batches.h"
#include "belfry/detail/readers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace belfry::detail {

/// Takes rows from a sequence of batches as if they were one. `with_empties`: `none` is called.
template <class B>
class RowReader {
 public:
  RowReader(ReaderOf<B> reader, bool with_empties, CallSite site)
      : reader_(std::move(reader)), with_empties_(with_empties), site_(site) {}

  /// Whether there is another row; reads on for it when necessary.
  bool more() {
    while (!ended_ && offset_ == rows_) {
      std::optional<B> next = reader_();
      if (!next) {
        ended_ = true;
        break;
      }
      rows_ = rows_of(*next, site_);
      offset_ = 0;
      current_ = std::move(next);
    }
    return !ended_;
  }
  /// The next rows: as many as are asked for, or all that are left. `more()` was true.
  B take(std::int64_t count) {
    B batch = part(count);
    std::int64_t left = count - taken_;
    while (left > 0 && more()) {
      B following = part(left);
      left -= taken_;
      append_rows(batch, following, site_);
    }
    taken_ = count - left;
    return batch;
  }
  /// No rows, without reading on; nothing when not even the first batch is there.
  std::optional<B> none() {
    if (!current_ && !more()) return std::nullopt;
    return move_rows(*current_, 0, 0);
  }
  /// Rows of the last `take`.
  std::int64_t taken() const { return taken_; }

 private:
  B part(std::int64_t count) {
    taken_ = std::min(count, rows_ - offset_);
    offset_ += taken_;
    if (taken_ == rows_ && !with_empties_) return std::move(*current_);
    return move_rows(*current_, offset_ - taken_, taken_);
  }

  ReaderOf<B> reader_;
  bool with_empties_;
  CallSite site_;
  std::optional<B> current_;
  std::int64_t rows_ = 0;
  std::int64_t offset_ = 0;
  std::int64_t taken_ = 0;
  bool ended_ = false;
};

/// Batches of given sizes, used over and over, up to the first that falls short (SEM-93).
template <class B>
class RebatchReader {
 public:
  RebatchReader(ReaderOf<B> reader, std::vector<std::int64_t> sizes, bool drop_remainder,
                CallSite site)
      : rows_(std::move(reader), std::count(sizes.begin(), sizes.end(), 0) != 0, site),
        sizes_(std::move(sizes)),
        drop_remainder_(drop_remainder) {}
  std::optional<B> operator()() {
    if (ended_) return std::nullopt;
    const std::int64_t size = sizes_[next_];
    next_ = (next_ + 1) % sizes_.size();
    if (size == 0) return rows_.none();
    if (!rows_.more()) return std::nullopt;
    B batch = rows_.take(size);
    ended_ = rows_.taken() < size;
    if (ended_ && drop_remainder_) return std::nullopt;
    return batch;
  }

 private:
  RowReader<B> rows_;
  std::vector<std::int64_t> sizes_;
  bool drop_remainder_;
  std::size_t next_ = 0;
  bool ended_ = false;
};

}  // namespace belfry::detail
