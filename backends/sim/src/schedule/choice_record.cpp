// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "schedule/choice_record.h"

#include <new>

namespace belfry::sim {

std::uint32_t ChoiceRecord::add_rare(std::uint32_t head, std::uint32_t count, std::uint32_t value) {
  constexpr std::size_t kMostWords = 5;
  if (room_ - used_ < kMostWords) {
    try {
      words_.resize(2 * room_ + kMostWords);
    } catch (const std::bad_alloc&) {
      // The code that asks for a choice is between two states and cannot handle an exception.
      limit_ = made_ - 1;
      return value;
    }
    room_ = words_.size();
  }
  const auto put = [&](std::uint32_t word) { words_[used_++] = static_cast<std::uint16_t>(word); };
  if (count < 128) {
    put(head | count << 7 | value);
    return value;
  }
  put(head);
  for (const std::uint32_t number : {count, value}) {
    put(number);
    put(number >> 16);
  }
  return value;
}

std::vector<Choice> ChoiceRecord::choices() const {
  std::vector<Choice> result;
  result.reserve(kept());
  std::size_t at = 0;
  const auto large = [&] {
    const std::uint32_t low = words_[at++];
    return low | std::uint32_t{words_[at++]} << 16;
  };
  while (at < used_) {
    const std::uint32_t word = words_[at++];
    Choice choice{static_cast<ChoiceKind>(word >> 14), word >> 7 & 127, word & 127};
    if (choice.count == 0) {
      choice.count = large();
      choice.value = large();
    }
    result.push_back(choice);
  }
  return result;
}

}  // namespace belfry::sim
