// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/detail/shown_values.h"

#include "belfry/tensor.h"

#include <algorithm>
#include <cstdint>

namespace belfry::detail {

void show_leaves(const std::vector<LeafRef>& leaves,
                 const std::vector<LeafDescription>& descriptions, const std::string& path,
                 ValueVisitor& visitor) {
  auto described = descriptions.begin();
  for (const LeafRef& leaf : leaves) {
    described = std::find_if(described, descriptions.end(), is_of_leaf);
    if (described == descriptions.end()) return;
    const std::string place = path + described->path;
    const std::int64_t length = static_cast<std::int64_t>(leaf.count);
    ShownValue shown{.leaf = place, .count = leaf.count, .data = leaf.data};
    std::string text;
    if (leaf.own != nullptr) {
      text = leaf.own->text(leaf.data);
      shown.type = described->type;
      shown.text = text;
    } else {
      shown.dtype = &leaf.dtype;
      if (leaf.tensor != nullptr) {
        shown.extents = leaf.tensor->shape().extents();
        if (!leaf.tensor->empty()) shown.view = &leaf.tensor->view();
      } else if (described->type.ends_with(']')) {
        shown.extents = {&length, 1};
      }
    }
    visitor.value(shown);
    ++described;
  }
}

void show_other(std::string_view spelling, const std::string& path, ValueVisitor& visitor) {
  const std::string type = name_of(ElementFunctions{.spelling = spelling,
                                                    .size = 0,
                                                    .set_zero = nullptr,
                                                    .add_to = nullptr,
                                                    .divide = nullptr,
                                                    .text = nullptr});
  visitor.value({.leaf = path, .type = type});
}

}  // namespace belfry::detail
