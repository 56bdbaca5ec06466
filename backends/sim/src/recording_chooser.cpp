// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "recording_chooser.h"

#include <cstring>

namespace belfry::sim {
namespace {

// The first byte is the kind in its upper two bits and the count below, or kLarge for a count that
// does not fit: then count and value follow in four bytes each instead of the value in one.
constexpr std::uint32_t kLarge = 63;

}  // namespace

void RecordingChooser::keep(ChoiceKind kind, std::uint32_t count, std::uint32_t value) {
  const std::uint32_t head = static_cast<std::uint32_t>(kind) << 6;
  if (count < kLarge) {
    bytes_.push_back(static_cast<std::uint8_t>(head | count));
    bytes_.push_back(static_cast<std::uint8_t>(value));
    return;
  }
  bytes_.push_back(static_cast<std::uint8_t>(head | kLarge));
  const std::uint32_t numbers[2] = {count, value};
  const std::size_t at = bytes_.size();
  bytes_.resize(at + sizeof(numbers));
  std::memcpy(bytes_.data() + at, numbers, sizeof(numbers));
}

std::vector<Choice> RecordingChooser::choices() const {
  std::vector<Choice> result;
  result.reserve(kept());
  for (std::size_t at = 0; at < bytes_.size();) {
    const std::uint8_t head = bytes_[at++];
    Choice choice{static_cast<ChoiceKind>(head >> 6), head & kLarge, 0};
    if (choice.count == kLarge) {
      std::memcpy(&choice.count, bytes_.data() + at, sizeof(choice.count));
      std::memcpy(&choice.value, bytes_.data() + at + sizeof(choice.count), sizeof(choice.value));
      at += sizeof(choice.count) + sizeof(choice.value);
    } else {
      choice.value = bytes_[at++];
    }
    result.push_back(choice);
  }
  return result;
}

}  // namespace belfry::sim
