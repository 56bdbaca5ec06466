// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/trace_recorder.h"
#include "belfry/dtype.h"
#include "engine/command.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::sim {

/// The contents of buffers for a trace, as commands write them. Nothing waits, and nothing holds a
/// buffer.
class TracedMemory final : public belfry::detail::DeviceValues {
 public:
  explicit TracedMemory(belfry::detail::TraceWriter& writer) : writer_(writer) {}

  /// Learns the element type of a buffer.
  void works_on(const BufferView& view);
  /// A command that writes the buffers has been submitted.
  void submitted(std::span<const Footprint> footprints);
  /// The command has written its bytes, or has failed: writes the values that waited for it.
  void written(const engine::Command& command, bool failed);
  /// The operands of a command, which may be read now.
  std::vector<belfry::detail::TracedValue> values_of(
      const std::vector<engine::Access>& accesses) const;
  /// The bytes that the host has read.
  belfry::detail::TracedValue value_of(const Footprint& bytes) const;

  void show(const BufferView& view, belfry::detail::TracedValue& value) override;
  void show_later(const BufferView& view, std::uint64_t step, std::string_view list,
                  std::size_t index) override;

 private:
  struct Later {
    std::uint64_t writes = 0;  // The value is known after so many writes.
    std::uint64_t step = 0;
    std::string list;
    std::size_t index = 0;
    DType dtype{};
    engine::ByteRange range{};
  };
  struct Contents {
    DType dtype = DType::kUInt8;
    std::uint64_t submitted = 0;  // Writes.
    std::uint64_t done = 0;
    engine::ByteRange range{};  // Of the elements of the last write.
    std::string elements{};
    std::vector<Later> later{};
  };

  belfry::detail::TracedValue value(std::uint64_t resource, std::uint64_t bytes) const;
  void forget_old();

  belfry::detail::TraceWriter& writer_;
  std::map<std::uint64_t, Contents> contents_;  // By resource.
};

}  // namespace belfry::sim
