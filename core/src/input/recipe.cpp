// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/dataset/recipe.h"

#include "belfry/detail/readers.h"
#include "words/text_digest.h"

namespace belfry::detail {
namespace {

constexpr std::size_t kMostWords = 300;
constexpr std::size_t kFront = 100;  // Kept of a longer text.

}  // namespace

Recipe::Recipe(std::string source, bool is_seen) : digest_(text_digest("")), is_seen_(is_seen) {
  add(source);
}

void Recipe::add(std::string_view text) {
  digest_ = text_digest(text, digest_);
  words_ += text;
  if (words_.size() <= kMostWords) return;
  const std::size_t back = kMostWords - kFront;
  words_ = words_.substr(0, kFront) + " ... " + words_.substr(words_.size() - back);
}

Recipe Recipe::then_text(const std::string& call) const {
  Recipe next = *this;
  next.add("." + call);
  return next;
}

Recipe Recipe::then(const char* call, const std::vector<std::int64_t>& numbers, bool drops) const {
  return then_text(call + ("(" + numbers_text(numbers)) + (drops ? ", drop)" : ")"));
}

Recipe Recipe::then_numbered(const char* call, std::uint64_t number) const {
  return then_text(call + ("(" + std::to_string(number)) + ")");
}

Recipe Recipe::then_unseen(const char* call) const {
  Recipe next = then_text(call + std::string("(unseen)"));
  next.is_seen_ = false;
  return next;
}

Recipe Recipe::then_zip(const Recipe& other) const {
  Recipe next = then_text("zip(" + other.words_ + ")");
  next.digest_ = (next.digest_ ^ other.digest_) * kDigestPrime;
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
