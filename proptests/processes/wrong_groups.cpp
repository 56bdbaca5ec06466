// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "processes/wrong_groups.h"

#include "belfry/detail/changed_components.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace belfry::testing {
namespace {

// The bytes of `words` in a message; empty without the words.
auto found_in(std::vector<std::byte>& message, std::string_view words) {
  return std::ranges::search(message, std::as_bytes(std::span(words)));
}

}  // namespace

// A listening process sends no list.
WrongGroup::Messages RepeatsTheFirst::changed(Messages messages) {
  constexpr std::size_t kNumber = sizeof(float);
  const auto gathers = [](std::vector<std::byte>& message) {
    return !found_in(message, "gather").empty();
  };
  if (messages.size() < 2 || !gathers(messages[0]) || !gathers(messages[1])) return messages;
  std::copy_n(messages[0].end() - kNumber, kNumber, messages[1].end() - kNumber);
  return messages;
}

// A listening process does nothing at unknown words.
WrongGroup::Messages PassesChangesOver::changed(Messages messages) {
  const auto change_in = [](std::vector<std::byte>& message) {
    return found_in(message, detail::kPutValue);
  };
  const bool changes = std::ranges::any_of(
      messages, [&](std::vector<std::byte>& message) { return !change_in(message).empty(); });
  if (!changes || ++changes_ % 2 == 1) return messages;
  for (std::vector<std::byte>& message : messages) {
    std::ranges::fill(change_in(message), std::byte{'-'});
  }
  return messages;
}

FoldedBytes ComparesLengths::fold(std::span<const std::byte> bytes, Fold fold) {
  FoldedBytes right = WrongGroup::fold(bytes, fold);
  const bool same = std::ranges::all_of(
      right.all, [&](const auto& message) { return message.size() == bytes.size(); });
  if (right.result != nullptr || !same) return right;
  const std::vector<std::span<const std::byte>> seen(right.all.size(), right.all.front());
  std::optional<std::vector<std::byte>> result = fold(seen);
  if (!result) return right;
  return {.result = std::make_shared<const std::vector<std::byte>>(*std::move(result))};
}

}  // namespace belfry::testing
