// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/batch_types.h"
#include "belfry/detail/batches.h"
#include "belfry/detail/dataset/dataset_position.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/detail/readers.h"

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
  /// `reader` is at the start of the data.
  RestReader(ReaderOf<B> reader, const RowsTaken& taken)
      : reader_(std::move(reader)),
        elements_(taken.elements),
        rows_(taken.elements > 0 ? 0 : taken.rows) {}
  /// The next element; nothing at the end.
  std::optional<B> operator()() {
    for (; elements_ > 0; --elements_) {
      if (!reader_()) return std::nullopt;
    }
    while (rows_ > 0) {
      std::optional<B> next = reader_();
      if (!next) return std::nullopt;
      const std::int64_t rows = rows_or_one(*next);
      if constexpr (is_batch<B>()) {
        if (rows > rows_) {
          const std::int64_t begin = std::exchange(rows_, 0);
          return move_rows(*next, begin, rows - begin);
        }
      }
      rows_ -= rows;
    }
    return reader_();
  }

 private:
  ReaderOf<B> reader_;
  std::int64_t elements_;  // Left to skip.
  std::int64_t rows_;      // Left to skip.
};

/// `reader` behind the rows that were taken.
template <class B>
ReaderOf<B> rest_of(ReaderOf<B> reader, const RowsTaken& taken) {
  if (taken == RowsTaken{}) return reader;
  return RestReader<B>(std::move(reader), taken);
}

}  // namespace belfry::detail
