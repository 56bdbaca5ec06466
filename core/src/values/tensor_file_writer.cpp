// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/file_source.h"
#include "belfry/detail/json.h"
#include "belfry/error.h"
#include "belfry/tensor_file.h"
#include "values/bool_bytes.h"
#include "values/tensor_file_dtypes.h"
#include "values/tensor_file_layout.h"
#include "values/tensor_header.h"
#include "words/saved_file.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <tuple>

// The layout of a file, which is that of safetensors:
//
//   bytes 0 to 7      L, the length of the header: a multiple of 8, little-endian
//   L bytes           the header: JSON, then blanks up to the multiple of 8
//   the rest          the bytes of the arrays, one after the other, without gaps
//
// For `step` int64[] and `bias` float32[2] with a note, the header is, in one line:
//
//   {"__metadata__":{"epoch":"3"},
//    "step":{"dtype":"I64","shape":[],"data_offsets":[0,8]},
//    "bias":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}
//
// Offsets count from the end of the header. Arrays with larger elements come first, and arrays with
// equally large elements by name. Every array therefore begins at a multiple of its element size,
// in the file, too, because 8 + L is a multiple of 8.
namespace belfry {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie");

// An array, supported or not. An outlined array has a size, and no bytes.
struct Piece {
  const std::string* name;
  const FileDType* type;
  const Shape* shape;
  std::size_t size;
  std::string_view bytes;
  int outline = -1;
};

Piece piece_of(const std::string& name, const FileDType* type, const Shape& shape,
               const std::vector<std::byte>& bytes) {
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {&name, type, &shape, bytes.size(), view};
}

[[noreturn]] void refuse(const std::string& what, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, what,
                             "no reader of the format would accept it", site);
}

// The text as a string of JSON.
std::string quoted(const std::string& text, CallSite site) {
  if (auto quoted = detail::json_string_of_utf8(text)) return *std::move(quoted);
  refuse("\"" + detail::printable(text) + "\" is no UTF-8, as names and notes must be", site);
}

void require_writable(const Piece& piece, const std::string& type, CallSite site) {
  if (*piece.name == kNotesName) {
    refuse("\"" + *piece.name + "\" is the name of the notes, not of an array", site);
  }
  if (piece.type == nullptr) {
    refuse("\"" + *piece.name + "\" has an element type " + type + " that cannot be written", site);
  }
  if (!piece.type->fits(*piece.shape, piece.size)) {
    refuse("\"" + *piece.name + "\" cannot be an array of " + type + to_string(*piece.shape) +
               " with " + std::to_string(piece.size) + " bytes",
           site);
  }
  if (piece.type->dtype == DType::kBool &&
      detail::first_other_than_bool(std::as_bytes(std::span(piece.bytes))) < piece.bytes.size()) {
    refuse("\"" + *piece.name + "\" of bool has bytes other than 0 and 1", site);
  }
}

// The arrays in the order of the file, checked.
std::vector<Piece> pieces_of(const TensorFile& file, CallSite site,
                             std::span<const detail::ArrayOutline> arrays = {}) {
  std::vector<Piece> pieces;
  pieces.reserve(file.tensors.size() + file.unsupported.size() + arrays.size());
  for (const auto& [name, tensor] : file.tensors) {
    pieces.push_back(piece_of(name, file_dtype_of(tensor.dtype), tensor.shape, tensor.bytes));
    require_writable(pieces.back(), to_string(tensor.dtype), site);
  }
  for (const auto& [name, tensor] : file.unsupported) {
    if (file.tensors.contains(name)) refuse("\"" + name + "\" names two arrays", site);
    const FileDType* type = file_dtype_named(tensor.dtype);
    if (type != nullptr && type->dtype) type = nullptr;
    pieces.push_back(piece_of(name, type, tensor.shape, tensor.bytes));
    require_writable(pieces.back(), detail::printable(tensor.dtype), site);
  }
  for (const detail::ArrayOutline& array : arrays) {
    if (file.tensors.contains(array.name)) refuse("\"" + array.name + "\" names two arrays", site);
    const auto elements = static_cast<std::size_t>(array.shape.count());
    pieces.push_back({&array.name, file_dtype_of(array.dtype), &array.shape,
                      elements * size_of(array.dtype), std::string_view(),
                      static_cast<int>(&array - arrays.data())});
    require_writable(pieces.back(), to_string(array.dtype), site);
  }
  std::ranges::sort(pieces, [](const Piece& a, const Piece& b) {
    return std::tuple(b.type->alignment(), std::string_view(*a.name)) <
           std::tuple(a.type->alignment(), std::string_view(*b.name));
  });
  return pieces;
}

void append_notes(std::string& out, const std::map<std::string, std::string>& notes,
                  CallSite site) {
  out += quoted(std::string(kNotesName), site) + ":{";
  bool first = true;
  for (const auto& [key, text] : notes) {
    if (!first) out += ',';
    first = false;
    out += quoted(key, site);
    out += ':';
    out += quoted(text, site);
  }
  out += '}';
}

// The length and the header.
std::string head_of(const TensorFile& file, const std::vector<Piece>& pieces, CallSite site) {
  std::string header = "{";
  if (!file.notes.empty()) append_notes(header, file.notes, site);
  std::size_t begin = 0;
  for (const Piece& piece : pieces) {
    if (header.size() > 1) header += ',';
    const std::size_t end = begin + piece.size;
    header += quoted(*piece.name, site) + ":{\"dtype\":\"";
    header += piece.type->name;
    header += "\",\"shape\":" + to_string(*piece.shape) + ",\"data_offsets\":[" +
              std::to_string(begin) + ',' + std::to_string(end) + "]}";
    begin = end;
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  if (header.size() > kMostHeaderBytes) {
    refuse("a header of " + std::to_string(header.size()) + " bytes; the format allows " +
               std::to_string(kMostHeaderBytes),
           site);
  }
  std::string head;
  head.reserve(kLengthBytes + header.size());
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    head += static_cast<char>(std::uint64_t{header.size()} >> (8 * i) & 0xFF);
  }
  return head + header;
}

// The parts of a file, side by side. The head must outlive the parts.
std::vector<std::string_view> parts_of(const std::string& head, const std::vector<Piece>& pieces) {
  std::vector<std::string_view> parts{head};
  for (const Piece& piece : pieces) parts.push_back(piece.bytes);
  return parts;
}

}  // namespace

std::string TensorFile::contents(CallSite site) const {
  const std::vector<Piece> pieces = pieces_of(*this, site);
  std::string out = head_of(*this, pieces, site);
  for (const Piece& piece : pieces) out += piece.bytes;
  return out;
}

void TensorFile::write(const std::filesystem::path& path, CallSite site) const {
  const std::vector<Piece> pieces = pieces_of(*this, site);
  const std::string head = head_of(*this, pieces, site);
  detail::save_file(path, parts_of(head, pieces), site);
}

detail::TensorFileLayout::TensorFileLayout(const TensorFile& file,
                                           std::span<const ArrayOutline> arrays, CallSite site) {
  const std::vector<Piece> pieces = pieces_of(file, site, arrays);
  head_ = head_of(file, pieces, site);
  parts_.push_back({head_});
  for (const Piece& piece : pieces) parts_.push_back({piece.bytes, piece.outline});
}

std::string to_string(const FileTensor& tensor) {
  return to_string(tensor.dtype) + to_string(tensor.shape);
}

std::string to_string(const UnsupportedTensor& tensor) {
  return tensor.dtype + to_string(tensor.shape);
}

std::string to_string(const TensorFile& file) {
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : ", ") + name + " " + value;
  };
  for (const auto& [name, tensor] : file.tensors) add(name, to_string(tensor));
  for (const auto& [name, tensor] : file.unsupported) add(name, to_string(tensor));
  for (const auto& [name, note] : file.notes) add(name, "\"" + note + "\"");
  return text.empty() ? "nothing" : text;
}

}  // namespace belfry
