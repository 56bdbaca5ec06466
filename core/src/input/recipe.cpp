// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/dataset/recipe.h"

#include "belfry/detail/readers.h"
#include "words/text_digest.h"

namespace belfry::detail {
namespace {

constexpr std::size_t kMostWords = 300;
constexpr std::size_t kFront = 100;  // Kept of a longer text.

// Calls with the rows of the elements before, whatever the sizes of batches.
bool keeps_rows(std::string_view call) { return call == "map" || call == "epoch"; }

}  // namespace

struct Recipe::Sharded {
  Recipe whole;
  std::int64_t parts = 1;
  std::int64_t part = 0;
  bool is_batched = false;  // A row is an element of the shard.
};

Recipe::Recipe(std::string source, bool is_seen)
    : digest_(text_digest("")), row_digest_(text_digest(source)), is_seen_(is_seen) {
  add(source);
}

Recipe Recipe::of_function(std::string source) {
  Recipe recipe(std::move(source), false);
  recipe.rereads_ = false;
  return recipe;
}

void Recipe::add(std::string_view text) {
  digest_ = text_digest(text, digest_);
  words_ += text;
  if (words_.size() <= kMostWords) return;
  const std::size_t back = kMostWords - kFront;
  words_ = words_.substr(0, kFront) + " ... " + words_.substr(words_.size() - back);
}

// The rows depend on the sizes of the batches from now on.
void Recipe::count_batches() {
  row_digest_ = text_digest(sizes_, row_digest_);
  sizes_.clear();
  drops_rows_ = false;
}

Recipe Recipe::then_text(const std::string& call, bool counts_batches) const {
  Recipe next = *this;
  next.add("." + call);
  if (counts_batches) next.count_batches();
  next.row_digest_ = text_digest("." + call, next.row_digest_);
  if (sharded_ == nullptr) return next;
  if (counts_batches || call.starts_with("repeat")) {
    next.sharded_ = nullptr;  // The call may drop or repeat rows.
    return next;
  }
  next.sharded_ = std::make_shared<const Sharded>(Sharded{sharded_->whole.then_text(call, false),
                                                          sharded_->parts, sharded_->part,
                                                          sharded_->is_batched});
  return next;
}

Recipe Recipe::then(const char* call, const std::vector<std::int64_t>& numbers) const {
  const std::string text = call + ("(" + numbers_text(numbers)) + ")";
  if (call != std::string_view("shard")) return then_text(text);
  if (numbers.front() == 1) {  // All rows.
    Recipe next = *this;
    next.add("." + text);
    return next;
  }
  Recipe next = then_text(text);
  if (sharded_ == nullptr) {
    next.sharded_ = std::make_shared<const Sharded>(Sharded{*this, numbers[0], numbers[1]});
  }
  return next;
}

RowShard Recipe::row_shard() const {
  if (sharded_ == nullptr || !sharded_->is_batched) return {.row_digest = row_digest_};
  return {sharded_->parts, sharded_->part, sharded_->whole.row_digest_};
}

Recipe Recipe::then_batches(const char* call, const std::vector<std::int64_t>& sizes, bool drops,
                            bool regroups) const {
  const std::string text = "." + (call + ("(" + numbers_text(sizes)) + (drops ? ", drop)" : ")"));
  Recipe next = *this;
  next.add(text);
  if (!regroups) {
    next.count_batches();
    next.row_digest_ = text_digest(".batch", next.row_digest_);
  }
  next.sizes_ += text;
  next.drops_rows_ = next.drops_rows_ || drops;
  if (sharded_ == nullptr) return next;
  next.sharded_ = nullptr;
  if (sharded_->is_batched == regroups) {  // Else rows are no elements of the shard.
    next.sharded_ = std::make_shared<const Sharded>(
        Sharded{sharded_->whole.then_batches(call, sizes, drops, regroups), sharded_->parts,
                sharded_->part, true});
  }
  return next;
}

Recipe Recipe::then_repeat(const std::vector<std::int64_t>& times) const {
  // Rows that one repetition leaves out move the rows of the next.
  return then_text("repeat(" + numbers_text(times) + ")", drops_rows_);
}

Recipe Recipe::then_numbered(const char* call, std::uint64_t number) const {
  return then_text(call + ("(" + std::to_string(number)) + ")", !keeps_rows(call));
}

Recipe Recipe::then_unseen(const char* call) const {
  Recipe next = then_text(call + std::string("(unseen)"), !keeps_rows(call));
  next.is_seen_ = false;
  return next;
}

Recipe Recipe::then_zip(const Recipe& other) const {
  Recipe next = then_text("zip(" + other.words_ + ")");
  next.digest_ = (next.digest_ ^ other.digest_) * kDigestPrime;
  next.row_digest_ =
      (next.row_digest_ ^ text_digest(other.sizes_, other.row_digest_)) * kDigestPrime;
  next.rereads_ = rereads_ && other.rereads_;
  next.is_seen_ = is_seen_ && other.is_seen_;
  next.skips_ = skips_ || other.skips_;
  return next;
}

Recipe Recipe::then_skip(std::int64_t count) const {
  Recipe next = then("skip", {count});
  next.skips_ = skips_ || count > 0;
  return next;
}

std::string_view file_name_of(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string hexadecimal(std::uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(number >> shift) & 15U];
  return text;
}

}  // namespace belfry::detail
