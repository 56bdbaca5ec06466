// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The JSON library reads the header and reports the pieces in order, without a tree of values and
// without places. The place of a piece is found in the text by a second pass: between two pieces
// lie blanks, commas and colons alone.
#include "values/tensor_header.h"

#include "belfry/detail/file_source.h"
#include "belfry/detail/json.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace belfry {
namespace {

// The places of the pieces of JSON in a text.
class PieceFinder {
 public:
  explicit PieceFinder(std::string_view text) : text_(text) {}

  std::size_t end() const { return end_; }
  // Passes the next piece and returns the begin of the piece.
  std::size_t next() {
    const std::size_t begin = text_.find_first_not_of(" \t\n\r,:", end_);
    if (text_[begin] == '"') {
      end_ = end_of_string(begin);
    } else if (std::string_view("{}[]").find(text_[begin]) != std::string_view::npos) {
      end_ = begin + 1;
    } else {
      end_ = std::min(text_.find_first_of(" \t\n\r,:{}[]", begin), text_.size());
    }
    return begin;
  }

 private:
  std::size_t end_of_string(std::size_t begin) const {
    std::size_t at = begin + 1;
    while (text_[at] != '"') at += text_[at] == '\\' ? 2 : 1;
    return at + 1;
  }

  std::string_view text_;
  std::size_t end_ = 0;
};

class HeaderReader final : private detail::JsonPieces {
 public:
  HeaderReader(std::string_view text, const TensorFilePlace& place)
      : text_(text), place_(place), pieces_(text) {}

  TensorHeader read() {
    if (!text_.starts_with('{')) fail(0, "expected '{'");
    try {
      detail::read_json(text_, false, *this);
    } catch (const detail::JsonError& error) {
      fail(error.read == 0 ? 0 : error.read - 1,
           *error.what() == '\0' ? "a number that is too large" : error.what());
    }
    const std::size_t rest = text_.find_first_not_of(' ', pieces_.end());
    if (rest != std::string_view::npos) fail(rest, "text after the end of the header");
    return std::move(header_);
  }

 private:
  void start_object() override {
    const std::size_t begin = pieces_.next();
    if (level_ == Level::kOutside) {
      level_ = Level::kHeader;
    } else if (level_ == Level::kHeader && name_ == kNotesName) {
      level_ = Level::kNotes;
    } else if (level_ == Level::kHeader) {
      level_ = Level::kEntry;
      entry_ = {};
      entry_.position = kLengthBytes + name_begin_;
      has_type_ = has_shape_ = has_span_ = false;
    } else {
      unexpected(begin);
    }
  }

  void key(std::string text) override {
    const std::size_t begin = pieces_.next();
    if (level_ == Level::kHeader) {
      take_name(std::move(text), begin);
    } else if (level_ == Level::kNotes) {
      if (header_.notes.contains(text)) fail(begin, "a note is there twice");
      note_ = std::move(text);
    } else {
      take_field(text, begin);
    }
  }

  void end_object() override {
    pieces_.next();
    if (level_ == Level::kEntry) finish_entry();
    level_ = level_ == Level::kHeader ? Level::kOutside : Level::kHeader;
  }

  void string(std::string text) override {
    const std::size_t begin = pieces_.next();
    if (level_ == Level::kNotes) {
      header_.notes.emplace(std::move(note_), std::move(text));
    } else if (level_ == Level::kEntry && field_ == Field::kType) {
      entry_.type = file_dtype_named(text);
      if (entry_.type == nullptr) {
        place_.fail(
            kLengthBytes + begin,
            "\"" + detail::printable(text) + "\" is no element type of the format",
            "the element type is unknown, and so is the size of the array: convert the array to a "
            "type such as F32 and save the file again");
      }
    } else {
      unexpected(begin);
    }
  }

  void start_array() override {
    const std::size_t begin = pieces_.next();
    if (level_ != Level::kEntry || field_ == Field::kType) unexpected(begin);
    level_ = Level::kNumbers;
    numbers_.clear();
    numbers_begin_ = begin;
  }

  void number(std::uint64_t number) override {
    const std::size_t begin = pieces_.next();
    if (level_ != Level::kNumbers) unexpected(begin);
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail(begin, "a number that is too large");
    }
    numbers_.push_back(static_cast<std::int64_t>(number));
  }

  void other(const std::string& text) override {
    const std::size_t begin = pieces_.next();
    const bool whole = text.find_first_not_of("0123456789") == std::string::npos;
    if (level_ == Level::kNumbers && whole) fail(begin, "a number that is too large");
    unexpected(begin);
  }

  void end_array() override {
    pieces_.next();
    level_ = Level::kEntry;
    if (field_ == Field::kShape) {
      try {
        entry_.shape = Shape(std::move(numbers_));
      } catch (const InvalidArgumentError&) {
        fail(numbers_begin_, "a shape with too many elements");
      }
    } else {
      if (numbers_.size() != 2) fail(numbers_begin_, "data_offsets are two numbers");
      entry_.begin = static_cast<std::size_t>(numbers_[0]);
      entry_.end = static_cast<std::size_t>(numbers_[1]);
    }
  }

  enum class Level : std::uint8_t { kOutside, kHeader, kNotes, kEntry, kNumbers };
  enum class Field : std::uint8_t { kType, kShape, kSpan };

  void take_name(std::string name, std::size_t begin) {
    const bool is_notes = name == kNotesName;
    if (is_notes ? std::exchange(has_notes_, true) : header_.entries.contains(name)) {
      fail(begin, "\"" + detail::printable(name) + "\" is there twice");
    }
    name_ = std::move(name);
    name_begin_ = begin;
  }

  void take_field(const std::string& name, std::size_t begin) {
    if (name != "dtype" && name != "shape" && name != "data_offsets") {
      fail(begin, "an array has no \"" + detail::printable(name) + "\"");
    }
    field_ = name == "dtype" ? Field::kType : name == "shape" ? Field::kShape : Field::kSpan;
    bool& has = field_ == Field::kType    ? has_type_
                : field_ == Field::kShape ? has_shape_
                                          : has_span_;
    if (std::exchange(has, true)) fail(begin, "\"" + name + "\" is there twice");
  }

  void finish_entry() {
    if (!has_type_ || !has_shape_ || !has_span_) {
      fail(name_begin_, "\"" + name_ + "\" lacks its dtype, shape or data_offsets");
    }
    if (entry_.begin > entry_.end) {
      fail(name_begin_, "\"" + name_ + "\" lies at " + std::to_string(entry_.begin) + " to " +
                            std::to_string(entry_.end));
    }
    const std::size_t bytes = entry_.end - entry_.begin;
    if (!entry_.type->fits(entry_.shape, bytes)) {
      const FileDType& type = *entry_.type;
      fail(name_begin_, "\"" + name_ + "\" has " + std::to_string(bytes) + " bytes for " +
                            (type.dtype ? to_string(*type.dtype) : std::string(type.name)) +
                            to_string(entry_.shape));
    }
    header_.end = std::max(header_.end, entry_.end);
    header_.entries.emplace(std::move(name_), std::move(entry_));
  }

  [[noreturn]] void unexpected(std::size_t begin) const {
    const char* wanted = "expected an object";
    if (level_ == Level::kNotes) wanted = "a note is a string";
    if (level_ == Level::kNumbers) wanted = "expected a whole number, not below 0";
    if (level_ == Level::kEntry) {
      wanted = field_ == Field::kType ? "a dtype is a string" : "expected a list of numbers";
    }
    fail(begin, wanted);
  }
  [[noreturn]] void fail(std::size_t position, const std::string& what) const {
    place_.fail(kLengthBytes + position, what);
  }

  std::string_view text_;
  const TensorFilePlace& place_;
  PieceFinder pieces_;
  TensorHeader header_;
  Level level_ = Level::kOutside;
  bool has_notes_ = false;
  // The current member.
  std::string name_;
  std::size_t name_begin_ = 0;
  std::string note_;
  HeaderEntry entry_;
  Field field_ = Field::kType;
  bool has_type_ = false;
  bool has_shape_ = false;
  bool has_span_ = false;
  std::vector<std::int64_t> numbers_;
  std::size_t numbers_begin_ = 0;
};

}  // namespace

void TensorFilePlace::fail(std::size_t position, const std::string& what, const char* hint) const {
  throw InvalidArgumentError(ErrorCode::kFileFormat,
                             name + ", byte " + std::to_string(position) + ": " + what, hint, site);
}

std::size_t header_length(std::string_view contents, const TensorFilePlace& place) {
  if (contents.size() < kLengthBytes) {
    place.fail(contents.size(), "the file ends inside the length of its header");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::uint64_t{static_cast<unsigned char>(contents[i])} << (8 * i);
  }
  if (length > kMostHeaderBytes) {
    place.fail(0, "a header of " + std::to_string(length) + " bytes; the format allows " +
                      std::to_string(kMostHeaderBytes));
  }
  return static_cast<std::size_t>(length);
}

TensorHeader parse_header(std::string_view contents, const TensorFilePlace& place) {
  const std::size_t length = header_length(contents, place);
  if (length > contents.size() - kLengthBytes) {
    place.fail(0,
               "a header of " + std::to_string(length) + " bytes in a file of " +
                   std::to_string(contents.size()),
               "the file was cut off, or is no safetensors file");
  }
  return HeaderReader(contents.substr(kLengthBytes, length), place).read();
}

}  // namespace belfry
