// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "printed_arguments.h"

#include "watched_call.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace belfry::sim::watch {
namespace {

enum class Length : std::uint8_t { kChar, kShort, kInt, kLong, kLongLong, kLongDouble };

// A part of a format, from `%` to the letter of the conversion.
class Walk {
 public:
  Walk(const char* format, std::va_list arguments, const void* pc) : at_(format), pc_(pc) {
    va_copy(arguments_, arguments);
  }
  ~Walk() { va_end(arguments_); }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// False at an argument of unknown kind: no later argument is known.
  bool walk() {
    while ((at_ = std::strchr(at_, '%')) != nullptr) {
      ++at_;
      if (*at_ == '%') {
        ++at_;
      } else if (!take_part()) {
        return false;
      }
    }
    return true;
  }

 private:
  bool take_part() {
    at_ += std::strspn(at_, "-+ #0'I");
    (void)take_number();
    if (*at_ == '$') return false;
    int precision = -1;
    if (*at_ == '.') {
      ++at_;
      precision = take_number();
    }
    const Length length = take_length();
    return *at_ != '\0' && take_argument(*at_++, length, precision);
  }

  // A width or a precision.
  int take_number() {
    if (*at_ == '*') {
      ++at_;
      return va_arg(arguments_, int);
    }
    char* end = nullptr;
    const bool is_number = *at_ >= '0' && *at_ <= '9';
    const long number = is_number ? std::strtol(at_, &end, 10) : 0;
    if (is_number) at_ = end;
    return static_cast<int>(number);
  }

  Length take_length() {
    const auto takes = [this](std::string_view letters) {
      if (!std::string_view(at_).starts_with(letters)) return false;
      at_ += letters.size();
      return true;
    };
    if (takes("hh")) return Length::kChar;
    if (takes("h")) return Length::kShort;
    if (takes("ll") || takes("q")) return Length::kLongLong;
    if (takes("L")) return Length::kLongDouble;
    return takes("l") || takes("j") || takes("z") || takes("t") ? Length::kLong : Length::kInt;
  }

  bool take_argument(char conversion, Length length, int precision) {
    const bool is_long = length >= Length::kLong;
    switch (conversion) {
      case 'd':
      case 'i':
      case 'o':
      case 'u':
      case 'x':
      case 'X':
        if (is_long) {
          (void)va_arg(arguments_, long);
        } else {
          (void)va_arg(arguments_, int);
        }
        return true;
      case 'c':
        (void)va_arg(arguments_, int);
        return true;
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (length == Length::kLongDouble) {
          (void)va_arg(arguments_, long double);
        } else {
          (void)va_arg(arguments_, double);
        }
        return true;
      case 's':
        return !is_long && read_text(va_arg(arguments_, const char*), precision);
      case 'p':
        (void)va_arg(arguments_, void*);
        return true;
      case 'n':
        writes(va_arg(arguments_, void*), bytes_of(length), pc_);
        return true;
      case 'm':
        return true;
      default:
        return false;
    }
  }

  bool read_text(const char* text, int precision) const {
    if (text == nullptr) return true;  // The C library prints a word.
    const std::size_t most = precision < 0 ? SIZE_MAX / 2 : static_cast<std::size_t>(precision);
    const std::size_t letters = ::strnlen(text, most);
    reads(text, letters < most ? letters + 1 : letters, pc_);
    return true;
  }

  static std::size_t bytes_of(Length length) {
    if (length == Length::kChar) return 1;
    if (length == Length::kShort) return sizeof(short);
    return length == Length::kInt ? sizeof(int) : sizeof(long);
  }

  const char* at_;
  const void* pc_;
  std::va_list arguments_{};
};

}  // namespace

void touch_arguments(const char* format, std::va_list arguments, const void* pc) {
  if (belfry_watch_counts == 0) return;
  reads(format, std::strlen(format) + 1, pc);
  const bool is_known = Walk(format, arguments, pc).walk();
  if (!is_known && belfry_watch_inside != 0) {
    host_watcher().note_unseen("printf with %ls, or with arguments by position");
  }
}

}  // namespace belfry::sim::watch
