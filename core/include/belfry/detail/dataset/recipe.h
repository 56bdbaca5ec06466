// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/host_values.h"
#include "belfry/detail/nest_traits.h"
#include "belfry/dtype.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The rows of a dataset among the rows of a larger one: row `part`, `part + parts`, and onwards.
struct RowShard {
  std::int64_t parts = 1;
  std::int64_t part = 0;
  std::uint64_t row_digest = 0;  ///< Of the larger dataset.
};

/// The calls that make a dataset, as text: `range(12).shuffle(7).batch(6)`. Processes compare the
/// texts (SEM-185). The work of functions of the program is unseen. The middle of a long text is
/// left out; the digest is of the whole text.
class Recipe {
 public:
  Recipe() = default;
  /// A source: `range(12)`. `is_seen`: datasets with equal words have equal elements.
  Recipe(std::string source, bool is_seen);
  /// A source that is a function of the program, whose readings may differ.
  static Recipe of_function(std::string source);

  /// The recipe after a further call.
  Recipe then(const char* call, const std::vector<std::int64_t>& numbers) const;
  /// The recipe after a call that makes batches. `drops`: with `Remainder::kDrop`. `regroups`: of
  /// the rows of batches.
  Recipe then_batches(const char* call, const std::vector<std::int64_t>& sizes, bool drops,
                      bool regroups) const;
  /// The recipe after repetitions.
  Recipe then_repeat(const std::vector<std::int64_t>& times) const;
  /// The recipe after a call of a function of the program.
  Recipe then_unseen(const char* call) const;
  /// The recipe after a call with an unsigned number, such as a seed.
  Recipe then_numbered(const char* call, std::uint64_t number) const;
  /// The recipe of pairs with the elements of `other`.
  Recipe then_zip(const Recipe& other) const;
  /// The recipe after `count` elements are skipped.
  Recipe then_skip(std::int64_t count) const;

  /// The calls as text, `range(12).batch(4)`; the middle of a long text is left out.
  const std::string& words() const { return words_; }
  /// A digest of all calls, also of those that the text leaves out.
  std::uint64_t digest() const { return digest_; }
  /// A digest of the calls that decide the rows and their order: datasets that differ in the sizes
  /// of their batches alone have the same digest, unless a later call counts batches.
  std::uint64_t row_digest() const { return row_digest_; }
  /// The rows, if `shard` chose them, `batch` made batches of them, and no other call behind
  /// `shard` chooses rows; else the rows are those of the dataset itself.
  RowShard row_shard() const;
  /// Whether datasets with equal digests have equal elements.
  bool is_seen() const { return is_seen_; }
  /// Whether elements were skipped: the rest may be empty.
  bool skips() const { return skips_; }
  /// Whether each reading is known to give the same elements, if functions of elements do.
  bool rereads() const { return rereads_; }

 private:
  // The same calls without `shard`, as long as `shard` alone decides what rows are left out.
  struct Sharded;

  // `counts_batches`: the rows depend on the sizes of the batches before.
  Recipe then_text(const std::string& call, bool counts_batches = true) const;
  void add(std::string_view text);
  void count_batches();

  std::shared_ptr<const Sharded> sharded_{};
  std::string words_;
  std::uint64_t digest_ = 0;
  std::uint64_t row_digest_ = 0;
  std::string sizes_;        // Calls about batch sizes that the rows do not depend on so far.
  bool drops_rows_ = false;  // Of a batch that is not full.
  bool rereads_ = true;
  bool is_seen_ = false;
  bool skips_ = false;
};

/// The name of a file without its folders.
std::string_view file_name_of(std::string_view path);
/// The number in 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t number);

/// A digest of some elements of a vector: numbers, and texts without folders, for files may be in
/// other folders on other hosts.
template <class T>
class ElementSample {
 public:
  /// Takes up to eight elements, evenly spread.
  explicit ElementSample(const std::vector<T>& elements) {
    constexpr std::size_t kMost = 8;  // Reading all would take as long as a loop.
    const std::size_t count = std::min(elements.size(), kMost);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = count == 1 ? 0 : i * (elements.size() - 1) / (count - 1);
      const T& element = elements[index];  // std::vector<bool> gives a value.
      add(element);
    }
  }
  /// Empty if the elements have neither numbers nor texts.
  std::string text() const { return digest_.value() == 0 ? "" : hexadecimal(digest_.value()); }

 private:
  template <class E>
  void add(const E& value) {
    if constexpr (Element<E> || is_numeric_vector<E>()) {
      digest_.add(value);
    } else if constexpr (std::convertible_to<const E&, std::string_view>) {
      add_text(file_name_of(value));
    } else if constexpr (requires { value.filename().string(); }) {
      add_text(value.filename().string());
    } else if constexpr (is_container<E>()) {
      for_each_child(value, [this](const auto& child) { this->add(child); });
    }
  }
  void add_text(std::string_view text) {
    digest_.add(std::vector<std::uint8_t>(text.begin(), text.end()));
  }

  HostDigest digest_;
};

/// The recipe of a vector of elements: `from(12 elements, sample 9f3c2a1b00c4d5e6)`.
template <class T>
Recipe recipe_of(const std::vector<T>& elements) {
  const std::string sample = ElementSample<T>(elements).text();
  const std::string count = std::to_string(elements.size()) + " elements";
  return sample.empty() ? Recipe("from(" + count + ", unseen)", false)
                        : Recipe("from(" + count + ", sample " + sample + ")", true);
}

/// The knowledge about a dataset before it is read.
class DatasetFacts {
 public:
  DatasetFacts() = default;
  /// `batch_size`: rows of each batch but the last, if known.
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
  Recipe recipe_ = Recipe::of_function("start(unseen)");
  bool is_endless_ = false;
  std::optional<std::int64_t> batch_size_{};
};

}  // namespace belfry::detail
