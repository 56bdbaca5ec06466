// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// The parts of a safetensors file: 8 bytes with the length of the header, the header in JSON, the
// arrays side by side. The header has each array's element type, shape and span.
#include "belfry/detail/file_source.h"
#include "belfry/tensor_file.h"
#include "values/bool_bytes.h"
#include "values/tensor_file_in_pieces.h"
#include "values/tensor_header.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

namespace belfry {
namespace {

std::vector<std::byte> copied(std::string_view bytes) {
  std::vector<std::byte> copy(bytes.size());
  if (!copy.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

// Throws unless the arrays lie side by side, without holes, to the end of the file.
void require_side_by_side(const TensorHeader& header, std::size_t start, std::size_t room,
                          const TensorFilePlace& place) {
  std::vector<const std::pair<const std::string, HeaderEntry>*> entries;
  entries.reserve(header.entries.size());
  for (const auto& member : header.entries) entries.push_back(&member);
  std::ranges::sort(entries, {}, [](const auto* member) {
    return std::pair(member->second.begin, member->second.end);
  });
  std::size_t next = 0;
  for (const auto* member : entries) {
    const auto& [name, entry] = *member;
    if (entry.end > room) {
      place.fail(entry.position, "\"" + name + "\" lies at " + std::to_string(entry.begin) +
                                     " to " + std::to_string(entry.end) + " of " +
                                     std::to_string(room) + " bytes");
    }
    if (entry.begin != next) {
      place.fail(start + std::min(entry.begin, next),
                 "arrays overlap or leave a hole before \"" + name + "\"");
    }
    next = entry.end;
  }
  if (next != room) place.fail(start + next, "bytes that belong to no array");
}

// Throws for a byte above 1 of the array at `begin` of the file.
void require_bools(const std::string& name, const std::vector<std::byte>& bytes, std::size_t begin,
                   const TensorFilePlace& place) {
  const std::size_t bad = detail::first_other_than_bool(bytes);
  if (bad == bytes.size()) return;
  place.fail(
      begin + bad,
      "a bool of \"" + name + "\" is the byte " + std::to_string(std::to_integer<int>(bytes[bad])),
      "a bool is 0 or 1: save other numbers as U8");
}

// The names come in the order of the map: each array goes to the end.
void add_array(TensorFile& file, const std::string& name, const HeaderEntry& entry,
               std::vector<std::byte> bytes) {
  if (entry.type->dtype) {
    file.tensors.emplace_hint(file.tensors.end(), name,
                              FileTensor{*entry.type->dtype, entry.shape, std::move(bytes)});
  } else {
    file.unsupported.emplace_hint(
        file.unsupported.end(), name,
        UnsupportedTensor{std::string(entry.type->name), entry.shape, std::move(bytes)});
  }
}

TensorFile assemble(TensorHeader header, std::string_view contents, const TensorFilePlace& place) {
  const std::size_t start = kLengthBytes + header_length(contents, place);
  const std::string_view arrays = contents.substr(start);
  require_side_by_side(header, start, arrays.size(), place);
  TensorFile file;
  file.notes = std::move(header.notes);
  for (const auto& [name, entry] : header.entries) {
    std::vector<std::byte> bytes = copied(arrays.substr(entry.begin, entry.end - entry.begin));
    if (entry.type->dtype == DType::kBool) require_bools(name, bytes, start + entry.begin, place);
    add_array(file, name, entry, std::move(bytes));
  }
  return file;
}

}  // namespace

TensorFile TensorFile::parse(std::string_view contents, const std::string& where, CallSite site) {
  const TensorFilePlace place{where, site};
  return assemble(parse_header(contents, place), contents, place);
}

TensorFile TensorFile::read(const std::filesystem::path& path, CallSite site) {
  const std::string name = path.string();
  const TensorFilePlace place{name, site};
  std::ifstream file = detail::open_file(name, site);
  std::string contents;
  // The header limits the number of bytes, so that the read of an endless file ends.
  const auto read_on = [&](std::size_t bytes) {
    detail::read_up_to(bytes, file, name, contents, site);
  };
  read_on(kLengthBytes);
  read_on(header_length(contents, place));
  TensorHeader header = parse_header(contents, place);
  // A byte after the last array is an error.
  read_on(header.end + 1);
  return assemble(std::move(header), contents, place);
}

namespace detail {

TensorFileInPieces::TensorFileInPieces(const std::string& path, const std::set<std::string>& later,
                                       CallSite site)
    : path_(path), site_(site), file_(open_file(path, site)) {
  const TensorFilePlace place{path_, site};
  std::string head;
  read_up_to(kLengthBytes, file_, path_, head, site);
  const std::size_t length = header_length(head, place);
  read_up_to(length, file_, path_, head, site);
  header_ = parse_header(head, place);
  start_ = kLengthBytes + length;
  file_.seekg(0, std::ios::end);
  const auto end = static_cast<std::size_t>(std::max<std::streamoff>(file_.tellg(), 0));
  require_side_by_side(header_, start_, std::max(end, start_) - start_, place);
  contents_.notes = header_.notes;
  for (const auto& [name, entry] : header_.entries) {
    const bool is_later = later.contains(name) && entry.type->dtype;
    if (is_later) {
      outlines_.push_back({name, *entry.type->dtype, entry.shape});
    } else {
      std::vector<std::byte> bytes(entry.end - entry.begin);
      read_file(start_ + entry.begin, bytes);
      add_array(contents_, name, entry, std::move(bytes));
    }
    // Before anything is restored.
    if (entry.type->dtype == DType::kBool) check_bools(name, entry);
  }
}

void TensorFileInPieces::check_bools(const std::string& name, const HeaderEntry& entry) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::byte> bytes;
  for (std::size_t at = entry.begin; at < entry.end; at += kPiece) {
    bytes.resize(std::min(kPiece, entry.end - at));
    read_file(start_ + at, bytes);
    require_bools(name, bytes, start_ + at, {path_, site_});
  }
}

void TensorFileInPieces::read(const std::string& name, std::uint64_t at, std::span<std::byte> to) {
  read_file(start_ + header_.entries.at(name).begin + at, to);
}

void TensorFileInPieces::read_file(std::uint64_t at, std::span<std::byte> to) {
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(at));
  file_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
  if (static_cast<std::size_t>(file_.gcount()) == to.size()) return;
  const TensorFilePlace place{path_, site_};
  place.fail(at + static_cast<std::size_t>(file_.gcount()), "the file ends inside an array");
}

}  // namespace detail
}  // namespace belfry
