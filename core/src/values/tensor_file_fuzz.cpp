// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/tensor_file.h"

#include <cstdint>
#include <cstdlib>
#include <optional>

namespace {

std::optional<belfry::TensorFile> parse(std::string_view contents) {
  try {
    return belfry::TensorFile::parse(contents, "input");
  } catch (const belfry::Error& error) {
    if (error.code() != belfry::ErrorCode::kFileFormat) std::abort();
    return std::nullopt;
  }
}

}  // namespace

// Any bytes are either refused, or a file whose contents write the same file again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = parse({reinterpret_cast<const char*>(data), size});
  if (!file) return 0;
  if (file->tensors.contains("__metadata__")) std::abort();
  if (file->unsupported.contains("__metadata__")) std::abort();
  if (parse(file->contents()) != file) std::abort();
  return 0;
}
