// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/device_spec.h"
#include "belfry/error.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace {

std::optional<belfry::DeviceSpec> parse(std::string_view text) {
  try {
    return belfry::DeviceSpec::parse(text);
  } catch (const belfry::Error& error) {
    if (error.code() != belfry::ErrorCode::kDeviceString) std::abort();
    return std::nullopt;
  }
}

}  // namespace

// Any text is either refused, or read as a device whose printed text is read as the same device.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto spec = parse({reinterpret_cast<const char*>(data), size});
  if (spec && parse(to_string(*spec)) != spec) std::abort();
  return 0;
}
