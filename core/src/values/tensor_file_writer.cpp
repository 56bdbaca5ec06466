// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/tensor_file.h"
#include "values/tensor_file_dtypes.h"
#include "words/saved_file.h"

#include <bit>
#include <cstdint>

namespace belfry {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie");

constexpr std::string_view kNames[kNumDTypes] = {"F32", "F64",  "F16", "BF16", "I8",  "I32", "I64",
                                                 "U8",  "BOOL", "I16", "U16",  "U32", "U64"};

void append_string(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      out += "\\u00";
      out += kDigits[code >> 4];
      out += kDigits[code & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_notes(std::string& out, const std::map<std::string, std::string>& notes) {
  append_string(out, kNotesName);
  out += ":{";
  bool first = true;
  for (const auto& [key, text] : notes) {
    if (!first) out += ',';
    first = false;
    append_string(out, key);
    out += ':';
    append_string(out, text);
  }
  out += '}';
}

void append_entry(std::string& out, const std::string& name, const FileTensor& tensor,
                  std::size_t begin) {
  append_string(out, name);
  out += ":{\"dtype\":";
  append_string(out, name_of(tensor.dtype));
  out += ",\"shape\":" + to_string(tensor.shape) + ",\"data_offsets\":[" + std::to_string(begin) +
         ',' + std::to_string(begin + tensor.bytes.size()) + "]}";
}

void require_writable(const std::string& name, const FileTensor& tensor, CallSite site) {
  const auto bytes = static_cast<std::size_t>(tensor.shape.count()) * size_of(tensor.dtype);
  if (name != kNotesName && tensor.bytes.size() == bytes) return;
  throw InvalidArgumentError(ErrorCode::kInvalidArgument,
                             "\"" + name + "\" cannot be an array of " + to_string(tensor.dtype) +
                                 to_string(tensor.shape) + " with " +
                                 std::to_string(tensor.bytes.size()) + " bytes",
                             {}, site);
}

}  // namespace

std::string_view name_of(DType dtype) { return kNames[static_cast<int>(dtype)]; }

std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::string TensorFile::contents(CallSite site) const {
  std::string header = "{";
  if (!notes.empty()) append_notes(header, notes);
  std::size_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    require_writable(name, tensor, site);
    if (header.size() > 1) header += ',';
    append_entry(header, name, tensor, begin);
    begin += tensor.bytes.size();
  }
  header += '}';
  // So that the arrays begin at a multiple of eight.
  while (header.size() % 8 != 0) header += ' ';
  std::string out;
  out.reserve(8 + header.size() + begin);
  for (int shift = 0; shift < 64; shift += 8) {
    out += static_cast<char>(std::uint64_t{header.size()} >> shift & 0xFF);
  }
  out += header;
  for (const auto& [name, tensor] : tensors) {
    out.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return out;
}

void TensorFile::write(const std::filesystem::path& path, CallSite site) const {
  const std::string text = contents(site);
  const std::string_view pieces[] = {text};
  detail::save_file(path, pieces, site);
}

}  // namespace belfry
