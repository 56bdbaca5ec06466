// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/rounds/merge_digest.h"

#include <cstddef>
#include <cstring>
#include <string_view>

namespace belfry::detail {
namespace {

// Two hashes. Addresses have no meaning in another process: texts are added, in words of eight
// bytes.
class Hashes {
 public:
  void add(const MergeRequest& request) {
    add(static_cast<std::uint64_t>(request.type->kind));
    add(request.type->types);
    add(static_cast<std::uint64_t>(request.tag != nullptr));
    if (request.tag != nullptr) {
      add(request.tag->name);
    } else {
      add(request.site.file);
      add(static_cast<std::uint64_t>(request.site.line));
    }
    if (request.type->describe != nullptr) add(request.type->describe(request));
  }
  const MergeDigest::Words& words() const { return words_; }

 private:
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
      add(word_of(text, sizeof(std::uint64_t)));
    }
    add(word_of(text, text.size()));
  }
  // The multipliers differ and are odd: a step loses nothing of a word, and the hashes differ in
  // more than their starts.
  void add(std::uint64_t word) {
    words_[0] = (words_[0] ^ word) * 0x9e3779b97f4a7c15;
    words_[0] ^= words_[0] >> 32;
    words_[1] = (words_[1] ^ word) * 0xd6e8feb86659fd93;
    words_[1] ^= words_[1] >> 29;
  }
  static std::uint64_t word_of(std::string_view text, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), bytes);
    return word;
  }

  MergeDigest::Words words_{0xcbf29ce484222325, 0x6c62272e07bb0142};
};

}  // namespace

// The file of a call site is a literal: an equal address has an equal text. Tags lie on stacks, and
// descriptions depend on values.
const MergeDigest::Words& MergeDigest::of(const MergeRequest& request) {
  const bool is_known = type_ != nullptr && request.type == type_ && request.tag == nullptr &&
                        request.site.file == site_.file && request.site.line == site_.line;
  if (is_known) return words_;
  Hashes hashes;
  hashes.add(request);
  words_ = hashes.words();
  const bool may_stay = request.tag == nullptr && request.type->describe == nullptr;
  type_ = may_stay ? request.type : nullptr;
  site_ = request.site;
  return words_;
}

}  // namespace belfry::detail
