// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/backend.h"

#include "belfry/error.h"

#include <optional>
#include <string>

namespace belfry {
namespace {

constexpr int kMostListed = 8;

std::string list_of(const Backend& backend) {
  const int count = backend.device_count();
  std::string text = count == 0 ? "this backend has no devices" : "this backend has ";
  for (int i = 0; i < count && i < kMostListed; ++i) {
    if (i > 0) text += ", ";
    text += to_string(backend.device_spec(i));
  }
  if (count > kMostListed) text += " and " + std::to_string(count - kMostListed) + " more";
  const std::optional<int> host = backend.connections().host;
  if (host == count) text += ", and the host " + to_string(backend.device_spec(count));
  return text;
}

}  // namespace

const Connections& Backend::connections() const {
  static const Connections unknown;
  return unknown;
}

std::vector<DeviceSpec> Backend::devices() const {
  std::vector<DeviceSpec> specs;
  const int count = device_count();
  specs.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) specs.push_back(device_spec(i));
  return specs;
}

int Backend::index_of(const DeviceSpec& spec, CallSite site) const {
  const int count = device_count();
  for (int i = 0; i < count; ++i) {
    if (device_spec(i) == spec) return i;
  }
  const std::optional<int> host = connections().host;
  if (host && device_spec(*host) == spec) return *host;
  throw InvalidArgumentError({.code = ErrorCode::kUnknownDevice,
                              .summary = "no device " + to_string(spec),
                              .site = site,
                              .replicas = {},
                              .expected = list_of(*this),
                              .hint = {}});
}

}  // namespace belfry
