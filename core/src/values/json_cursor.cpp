// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "values/json_cursor.h"

#include "belfry/error.h"

#include <limits>

namespace belfry {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&out](std::uint32_t bits) { out += static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void throw_bad_file(const std::string& where, std::size_t position, const std::string& what,
                    CallSite site) {
  throw InvalidArgumentError(ErrorCode::kFileFormat,
                             where + ", byte " + std::to_string(position) + ": " + what,
                             "the file was cut off, edited, or is no safetensors file", site);
}

void JsonCursor::fail(std::size_t position, const std::string& what) const {
  throw_bad_file(where_, position, what, site_);
}

void JsonCursor::skip_blanks() {
  while (next_ < text_.size() && (text_[next_] == ' ' || text_[next_] == '\t' ||
                                  text_[next_] == '\n' || text_[next_] == '\r')) {
    ++next_;
  }
}

bool JsonCursor::accept(char mark) {
  skip_blanks();
  if (next_ == text_.size() || text_[next_] != mark) return false;
  ++next_;
  return true;
}

void JsonCursor::expect(char mark) {
  if (!accept(mark)) fail(position(), std::string("expected '") + mark + "'");
}

void JsonCursor::expect_end() {
  skip_blanks();
  if (next_ != text_.size()) fail(position(), "text after the end of the header");
}

char JsonCursor::take(const char* wanted) {
  if (next_ == text_.size()) fail(position(), std::string("the header ends inside ") + wanted);
  return text_[next_++];
}

std::uint32_t JsonCursor::hex4() {
  std::uint32_t code = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = take("an escape");
    code <<= 4;
    if (is_digit(c)) {
      code |= static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      code |= static_cast<std::uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      code |= static_cast<std::uint32_t>(c - 'A' + 10);
    } else {
      fail(position() - 1, "expected four hexadecimal digits");
    }
  }
  return code;
}

void JsonCursor::escape(std::string& out) {
  const std::size_t start = position() - 1;
  constexpr std::string_view kMarks = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const char c = take("an escape");
  if (const std::size_t at = kMarks.find(c); at != std::string_view::npos) {
    out += kMeant[at];
    return;
  }
  if (c != 'u') fail(start, "an escape that JSON does not have");
  std::uint32_t code = hex4();
  if (code >= 0xDC00 && code < 0xE000) fail(start, "half a surrogate pair");
  if (code >= 0xD800 && code < 0xDC00) {
    if (take("a surrogate pair") != '\\' || take("a surrogate pair") != 'u') {
      fail(start, "half a surrogate pair");
    }
    const std::uint32_t low = hex4();
    if (low < 0xDC00 || low >= 0xE000) fail(start, "half a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(out, code);
}

std::string JsonCursor::string() {
  expect('"');
  std::string out;
  for (;;) {
    const char c = take("a string");
    if (c == '"') return out;
    if (static_cast<unsigned char>(c) < 0x20) fail(position() - 1, "a control character");
    if (c == '\\') {
      escape(out);
    } else {
      out += c;
    }
  }
}

std::int64_t JsonCursor::number() {
  skip_blanks();
  const std::size_t start = position();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t value = 0;
  std::size_t digits = 0;
  while (next_ < text_.size() && is_digit(text_[next_])) {
    const std::int64_t digit = text_[next_] - '0';
    if (value > (kMost - digit) / 10) fail(start, "a number that is too large");
    value = value * 10 + digit;
    ++next_;
    ++digits;
  }
  if (digits == 0) fail(start, "expected a whole number");
  if (digits > 1 && text_[next_ - digits] == '0') fail(start, "a number that begins with 0");
  return value;
}

}  // namespace belfry
