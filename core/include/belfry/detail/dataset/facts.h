// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/dataset/recipe.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace belfry::detail {

/// The knowledge about a dataset before it is read.
class DatasetFacts {
 public:
  DatasetFacts() = default;
  DatasetFacts(Recipe recipe, bool is_endless = false,
               std::optional<std::int64_t> batch_size = std::nullopt)
      : recipe_(std::move(recipe)), is_endless_(is_endless), batch_size_(batch_size) {}

  /// The rows of each batch but the last, if `batch` or `with_batch_size` declared the size.
  std::optional<std::int64_t> batch_size() const { return batch_size_; }
  /// Whether the dataset is known to have no end.
  bool is_endless() const { return is_endless_; }
  /// For belfry itself: the calls that made the dataset.
  const Recipe& recipe() const { return recipe_; }

 private:
  Recipe recipe_{"start(unseen)", false};
  bool is_endless_ = false;
  std::optional<std::int64_t> batch_size_{};
};

}  // namespace belfry::detail
