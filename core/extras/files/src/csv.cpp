// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/files/csv.h"

#include "belfry/detail/file_source.h"
#include "belfry/error.h"
#include "parse_number.h"

#include <algorithm>
#include <utility>

namespace belfry {
namespace {

// The limit ends endless files.
constexpr std::size_t kMaxField = std::size_t{1} << 20;
constexpr std::size_t kMaxFields = std::size_t{1} << 20;
constexpr int kEnd = std::istream::traits_type::eof();

struct Place {
  std::int64_t line = 1;
  std::int64_t column = 1;
};

[[noreturn]] void fail_at(const std::string& name, Place place, const std::string& what,
                          CallSite site) {
  throw InvalidArgumentError(
      ErrorCode::kFileFormat,
      name + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " + what,
      "lines of fields separated by commas, each with as many", site);
}

// Characters with their places, and the character after the next.
class Characters {
 public:
  Characters(std::streambuf& buffer, const std::string& name, CallSite site)
      : buffer_(buffer), name_(name), site_(site) {
    // Some programs begin UTF-8 with a mark.
    static constexpr std::string_view kMark = "\xef\xbb\xbf";
    while (start_.size() < kMark.size()) {
      const int next = read_buffer();
      if (next == kEnd) break;
      start_ += static_cast<char>(next);
    }
    if (start_ == kMark) start_.clear();
    next_ = read();
    second_ = read();
  }

  bool ended() const { return next_ == kEnd; }
  int peek() const { return next_; }
  bool at_line_end() const { return next_ == '\n' || (next_ == '\r' && second_ == '\n'); }
  Place place() const { return place_; }
  int take() {
    const int taken = next_;
    place_.column += 1;
    if (taken == '\n') place_ = {place_.line + 1, 1};
    next_ = second_;
    second_ = read();
    return taken;
  }

 private:
  int read() {
    if (used_ < start_.size()) return static_cast<unsigned char>(start_[used_++]);
    return read_buffer();
  }
  // A file of the standard library reports a failed device by an ios_base::failure.
  int read_buffer() {
    try {
      return buffer_.sbumpc();
    } catch (const std::ios_base::failure&) {
      fail_at(name_, place_, "the device reported an error", site_);
    }
  }

  std::streambuf& buffer_;
  const std::string& name_;
  CallSite site_;
  std::string start_;  // Read in search of the mark, and no mark.
  std::size_t used_ = 0;
  int next_ = kEnd;
  int second_ = kEnd;
  Place place_;
};

// Reads fields in order.
class FieldReader {
 public:
  FieldReader(std::istream& in, const std::string& name, char separator, CallSite site)
      : characters_(*in.rdbuf(), name, site), name_(name), separator_(separator), site_(site) {}

  bool ended() const { return characters_.ended(); }
  Place place() const { return characters_.place(); }
  /// Appends the next field to `text`; true if a further field follows on the line.
  bool next(std::string& text) {
    begin_ = characters_.place();
    size_ = 0;
    if (characters_.peek() == '"')
      quoted(text);
    else
      bare(text);
    if (ended()) return false;
    if (characters_.peek() == '\r') characters_.take();
    return characters_.take() == separator();
  }

  [[noreturn]] void fail(Place place, const std::string& what) const {
    fail_at(name_, place, what, site_);
  }

 private:
  int separator() const { return static_cast<unsigned char>(separator_); }
  bool at_end_of_field() const {
    return ended() || characters_.peek() == separator() || characters_.at_line_end();
  }

  void bare(std::string& text) {
    while (!at_end_of_field()) {
      if (characters_.peek() == '"') {
        fail(characters_.place(), "a quote inside a field that does not begin with one");
      }
      if (characters_.peek() == '\r') fail(characters_.place(), "a CR without LF after it");
      append(text);
    }
  }

  void quoted(std::string& text) {
    characters_.take();
    for (;;) {
      if (ended()) fail(begin_, "the quote that begins this field has no end");
      if (characters_.peek() == '"') {
        characters_.take();
        if (characters_.peek() != '"') break;
      }
      append(text);
    }
    if (!at_end_of_field()) {
      fail(characters_.place(), "the field goes on after its closing quote");
    }
  }

  void append(std::string& text) {
    if (++size_ > kMaxField) fail(begin_, "a field has more than a million characters");
    text += static_cast<char>(characters_.take());
  }

  Characters characters_;
  const std::string& name_;
  char separator_;
  CallSite site_;
  Place begin_;
  std::size_t size_ = 0;
};

using Line = std::vector<detail::CsvField>;

// The next line, with the text appended to `text`. `width`: of the lines before, or 0.
Line read_line(FieldReader& reader, std::size_t width, std::string& text) {
  const Place begin = reader.place();
  const std::size_t most = width == 0 ? kMaxFields : width;
  Line line;
  bool more = true;
  while (more) {
    const Place place = reader.place();
    if (line.size() == most) {
      reader.fail(place, "the line has more than " + std::to_string(most) + " fields");
    }
    const std::size_t offset = text.size();
    more = reader.next(text);
    line.push_back({offset, text.size() - offset, place.line, place.column});
  }
  if (width != 0 && line.size() != width) {
    reader.fail(begin, "the line has " + std::to_string(line.size()) + " of " +
                           std::to_string(width) + " fields");
  }
  return line;
}

void require_separator(char separator, CallSite site) {
  if (separator != '"' && separator != '\n' && separator != '\r') return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "fields cannot be separated by a quote or a line end",
                             "choose a comma, a semicolon or a tabulator", site);
}

}  // namespace

CsvTable parse_csv(std::istream& in, const std::string& name, CsvOptions options, CallSite site) {
  require_separator(options.separator, site);
  CsvTable table;
  table.name_ = name;
  FieldReader reader(in, name, options.separator, site);
  if (reader.ended()) reader.fail(reader.place(), "the file is empty");
  bool is_header = options.has_header;
  while (!reader.ended()) {
    const Line line = read_line(reader, table.header_.size(), table.text_);
    table.header_.resize(line.size());
    if (!std::exchange(is_header, false)) {
      table.fields_.insert(table.fields_.end(), line.begin(), line.end());
      table.num_rows_ += 1;
      continue;
    }
    for (std::size_t i = 0; i < line.size(); ++i) {
      table.header_[i] = table.text_.substr(line[i].begin, line[i].size);
    }
  }
  if (in.bad()) reader.fail(reader.place(), "the device reported an error");
  return table;
}

CsvTable read_csv(const std::string& path, CsvOptions options, CallSite site) {
  std::ifstream in = detail::open_file(path, site);
  return parse_csv(in, path, options, site);
}

std::int64_t CsvTable::column(std::string_view name, CallSite site) const {
  const auto found = std::ranges::find(header_, name);
  if (found != header_.end()) return found - header_.begin();
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             name_ + " has no column \"" + detail::printable(name) + "\"",
                             "read it with has_header, and ask for a name of its first line", site);
}

std::string_view CsvTable::text(std::int64_t row, std::int64_t column, CallSite site) const {
  if (row < 0 || row >= num_rows_ || column < 0 || column >= num_columns()) {
    throw InvalidArgumentError(
        ErrorCode::kOutOfBounds,
        "field " + std::to_string(column) + " of row " + std::to_string(row) + " of a table of " +
            std::to_string(num_rows_) + " rows and " + std::to_string(num_columns()) + " columns",
        "both are numbered from 0", site);
  }
  const detail::CsvField& at = field(row, column);
  return std::string_view(text_).substr(at.begin, at.size);
}

HostArray CsvTable::parse_numbers(DType dtype, std::int64_t begin, std::int64_t end,
                                  CallSite site) const {
  if (begin < 0 || begin >= end || end > num_columns()) {
    throw InvalidArgumentError(ErrorCode::kOutOfBounds,
                               "columns " + std::to_string(begin) + " to " + std::to_string(end) +
                                   " of a table of " + std::to_string(num_columns()),
                               "columns are numbered from 0; the last one is left out", site);
  }
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(num_rows_ * (end - begin)) * size_of(dtype));
  for (std::int64_t row = 0; row < num_rows_; ++row) {
    for (std::int64_t i = begin; i < end; ++i) {
      const detail::CsvField& at = field(row, i);
      const std::string_view text = std::string_view(text_).substr(at.begin, at.size);
      const detail::NumberText outcome = detail::append_number(text, dtype, bytes);
      if (outcome == detail::NumberText::kFine) continue;
      const std::string shown = "'" + detail::printable(text) + "'";
      fail_at(name_, {at.line, at.column},
              outcome == detail::NumberText::kNoNumber
                  ? shown + " is no number (" + to_string(dtype) + ")"
                  : shown + " does not fit " + to_string(dtype),
              site);
    }
  }
  return {dtype, Shape{num_rows_, end - begin}, std::move(bytes), site};
}

}  // namespace belfry
