// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/addition_order.h"

namespace belfry {
namespace {

// `margin` is the text before the lines below this tree.
void draw_below(const AdditionTree& tree, const std::string& margin, std::string& text) {
  text += tree.terms.empty() ? to_string(tree) : "+";
  text += '\n';
  for (std::size_t i = 0; i < tree.terms.size(); ++i) {
    const bool is_last = i + 1 == tree.terms.size();
    text += margin + (is_last ? "`-- " : "|-- ");
    draw_below(tree.terms[i], margin + (is_last ? "    " : "|   "), text);
  }
}

}  // namespace

std::string draw(const AdditionTree& tree) {
  std::string text;
  draw_below(tree, "", text);
  return text;
}

}  // namespace belfry
