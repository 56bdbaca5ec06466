// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/batch_types.h"
#include "belfry/detail/batches.h"
#include "belfry/detail/dataset/row_set.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/readers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

/// The rest of a dataset, after the rows that were handed out before a save (SEM-256).
namespace belfry::detail {

/// The rows of a batch; nothing if the parts have no rows, or not equally many.
template <class B>
std::optional<std::int64_t> equal_rows(const B& element) {
  if constexpr (!is_batch<B>()) {
    return std::nullopt;
  } else if constexpr (IsVector<B>::value) {
    return static_cast<std::int64_t>(element.size());
  } else if constexpr (IsTensor<B>::value) {
    if (element.empty() || element.shape().rank() == 0) return std::nullopt;
    return element.shape().extents().front();
  } else {
    std::optional<std::int64_t> rows;
    bool is_first = true;
    for_each_child(element, [&](const auto& part) {
      const std::optional<std::int64_t> own = equal_rows(part);
      rows = is_first || own == rows ? own : std::nullopt;
      is_first = false;
    });
    return rows;
  }
}

/// The rows of an element; one for an element that is no batch.
template <class B>
std::int64_t rows_or_one(const B& element) {
  return equal_rows(element).value_or(1);
}

/// Leaves out what was taken: elements if they are counted, else rows. An element of which some
/// rows were taken gives the other rows.
template <class B>
class RestReader {
 public:
  /// `reader` is at the start of the data. `taken` has numbers of rows of the reader.
  RestReader(ReaderOf<B> reader, RowSet taken, std::int64_t elements, CallSite site)
      : reader_(std::move(reader)),
        elements_(elements),
        taken_(elements > 0 ? RowSet() : std::move(taken)),
        site_(site) {}
  /// The next element; nothing at the end.
  std::optional<B> operator()() {
    for (; elements_ > 0; --elements_) {
      if (!reader_()) return std::nullopt;
    }
    while (next_ < taken_.ranges().size()) {
      std::optional<B> element = reader_();
      if (!element) return std::nullopt;
      std::optional<B> rest = rest_of_element(*element);
      if (rest) return rest;
    }
    return reader_();
  }

 private:
  // The rows that were not taken; nothing without such a row.
  std::optional<B> rest_of_element(B& element) {
    const std::int64_t first = row_;
    row_ += rows_or_one(element);
    std::optional<B> rest;
    for (std::int64_t begin = first; begin < row_;) {
      const bool is_last = next_ == taken_.ranges().size();
      const RowRange range = is_last ? RowRange{row_, row_} : taken_.ranges()[next_];
      const std::int64_t end = std::min(row_, begin < range.begin ? range.begin : range.end);
      if (begin < range.begin) add_rows(rest, element, begin - first, end - begin);
      if (!is_last && end == range.end) ++next_;
      begin = end;
    }
    return rest;
  }
  void add_rows(std::optional<B>& rest, B& element, std::int64_t begin, std::int64_t count) {
    if constexpr (is_batch<B>()) {
      B rows =
          count == rows_or_one(element) ? std::move(element) : move_rows(element, begin, count);
      if (rest) {
        append_rows(*rest, rows, site_);
      } else {
        rest = std::move(rows);
      }
    } else {
      rest = std::move(element);
    }
  }

  ReaderOf<B> reader_;
  std::int64_t elements_;  // Left to skip.
  RowSet taken_;
  CallSite site_;
  std::size_t next_ = 0;  // The first range with rows that were not read.
  std::int64_t row_ = 0;  // The number of rows that were read.
};

/// `reader` without the rows that were taken.
template <class B>
ReaderOf<B> rest_of(ReaderOf<B> reader, RowSet taken, std::int64_t elements, CallSite site) {
  if (taken.empty() && elements == 0) return reader;
  return RestReader<B>(std::move(reader), std::move(taken), elements, site);
}

}  // namespace belfry::detail
