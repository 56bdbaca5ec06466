// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/sim/replay_token.h"

#include "belfry/error.h"
#include "engine/digest.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace belfry::sim {
namespace {

// A token is `bf1.` and the bytes below, six bits a character, the upper bits first:
//
//   for each choice   count * 3 + kind, then the value: agent (0) 2 of 5 is 15, 2
//   at the end        the checksum of the bytes before, 4 bytes, the lowest first
//
// Numbers have seven bits a byte, the lowest first; the upper bit of a byte says that a byte
// follows. A list of choices has a single token: a reader refuses needless bytes and stray bits.
constexpr std::string_view kPrefix = "bf1.";
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kChecksumBytes = 4;
constexpr unsigned kKinds = 3;

using Bytes = std::vector<std::uint8_t>;

void append_number(Bytes& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<std::uint8_t>(number | 0x80));
  bytes.push_back(static_cast<std::uint8_t>(number));
}

// Reads numbers from the front of some bytes.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool at_end() const { return bytes_.empty(); }

  // Nothing in three cases: the bytes end within the number, the number is too large, or the number
  // has more bytes than needed. Each list of choices has a single text.
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && !bytes_.empty(); shift += 7) {
      const std::uint8_t byte = bytes_.front();
      bytes_ = bytes_.subspan(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte == 0 && shift > 0) return std::nullopt;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

std::uint32_t checksum(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = bytes.size();
  for (const std::uint8_t byte : bytes) hash = engine::mix(hash, byte);
  return static_cast<std::uint32_t>(hash >> 32);
}

std::string to_text(const Bytes& bytes) {
  std::string text(kPrefix);
  text.reserve(kPrefix.size() + bytes.size() * 8 / 6 + 1);
  std::uint32_t bits = 0;
  int held = 0;
  for (const std::uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (held += 8; held >= 6; held -= 6) text += kAlphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) text += kAlphabet[bits << (6 - held) & 63];
  return text;
}

[[noreturn]] void reject(const std::string& why, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kReplay, "not a replay token: " + why,
                             "paste the whole token, from `bf1.` to its end", site);
}

Bytes to_bytes(std::string_view token, CallSite site) {
  if (!token.starts_with(kPrefix)) reject("it does not begin with `bf1.`", site);
  Bytes bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (std::size_t at = kPrefix.size(); at < token.size(); ++at) {
    const std::size_t digit = kAlphabet.find(token[at]);
    if (digit == kAlphabet.npos) {
      reject("the character at column " + std::to_string(at + 1) + " cannot be part of one", site);
    }
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> held));
  }
  // A single text for each list of choices: no dangling digit, no stray bits.
  if (held >= 6 || (bits & ((1u << held) - 1)) != 0) reject("its end is missing", site);
  return bytes;
}

}  // namespace

std::string encode_choices(std::span<const Choice> choices) {
  Bytes bytes;
  bytes.reserve(2 * choices.size() + kChecksumBytes);
  for (const Choice& choice : choices) {
    append_number(bytes, std::uint64_t{choice.count} * kKinds + static_cast<unsigned>(choice.kind));
    append_number(bytes, choice.value);
  }
  const std::uint32_t sum = checksum(bytes);
  for (std::size_t i = 0; i < kChecksumBytes; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(sum >> (8 * i)));
  }
  return to_text(bytes);
}

std::vector<Choice> decode_choices(std::string_view token, CallSite site) {
  const Bytes bytes = to_bytes(token, site);
  if (bytes.size() < kChecksumBytes) reject("it is too short", site);
  const auto body = std::span(bytes).first(bytes.size() - kChecksumBytes);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kChecksumBytes; ++i) {
    sum |= static_cast<std::uint32_t>(bytes[body.size() + i]) << (8 * i);
  }
  if (sum != checksum(body)) reject("its checksum does not fit; a character was lost", site);
  std::vector<Choice> choices;
  for (Reader reader(body); !reader.at_end();) {
    const auto what = reader.number();
    const auto value = reader.number();
    if (!what || !value) {
      reject("choice " + std::to_string(choices.size()) + " cannot be read", site);
    }
    const std::uint64_t count = *what / kKinds;
    if (count > std::numeric_limits<std::uint32_t>::max() || *value >= count) {
      reject("choice " + std::to_string(choices.size()) + " is impossible", site);
    }
    choices.push_back({static_cast<ChoiceKind>(*what % kKinds), static_cast<std::uint32_t>(count),
                       static_cast<std::uint32_t>(*value)});
  }
  return choices;
}

}  // namespace belfry::sim
