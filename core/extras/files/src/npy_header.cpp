// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A header is the text of a Python dictionary, such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// padded with blanks, with a line end as its last character.
#include "npy_header.h"

#include "belfry/detail/file_source.h"
#include "belfry/error.h"

#include <bit>
#include <limits>
#include <optional>
#include <utility>

namespace belfry::detail {
namespace {

constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr NamedType kTypes[] = {
    {"f4", DType::kFloat32}, {"f8", DType::kFloat64}, {"f2", DType::kFloat16},
    {"i1", DType::kInt8},    {"i2", DType::kInt16},   {"i4", DType::kInt32},
    {"i8", DType::kInt64},   {"u1", DType::kUInt8},   {"u2", DType::kUInt16},
    {"u4", DType::kUInt32},  {"u8", DType::kUInt64},  {"b1", DType::kBool}};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const NpyPlace& place) : text_(text), place_(place) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      parse_entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (position_ < text_.size()) fail("the header goes on after its dictionary");
    const DType dtype = required(dtype_, "'descr'");
    const bool order = required(order_, "'fortran_order'");
    const std::vector<std::int64_t> extents = required(extents_, "'shape'");
    return {dtype, order, extents, bytes(dtype, extents)};
  }

 private:
  void parse_entry() {
    skip_blanks();
    const std::size_t begin = position_;
    const std::string_view key = parse_string();
    expect(':');
    if (key == "descr" && !dtype_) {
      dtype_ = parse_type();
    } else if (key == "fortran_order" && !order_) {
      order_ = parse_boolean();
    } else if (key == "shape" && !extents_) {
      skip_blanks();
      shape_position_ = position_;
      extents_ = parse_extents();
    } else {
      position_ = begin;
      const bool is_twice = key == "descr" || key == "fortran_order" || key == "shape";
      fail("'" + printable(key) + (is_twice ? "' is there twice" : "' does not belong here"));
    }
  }

  DType parse_type() {
    skip_blanks();
    const std::size_t begin = position_;
    if (begin < text_.size() && text_[begin] == '[') {
      fail("elements with fields cannot be read",
           "save each field as an array of its own: numpy.save(path, array['name'])");
    }
    const std::string_view type = parse_string();
    position_ = begin;
    if (type.size() == 3 && type[0] == '>') {
      fail("elements are big-endian ('" + printable(type) + "')",
           "save array.astype(array.dtype.newbyteorder('<')), which is little-endian");
    }
    for (const NamedType& known : kTypes) {
      const bool needs_order = size_of(known.dtype) > 1;
      if (type.size() != 3 || type.substr(1) != known.name) continue;
      const bool is_native = type[0] == '=' && std::endian::native == std::endian::little;
      if (type[0] != '<' && !is_native && (needs_order || type[0] != '|')) continue;
      position_ += type.size() + 2;
      return known.dtype;
    }
    fail("'" + printable(type) + "' is no element type that can be read",
         "convert the array to numbers of at most 64 bits or booleans, for example with "
         "array.astype(numpy.float64), and save it again");
  }

  bool parse_boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(position_, word.size()) != word) continue;
      position_ += word.size();
      return word == "True";
    }
    fail("True or False is missing");
  }

  std::vector<std::int64_t> parse_extents() {
    std::vector<std::int64_t> extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(parse_extent());
      if (!accept(',')) {
        if (extents.size() == 1) fail("(n) is a number; an array of one axis has the shape (n,)");
        expect(')');
        break;
      }
    }
    return extents;
  }

  std::int64_t parse_extent() {
    skip_blanks();
    const std::size_t begin = position_;
    std::int64_t value = 0;
    for (; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      if (c < '0' || c > '9') break;
      if (value > (kMaxBytes - (c - '0')) / 10) fail_at(begin, "an extent is too large");
      value = value * 10 + (c - '0');
    }
    if (position_ == begin) fail("an extent is missing");
    // Python 2 wrote long integers with an L.
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;
    return value;
  }

  std::string_view parse_string() {
    skip_blanks();
    const char quote = position_ < text_.size() ? text_[position_] : ' ';
    if (quote != '\'' && quote != '"') fail("a string in quotes is missing");
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) fail("a string has no end");
    const std::string_view value = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return value;
  }

  std::size_t bytes(DType dtype, const std::vector<std::int64_t>& extents) const {
    auto bytes = static_cast<std::int64_t>(size_of(dtype));
    for (const std::int64_t extent : extents) {
      if (extent == 0) return 0;
    }
    for (const std::int64_t extent : extents) {
      if (bytes > kMaxBytes / extent) fail_at(shape_position_, "the shape has too many elements");
      bytes *= extent;
    }
    return static_cast<std::size_t>(bytes);
  }

  void skip_blanks() {
    while (position_ < text_.size() &&
           (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t')) {
      ++position_;
    }
  }
  bool accept(char c) {
    skip_blanks();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("a '") + c + "' is missing");
  }
  template <class T>
  T required(const std::optional<T>& value, const std::string& what) const {
    if (!value) fail("the header has no " + what);
    return *value;
  }
  [[noreturn]] void fail(const std::string& what, const char* hint = kBrokenNpy) const {
    throw_bad_npy(place_, position_, what, hint);
  }
  [[noreturn]] void fail_at(std::size_t position, const std::string& what) const {
    throw_bad_npy(place_, position, what);
  }

  std::string_view text_;
  const NpyPlace& place_;
  std::size_t position_ = 0;
  std::size_t shape_position_ = 0;
  std::optional<DType> dtype_;
  std::optional<bool> order_;
  std::optional<std::vector<std::int64_t>> extents_;
};

}  // namespace

void throw_bad_npy(const NpyPlace& place, std::size_t position, const std::string& what,
                   const char* hint) {
  throw InvalidArgumentError(
      ErrorCode::kFileFormat,
      place.file + ": byte " + std::to_string(place.begin + position) + ": " + what, hint,
      place.site);
}

NpyHeader parse_npy_header(std::string_view text, const NpyPlace& place) {
  return HeaderParser(text, place).parse();
}

}  // namespace belfry::detail
