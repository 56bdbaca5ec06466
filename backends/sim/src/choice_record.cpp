// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "choice_record.h"

namespace belfry::sim {

void ChoiceRecord::add_large(std::uint32_t head, std::uint32_t count, std::uint32_t value) {
  words_.push_back(static_cast<std::uint16_t>(head));
  for (const std::uint32_t number : {count, value}) {
    words_.push_back(static_cast<std::uint16_t>(number));
    words_.push_back(static_cast<std::uint16_t>(number >> 16));
  }
}

std::vector<Choice> ChoiceRecord::choices() const {
  std::vector<Choice> result;
  result.reserve(kept());
  std::size_t at = 0;
  const auto large = [&] {
    const std::uint32_t low = words_[at++];
    return low | std::uint32_t{words_[at++]} << 16;
  };
  while (at < words_.size()) {
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
