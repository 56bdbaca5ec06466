// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/options_text.h"

#include "belfry/device_spec.h"

#include <fmt/format.h>

namespace belfry::detail {

std::string quoted(std::string_view text, char quote) {
  std::string code(1, quote);
  for (const char c : text) {
    const auto number = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      code += {'\\', c};
    } else if (number < 0x20 || number == 0x7f) {
      code += fmt::format("\\{:03o}", number);  // Three digits: a digit may follow.
    } else {
      code += c;
    }
  }
  return code + quote;
}

std::string code_of(double value) { return fmt::format("{}", value); }
std::string code_of(const std::string& value) { return detail::quoted(value); }
std::string code_of(const DeviceSpec& value) {
  return "belfry::DeviceSpec::parse(" + detail::quoted(to_string(value)) + ")";
}

std::string word_of(std::span<const std::string_view> words, int number) {
  const auto index = static_cast<std::size_t>(number);
  return std::string(number >= 0 && index < words.size() ? words[index] : "?");
}

std::string enumerator_code(const Enumerators& names, int number) {
  const int index = number - names.first;
  const std::string type(names.type);
  if (index < 0 || index >= static_cast<int>(names.names.size())) {
    return "static_cast<" + type + ">(" + std::to_string(number) + ")";
  }
  return type + "::" + std::string(names.names[static_cast<std::size_t>(index)]);
}

void OptionsText::put(std::string_view member, std::string_view code) {
  members_ += members_.empty() ? "." : ", .";
  members_ += member;
  members_ += " = ";
  members_ += code;
}

}  // namespace belfry::detail
