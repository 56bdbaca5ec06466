// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suites/spi/spi_support.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace belfry::testing::spi {

using Words = std::vector<std::int32_t>;

inline HostArray words(const Words& values) {
  HostArray array(DType::kInt32, values.size());
  std::ranges::copy(values, reinterpret_cast<std::int32_t*>(array.bytes.data()));
  return array;
}

inline Words words_on(const BufferView& view) {
  const HostArray array = download(view);
  const auto* const first = reinterpret_cast<const std::int32_t*>(array.bytes.data());
  return {first, first + array.count()};
}

/// Cells of memory on the devices of a backend, and the same cells on the host, where operations
/// take effect at once. Before an operation its stream waits for the last operations on its cells.
class Board {
 public:
  struct Cell {
    BufferView view;
    std::shared_ptr<Event> last;  ///< With the waits of later steps.
    Words words;
  };
  /// An operation in the stream, which changes `to`. Both may be the same cell.
  using Step = void (*)(Stream& stream, Cell& to, Cell& from, Bits& bits);

  explicit Board(Backend& backend) {
    for (int index = 0; index < backend.device_count(); ++index) {
      Device& device = backend.device(index);
      own_.push_back(device.create_stream());
      for (Stream* stream :
           {&device.compute_stream(), &device.communication_stream(), own_.back().get()}) {
        streams_.push_back(stream);
      }
    }
    for (std::int32_t i = 0; i < kCells; ++i) {
      Device& device = backend.device(i % backend.device_count());
      const Words first{i, 10 * i, 100 * i};
      cells_.push_back({upload(device, words(first)), nullptr, first});
      touch(cells_.back(), device.compute_stream());
    }
  }

  /// Up to 40 of the steps in any streams. Then compares all cells.
  void play(std::span<const Step> steps, Bits& bits) {
    for (std::size_t left = bits.below(40); left > 0; --left) {
      Stream& stream = *streams_[bits.below(streams_.size())];
      Cell& to = cells_[bits.below(kCells)];
      Cell& from = cells_[bits.below(kCells)];
      stream.wait(*to.last);
      stream.wait(*from.last);
      steps[bits.below(steps.size())](stream, to, from, bits);
      touch(to, stream);
      touch(from, stream);
    }
    for (Cell& cell : cells_) {
      cell.view.buffer->device().compute_stream().wait(*cell.last);
      RC_ASSERT(words_on(cell.view) == cell.words);
    }
  }

  static void fill(Stream& stream, Cell& to, Cell&, Bits& bits) {
    Kernel kernel;
    kernel.parameters.integer_scalar = static_cast<std::int32_t>(bits.below(100));
    kernel.outputs = {to.view};
    stream.launch(kernel);
    std::ranges::fill(to.words, static_cast<std::int32_t>(kernel.parameters.integer_scalar));
  }
  static void copy(Stream& stream, Cell& to, Cell& from, Bits&) {
    if (&to != &from) stream.copy(to.view, from.view);
    to.words = from.words;
  }

 private:
  static constexpr std::int32_t kCells = 4;

  static void touch(Cell& cell, Stream& stream) {
    cell.last = stream.device().create_event();
    stream.record(*cell.last);
  }

  std::vector<std::unique_ptr<Stream>> own_;
  std::vector<Stream*> streams_;
  std::vector<Cell> cells_;
};

}  // namespace belfry::testing::spi
