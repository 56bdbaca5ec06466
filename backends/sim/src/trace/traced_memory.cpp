// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/traced_memory.h"

#include "buffer.h"

#include <algorithm>

namespace belfry::sim {
namespace {

using belfry::detail::traced_elements;
using belfry::detail::TracedValue;

// The buffers whose contents are known: later ones are more likely to be asked for.
constexpr std::size_t kMostBuffers = std::size_t{1} << 16;

std::string elements_of(DType dtype, const engine::Access& access) {
  const std::byte* const data = access.allocation->data();
  if (data == nullptr || access.allocation->written().first_gap(access.range)) return {};
  return traced_elements(dtype, data + access.range.begin, bytes_of(access) / size_of(dtype));
}

}  // namespace

void TracedMemory::works_on(const BufferView& view) {
  const auto* const buffer = exact_cast<const SimBuffer>(view.buffer.get());
  if (buffer == nullptr) return;
  contents_[buffer->allocation()->resource()].dtype = view.dtype;
  forget_old();
}

void TracedMemory::submitted(std::span<const Footprint> footprints) {
  for (const Footprint& bytes : footprints) {
    if (bytes.mode == AccessMode::kWrite) ++contents_[bytes.resource].submitted;
  }
}

void TracedMemory::written(const engine::Command& command, bool failed) {
  for (const engine::Access& access : command.writes) {
    Contents& own = contents_[access.allocation->resource()];
    ++own.done;
    own.range = access.range;
    own.elements = failed || !writer_.options().values ? "" : elements_of(own.dtype, access);
    std::erase_if(own.later, [&](const Later& later) {
      if (later.writes > own.done) return false;
      const std::string elements =
          failed ? "" : elements_of(later.dtype, {access.allocation, later.range});
      if (!elements.empty()) writer_.value_of(later.step, later.list, later.index, elements);
      return true;
    });
  }
}

std::vector<TracedValue> TracedMemory::values_of(
    const std::vector<engine::Access>& accesses) const {
  std::vector<TracedValue> values;
  for (const engine::Access& access : accesses) {
    const std::uint64_t resource = access.allocation->resource();
    values.push_back(value(resource, bytes_of(access)));
    if (!writer_.options().values) continue;
    const auto known = contents_.find(resource);
    const DType dtype = known == contents_.end() ? DType::kUInt8 : known->second.dtype;
    values.back().elements = elements_of(dtype, access);
  }
  return values;
}

TracedValue TracedMemory::value_of(const Footprint& bytes) const {
  TracedValue value = this->value(bytes.resource, bytes.end - bytes.begin);
  const auto known = contents_.find(bytes.resource);
  const bool is_same =
      known != contents_.end() && known->second.range == engine::ByteRange{bytes.begin, bytes.end};
  if (is_same) value.elements = known->second.elements;
  return value;
}

TracedValue TracedMemory::value(std::uint64_t resource, std::uint64_t bytes) const {
  const auto known = contents_.find(resource);
  const DType dtype = known == contents_.end() ? DType::kUInt8 : known->second.dtype;
  TracedValue value;
  value.type = to_string(dtype);
  value.count = bytes / size_of(dtype);
  value.extents = {static_cast<std::int64_t>(value.count)};
  value.buffer = resource;
  return value;
}

void TracedMemory::show(const BufferView& view, TracedValue& value) {
  works_on(view);
  const auto* const buffer = exact_cast<const SimBuffer>(view.buffer.get());
  if (buffer == nullptr) return;
  value.buffer = buffer->allocation()->resource();
  const Contents& own = contents_[*value.buffer];
  const engine::ByteRange range{view.offset, view.offset + view.bytes()};
  if (own.done < own.submitted) return;
  if (own.range == range) {
    value.elements = own.elements;
  } else if (writer_.options().values) {  // No command has written the memory of the host.
    value.elements = elements_of(view.dtype, {buffer->allocation(), range});
  }
}

void TracedMemory::show_later(const BufferView& view, std::uint64_t step, std::string_view list,
                              std::size_t index) {
  const auto* const buffer = exact_cast<const SimBuffer>(view.buffer.get());
  if (buffer == nullptr) return;
  Contents& own = contents_[buffer->allocation()->resource()];
  if (own.done >= own.submitted) return;
  own.later.push_back({own.submitted,
                       step,
                       std::string(list),
                       index,
                       view.dtype,
                       {view.offset, view.offset + view.bytes()}});
}

void TracedMemory::forget_old() {
  if (contents_.size() > kMostBuffers) contents_.erase(contents_.begin());
}

}  // namespace belfry::sim
