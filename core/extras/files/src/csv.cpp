// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/files/csv.h"

#include "belfry/detail/file_source.h"
#include "belfry/error.h"
#include "csv_fault.h"

#include <algorithm>
#include <utility>

namespace belfry {
namespace {

// The limit ends endless files.
constexpr std::size_t kMaxField = std::size_t{1} << 20;
constexpr std::size_t kMaxFields = std::size_t{1} << 20;
constexpr int kEnd = std::istream::traits_type::eof();

using detail::fail_at;
using Place = detail::CsvPlace;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

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
  bool at_line_end() const { return next_ == '\n' || next_ == '\r'; }
  Place place() const { return place_; }
  int take() {
    const int taken = next_;
    place_.column += 1;
    const bool ends_line = taken == '\n' || (taken == '\r' && second_ != '\n');
    if (ends_line) place_ = {place_.line + 1, 1};
    next_ = second_;
    second_ = read();
    return taken;
  }
  // LF, CR LF or CR.
  void take_line_end() {
    if (take() == '\r' && next_ == '\n') take();
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
  /// Whether the last field was in quotes.
  bool was_quoted() const { return was_quoted_; }
  /// Appends the next field to `text`; true if a further field follows on the line.
  bool next(std::string& text) {
    begin_ = characters_.place();
    size_ = 0;
    was_quoted_ = characters_.peek() == '"';
    if (was_quoted_)
      quoted(text);
    else
      bare(text);
    if (ended()) return false;
    if (characters_.at_line_end()) {
      characters_.take_line_end();
      return false;
    }
    characters_.take();
    return true;
  }
  void skip_line() {
    begin_ = characters_.place();
    std::size_t size = 0;
    for (; !ended() && !characters_.at_line_end(); characters_.take()) {
      if (++size > kMaxField) fail(begin_, "a skipped line has more than a million characters");
    }
    if (!ended()) characters_.take_line_end();
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
  bool was_quoted_ = false;
};

struct Line {
  std::vector<detail::CsvField> fields{};
  Place begin{};
  bool is_blank = false;
};

// The next line, with the text appended to `text`. `width`: of the lines before, or 0.
Line read_line(FieldReader& reader, std::size_t width, std::string& text) {
  Line line{.begin = reader.place()};
  const std::size_t most = width == 0 ? kMaxFields : width;
  const std::size_t text_begin = text.size();
  bool more = true;
  while (more) {
    const Place place = reader.place();
    if (line.fields.size() == most) {
      reader.fail(place, "the line has more than " + std::to_string(most) + " fields");
    }
    const std::size_t offset = text.size();
    more = reader.next(text);
    line.fields.push_back({offset, text.size() - offset, place.line, place.column});
  }
  line.is_blank =
      line.fields.size() == 1 && !reader.was_quoted() &&
      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(text_begin), text.end(), is_blank);
  return line;
}

void require_width(const FieldReader& reader, const Line& line, std::size_t width) {
  if (width == 0 || line.fields.size() == width) return;
  reader.fail(line.begin, "the line has " + std::to_string(line.fields.size()) + " of " +
                              std::to_string(width) + " fields");
}

void require_options(const CsvOptions& options, CallSite site) {
  if (options.separator == '"' || options.separator == '\n' || options.separator == '\r') {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               "fields cannot be separated by a quote or a line end",
                               "choose a comma, a semicolon or a tabulator", site);
  }
  if (options.skip_lines < 0) {
    throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                               std::to_string(options.skip_lines) + " lines cannot be skipped",
                               "skip_lines is 0 or more", site);
  }
}

}  // namespace

CsvTable parse_csv(std::istream& in, const std::string& name, CsvOptions options, CallSite site) {
  require_options(options, site);
  CsvTable table;
  table.name_ = name;
  table.missing_ = options.missing;
  FieldReader reader(in, name, options.separator, site);
  if (reader.ended()) reader.fail(reader.place(), "the file is empty");
  for (std::int64_t i = 0; i < options.skip_lines && !reader.ended(); ++i) reader.skip_line();
  if (reader.ended()) reader.fail(reader.place(), "the file has no line after the skipped lines");
  bool is_header = options.has_header;
  std::optional<Line> blank;  // The first of the last blank lines.
  while (!reader.ended()) {
    const std::size_t width = table.header_.size();
    const Line line = read_line(reader, width, table.text_);
    if (line.is_blank && width > 1) {
      if (!blank) blank = line;
      continue;
    }
    if (blank) require_width(reader, *blank, width);
    require_width(reader, line, width);
    table.header_.resize(line.fields.size());
    if (!std::exchange(is_header, false)) {
      table.fields_.insert(table.fields_.end(), line.fields.begin(), line.fields.end());
      table.num_rows_ += 1;
      continue;
    }
    for (std::size_t i = 0; i < line.fields.size(); ++i) {
      table.header_[i] = table.text_.substr(line.fields[i].begin, line.fields[i].size);
    }
  }
  if (in.bad()) reader.fail(reader.place(), "the device reported an error");
  return table;
}

CsvTable read_csv(const std::string& path, CsvOptions options, CallSite site) {
  std::ifstream in = detail::open_file(path, site);
  return parse_csv(in, path, options, site);
}

}  // namespace belfry
