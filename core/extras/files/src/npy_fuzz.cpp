// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "belfry/files/npy.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

// Any bytes are either refused with a message about the file, or give an array with all its
// elements.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto bytes = std::as_bytes(std::span(data, size));
    const belfry::HostArray array = belfry::parse_npy(bytes, "fuzz.npy");
    const auto count = static_cast<std::size_t>(array.shape().count());
    if (array.bytes().size() != count * belfry::size_of(array.dtype())) std::abort();
    if (array.bytes().size() > size) std::abort();
  } catch (const belfry::Error& error) {
    if (error.code() != belfry::ErrorCode::kFileFormat) std::abort();
  }
  return 0;
}
