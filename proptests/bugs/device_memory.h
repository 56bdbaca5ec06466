// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "bug.h"

#include <cstddef>
#include <vector>

namespace belfry::bugs {

/// Memory of `device` with `count` floats. Order: blocks the host until each float has the value.
inline BufferView floats(Device& device, std::size_t count, float value) {
  Stream& stream = device.compute_stream();
  BufferView view = view_of(device.allocate(count * sizeof(float), stream), DType::kFloat32);
  const std::vector<float> values(count, value);
  stream.write(view, values.data());
  stream.synchronize();
  return view;
}

/// The floats `begin` to before `begin + count`.
inline BufferView part_of(BufferView view, std::size_t begin, std::size_t count) {
  view.offset += begin * sizeof(float);
  view.count = count;
  return view;
}

/// The floats of `view`. Order: blocks the host until the earlier work of `stream` is done.
inline Outcome values_of(Stream& stream, const BufferView& view) {
  std::vector<float> values(view.count);
  stream.read(values.data(), view);
  return Outcome(values.begin(), values.end());
}

/// Later work of `after` starts after all work so far of `before`.
inline void order(Stream& before, Stream& after) {
  const auto event = before.device().create_event();
  before.record(*event);
  after.wait(*event);
}

}  // namespace belfry::bugs
