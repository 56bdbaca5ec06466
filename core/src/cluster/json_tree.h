// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/json.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry::detail {

/// The values of a text of JSON, however deep the text is nested.
class JsonTree final : private JsonPieces {
 public:
  enum class Kind : std::uint8_t { kObject, kArray, kString, kNumber, kOther, kNull };
  struct Node {
    Kind kind = Kind::kNull;
    std::string name{};                ///< Of a member.
    std::string text{};                ///< Of a string.
    std::uint64_t number = 0;          ///< Of kNumber, a whole number from 0 on.
    std::vector<std::size_t> parts{};  ///< Members or elements, in the order of the text.
  };

  /// Throws: JsonError; the text is no JSON, or an object has two members with equal names.
  explicit JsonTree(std::string_view text);

  const Node& root() const { return nodes_.front(); }
  const Node& node(std::size_t index) const { return nodes_[index]; }
  /// The member of the name, if the object has the member and the member is not null.
  const Node* member(const Node& object, std::string_view name) const;

 private:
  void start_object() override { open(Kind::kObject); }
  void key(std::string name) override;
  void end_object() override { close(); }
  void start_array() override { open(Kind::kArray); }
  void end_array() override { close(); }
  void string(std::string text) override { add(Kind::kString).text = std::move(text); }
  void number(std::uint64_t number) override { add(Kind::kNumber).number = number; }
  void other(const std::string& text) override { add(text == "null" ? Kind::kNull : Kind::kOther); }

  Node& add(Kind kind);
  void open(Kind kind);
  void close() { open_.pop_back(); }

  // An object or array before the end.
  struct Open {
    std::size_t node;
    std::set<std::string> names;
  };

  std::vector<Node> nodes_;
  std::vector<Open> open_;  // The outermost first.
  std::string name_;        // Of the next member.
};

}  // namespace belfry::detail
