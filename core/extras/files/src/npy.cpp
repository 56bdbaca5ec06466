// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A file is: 6 bytes of magic, 2 of version, the length of the header (2 bytes in version 1, else
// 4), the header (a Python dictionary in text), and the elements.
#include "belfry/files/npy.h"

#include "belfry/detail/file_source.h"
#include "belfry/error.h"
#include "npy_header.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belfry {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = std::size_t{1} << 20;
constexpr std::size_t kChunk = std::size_t{1} << 20;

class NpyReader {
 public:
  NpyReader(std::istream& in, const std::string& name, CallSite site)
      : in_(in), name_(name), site_(site) {}

  HostArray read() {
    const detail::NpyHeader header = read_header();
    const std::size_t begin = position_;
    std::vector<std::byte> bytes = read_bytes(header.bytes, "elements");
    if (in_.peek() != std::istream::traits_type::eof()) {
      fail(position_,
           "the file goes on after its " + std::to_string(header.bytes) + " bytes of elements",
           "a file has one array: save each array in a file of its own");
    }
    if (header.dtype == DType::kBool) require_booleans(bytes, begin);
    if (header.is_fortran) bytes = row_major(bytes, header);
    return HostArray(header.dtype, Shape(header.extents), std::move(bytes)).from_file(name_);
  }

 private:
  detail::NpyHeader read_header() {
    const std::vector<std::byte> magic = read_bytes(kMagic.size(), "the magic string");
    for (std::size_t i = 0; i < kMagic.size(); ++i) {
      if (std::to_integer<char>(magic[i]) != kMagic[i]) {
        fail(i, "this is no npy file",
             "save the array with numpy.save: files of numpy.savez, text and pickles are no npy "
             "files");
      }
    }
    const std::vector<std::byte> version = read_bytes(2, "the version");
    const int major = std::to_integer<int>(version[0]);
    if (major < 1 || major > 3 || std::to_integer<int>(version[1]) != 0) {
      fail(6,
           "version " + std::to_string(major) + "." +
               std::to_string(std::to_integer<int>(version[1])) +
               " is unknown: 1.0 to 3.0 can be read",
           "write the file with numpy.lib.format.write_array(file, array, version=(1, 0))");
    }
    const std::vector<std::byte> length = read_bytes(major == 1 ? 2 : 4, "the header's length");
    std::size_t size = 0;
    for (std::size_t i = length.size(); i-- > 0;) {
      size = size << 8 | std::to_integer<std::size_t>(length[i]);
    }
    if (size > kMaxHeader) fail(8, "the header has " + std::to_string(size) + " bytes");
    const std::size_t begin = position_;
    const std::vector<std::byte> bytes = read_bytes(size, "the header");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return detail::parse_npy_header(text, {name_, begin, site_});
  }

  // In pieces: a header with too large a promise costs no memory.
  std::vector<std::byte> read_bytes(std::size_t size, const char* what) {
    std::vector<std::byte> bytes;
    while (bytes.size() < size) {
      const std::size_t begin = bytes.size();
      const std::size_t piece = std::min(kChunk, size - begin);
      bytes.resize(begin + piece);
      in_.read(reinterpret_cast<char*>(bytes.data() + begin), static_cast<std::streamsize>(piece));
      const auto got = static_cast<std::size_t>(in_.gcount());
      position_ += got;
      if (got < piece) {
        fail(position_,
             "the file ends within " + std::string(what) + ", after " +
                 std::to_string(begin + got) + " of " + std::to_string(size) + " bytes",
             "the file was cut off: copy or save it again");
      }
    }
    return bytes;
  }

  void require_booleans(const std::vector<std::byte>& bytes, std::size_t begin) const {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const int value = std::to_integer<int>(bytes[i]);
      if (value > 1) {
        fail(begin + i, "a boolean is " + std::to_string(value),
             "save the array as numbers: array.view(numpy.uint8)");
      }
    }
  }

  // The first index varies fastest in Fortran order, the last in row-major order.
  static std::vector<std::byte> row_major(const std::vector<std::byte>& bytes,
                                          const detail::NpyHeader& header) {
    const std::size_t rank = header.extents.size();
    const std::size_t width = size_of(header.dtype);
    std::vector<std::size_t> strides(rank, width);
    for (std::size_t axis = 1; axis < rank; ++axis) {
      strides[axis] = strides[axis - 1] * static_cast<std::size_t>(header.extents[axis - 1]);
    }
    std::vector<std::byte> out;
    out.reserve(bytes.size());
    std::vector<std::int64_t> index(rank, 0);
    std::size_t from = 0;
    while (out.size() < bytes.size()) {
      out.insert(out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from),
                 bytes.begin() + static_cast<std::ptrdiff_t>(from + width));
      for (std::size_t axis = rank; axis-- > 0;) {
        from += strides[axis];
        if (++index[axis] < header.extents[axis]) break;
        from -= strides[axis] * static_cast<std::size_t>(header.extents[axis]);
        index[axis] = 0;
      }
    }
    return out;
  }

  [[noreturn]] void fail(std::size_t position, const std::string& what,
                         const char* hint = detail::kBrokenNpy) const {
    detail::throw_bad_npy({name_, 0, site_}, position, what, hint);
  }

  std::istream& in_;
  const std::string& name_;
  CallSite site_;
  std::size_t position_ = 0;
};

}  // namespace

HostArray read_npy(const std::string& path, CallSite site) {
  std::ifstream in = detail::open_file(path, site);
  return NpyReader(in, path, site).read();
}

HostArray parse_npy(std::span<const std::byte> bytes, const std::string& name, CallSite site) {
  detail::MemoryBuffer buffer(bytes);
  std::istream in(&buffer);
  return NpyReader(in, name, site).read();
}

}  // namespace belfry
