// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/json_value.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::tool {

using detail::JsonValue;

/// The place of an object in a file, for errors.
class MemberPlace {
 public:
  virtual ~MemberPlace() = default;
  /// Throws InvalidArgumentError (kFileFormat) about the first member of the name.
  [[noreturn]] virtual void fail(std::string_view member, const std::string& what) const = 0;
};

/// A line of a file. An error has the form `file:line:column: what`.
class LinePlace final : public MemberPlace {
 public:
  LinePlace(const std::string& of, std::int64_t line, std::string_view with)
      : file(of), number(line), text(with) {}

  /// Throws InvalidArgumentError (kFileFormat) for a column, from 1.
  [[noreturn]] void fail_at(std::size_t column, const std::string& what) const;
  [[noreturn]] void fail(std::string_view member, const std::string& what) const override;

  const std::string& file;
  std::int64_t number;
  std::string_view text;
};

/// The members of an object, with checks of their types. A member with the value null is absent.
/// Throws: as MemberPlace::fail.
class LineMembers {
 public:
  LineMembers(const JsonValue& object, const MemberPlace& place) : object_(object), place_(place) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Null without the member.
  const JsonValue* find(std::string_view name) const;
  /// A whole number from 0 on; without the member `absent`, or an error if `absent` is -2.
  std::int64_t number(std::string_view name, std::int64_t absent = kRequired) const;
  /// Empty without the member.
  std::string text(std::string_view name) const;
  /// False without the member.
  bool flag(std::string_view name) const;
  std::vector<std::int64_t> numbers(std::string_view name) const;
  /// Numbers, booleans and strings, as in the source.
  std::vector<std::string> elements(std::string_view name) const;
  /// The elements of a list of objects; empty without the member.
  std::vector<LineMembers> objects(std::string_view name) const;
  /// The elements of a list; empty without the member.
  const std::vector<JsonValue>& list(std::string_view name) const;
  const JsonValue& object() const { return object_; }
  const MemberPlace& place() const { return place_; }

 private:
  static constexpr std::int64_t kRequired = -2;

  const JsonValue& object_;
  const MemberPlace& place_;
};

}  // namespace belfry::tool
