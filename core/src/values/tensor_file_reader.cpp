// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A safetensors file: 8 bytes that say how long the header is, the header, which is JSON, and the
// arrays one after another. The header names each array's element type, shape and place.
#include "belfry/error.h"
#include "belfry/tensor_file.h"
#include "values/json_cursor.h"
#include "values/tensor_file_dtypes.h"
#include "words/file_source.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace belfry {
namespace {

constexpr std::size_t kLengthBytes = 8;

struct Entry {
  std::string name;
  std::size_t position = 0;  // In the file, of its name.
  DType dtype = DType::kFloat32;
  Shape shape{};
  std::size_t begin = 0;  // In the arrays.
  std::size_t end = 0;
};

class Reader {
 public:
  Reader(std::string_view contents, const std::string& where, CallSite site)
      : contents_(contents),
        where_(where),
        site_(site),
        header_(header()),
        cursor_(header_, kLengthBytes, where_, site) {}

  TensorFile read() {
    cursor_.expect('{');
    if (!cursor_.accept('}')) {
      do {
        member();
      } while (cursor_.accept(','));
      cursor_.expect('}');
    }
    cursor_.expect_end();
    take_arrays();
    return std::move(file_);
  }

 private:
  std::string_view header() const {
    if (contents_.size() < kLengthBytes) {
      throw_bad_file(where_, contents_.size(), "the file ends inside the length of its header",
                     site_);
    }
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) {
      length |= std::uint64_t{static_cast<unsigned char>(contents_[i])} << (8 * i);
    }
    if (length > contents_.size() - kLengthBytes) {
      throw_bad_file(where_, 0,
                     "a header of " + std::to_string(length) + " bytes in a file of " +
                         std::to_string(contents_.size()),
                     site_);
    }
    return contents_.substr(kLengthBytes, static_cast<std::size_t>(length));
  }

  void member() {
    const std::size_t position = cursor_.position();
    std::string name = cursor_.string();
    cursor_.expect(':');
    if (name == kNotesName) {
      if (has_notes_) cursor_.fail(position, "the notes are there twice");
      has_notes_ = true;
      return notes();
    }
    for (const Entry& other : entries_) {
      if (other.name == name) cursor_.fail(position, "\"" + name + "\" is there twice");
    }
    entries_.push_back(entry(std::move(name), position));
  }

  void notes() {
    cursor_.expect('{');
    if (cursor_.accept('}')) return;
    do {
      const std::size_t position = cursor_.position();
      std::string key = cursor_.string();
      cursor_.expect(':');
      if (!file_.notes.emplace(std::move(key), cursor_.string()).second) {
        cursor_.fail(position, "a note is there twice");
      }
    } while (cursor_.accept(','));
    cursor_.expect('}');
  }

  Entry entry(std::string name, std::size_t position) {
    Entry entry;
    entry.name = std::move(name);
    entry.position = position;
    bool dtype = false;
    bool shape = false;
    bool place = false;
    cursor_.expect('{');
    do {
      const std::size_t here = cursor_.position();
      const std::string key = cursor_.string();
      cursor_.expect(':');
      bool& seen = key == "dtype" ? dtype : key == "shape" ? shape : place;
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        cursor_.fail(here, "an array has no \"" + key + "\"");
      }
      if (seen) cursor_.fail(here, "\"" + key + "\" is there twice");
      seen = true;
      if (key == "dtype") entry.dtype = dtype_value();
      if (key == "shape") entry.shape = shape_value();
      if (key == "data_offsets") place_value(entry);
    } while (cursor_.accept(','));
    cursor_.expect('}');
    if (!dtype || !shape || !place) {
      cursor_.fail(position, "\"" + entry.name + "\" lacks its dtype, shape or data_offsets");
    }
    require_fit(entry);
    return entry;
  }

  DType dtype_value() {
    const std::size_t position = cursor_.position();
    const std::string name = cursor_.string();
    const std::optional<DType> dtype = dtype_named(name);
    if (!dtype) cursor_.fail(position, "an element type \"" + name + "\", which belfry has not");
    return *dtype;
  }

  Shape shape_value() {
    const std::size_t position = cursor_.position();
    std::vector<std::int64_t> extents;
    cursor_.expect('[');
    if (!cursor_.accept(']')) {
      do {
        extents.push_back(cursor_.number());
      } while (cursor_.accept(','));
      cursor_.expect(']');
    }
    try {
      return Shape(std::move(extents));
    } catch (const InvalidArgumentError&) {
      cursor_.fail(position, "a shape with too many elements");
    }
  }

  void place_value(Entry& entry) {
    cursor_.expect('[');
    entry.begin = static_cast<std::size_t>(cursor_.number());
    cursor_.expect(',');
    entry.end = static_cast<std::size_t>(cursor_.number());
    cursor_.expect(']');
  }

  void require_fit(const Entry& entry) const {
    const std::size_t room = contents_.size() - kLengthBytes - header_.size();
    if (entry.begin > entry.end || entry.end > room) {
      cursor_.fail(entry.position, "\"" + entry.name + "\" lies at " + std::to_string(entry.begin) +
                                       " to " + std::to_string(entry.end) + " of " +
                                       std::to_string(room) + " bytes");
    }
    const auto count = static_cast<std::size_t>(entry.shape.count());
    if ((entry.end - entry.begin) / size_of(entry.dtype) != count ||
        (entry.end - entry.begin) % size_of(entry.dtype) != 0) {
      cursor_.fail(entry.position, "\"" + entry.name + "\" has " +
                                       std::to_string(entry.end - entry.begin) + " bytes for " +
                                       to_string(entry.dtype) + to_string(entry.shape));
    }
  }

  // Arrays lie side by side, without holes, to the end of the file.
  void take_arrays() {
    std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    const std::size_t start = kLengthBytes + header_.size();
    std::size_t next = 0;
    for (const Entry& entry : entries_) {
      if (entry.begin != next) {
        throw_bad_file(where_, start + std::min(entry.begin, next),
                       "arrays overlap or leave a hole before \"" + entry.name + "\"", site_);
      }
      FileTensor tensor{entry.dtype, entry.shape, std::vector<std::byte>(entry.end - entry.begin)};
      if (!tensor.bytes.empty()) {
        std::memcpy(tensor.bytes.data(), contents_.data() + start + entry.begin,
                    tensor.bytes.size());
      }
      file_.tensors.emplace(entry.name, std::move(tensor));
      next = entry.end;
    }
    if (start + next != contents_.size()) {
      throw_bad_file(where_, start + next, "bytes that belong to no array", site_);
    }
  }

  std::string_view contents_;
  const std::string& where_;
  CallSite site_;
  std::string_view header_;
  JsonCursor cursor_;
  std::vector<Entry> entries_;
  bool has_notes_ = false;
  TensorFile file_;
};

}  // namespace

TensorFile TensorFile::parse(std::string_view contents, const std::string& where, CallSite site) {
  return Reader(contents, where, site).read();
}

TensorFile TensorFile::read(const std::filesystem::path& path, CallSite site) {
  std::ifstream file = detail::open_file(path.string(), site);
  std::string contents(std::istreambuf_iterator<char>(file), {});
  return parse(contents, path.string(), site);
}

}  // namespace belfry
