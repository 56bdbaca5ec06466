// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "page/packed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace belfry::tool {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kShortest = 6;
constexpr std::size_t kLongest = kShortest + 63;
constexpr std::size_t kFarthest = (1U << 18) - 1;
constexpr std::size_t kBuckets = 1U << 16;

// The bytes of a character of UTF-8, by its first byte.
int bytes_of(unsigned char first) { return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

void add_escaped(std::string& text, std::uint32_t code) {
  if (code < 0x10000) {
    text += fmt::format("\\u{:04x}", code);
    return;
  }
  code -= 0x10000;
  text += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
}

}  // namespace

std::string ascii_json(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = static_cast<unsigned char>(json[i]);
    if (byte < 0x80 && byte != '<' && byte != '~') {
      text += json[i];
      continue;
    }
    std::uint32_t code = byte;
    if (byte >= 0x80) {
      const int bytes = bytes_of(byte);
      code = byte & (0xFFU >> (bytes + 1));
      for (int more = 1; more < bytes && i + 1 < json.size(); ++more) {
        code = (code << 6) | (static_cast<unsigned char>(json[++i]) & 0x3FU);
      }
    }
    add_escaped(text, code);
  }
  return text;
}

PackedText::PackedText() : buckets_(kBuckets) {}

PackedText::Bucket& PackedText::bucket_at(std::size_t place) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text_.data() + place, kShortest);
  return buckets_[(bytes * 0x9E3779B97F4A7C15U) >> 48];
}

PackedText::Repetition PackedText::longest_at(std::size_t place) {
  Repetition longest;
  const std::size_t most = std::min(kLongest, text_.size() - place);
  for (const std::uint32_t earlier : bucket_at(place).places) {
    if (earlier >= place || place - earlier > kFarthest) continue;
    std::size_t length = 0;
    while (length < most && text_[earlier + length] == text_[place + length]) ++length;
    if (length >= kShortest && length > longest.length) longest = {length, place - earlier};
  }
  return longest;
}

void PackedText::remember(std::size_t place) {
  Bucket& bucket = bucket_at(place);
  bucket.places[bucket.next++ % kSlots] = static_cast<std::uint32_t>(place);
}

void PackedText::add(std::string_view line) {
  std::size_t place = text_.size();
  text_ += line;
  text_ += '\n';
  while (place < text_.size()) {
    const bool hashed = place + kShortest <= text_.size();
    const Repetition found = hashed ? longest_at(place) : Repetition{};
    if (found.length == 0) {
      packed_ += text_[place];
    } else {
      packed_ += '~';
      packed_ += kDigits[found.length - kShortest];
      for (const int shift : {12, 6, 0}) packed_ += kDigits[(found.distance >> shift) & 63];
    }
    const std::size_t end = place + std::max<std::size_t>(found.length, 1);
    for (; place < end; ++place) {
      if (place + kShortest <= text_.size()) remember(place);
    }
  }
}

}  // namespace belfry::tool
