// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suites/spi/spi_support.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
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

/// The sum of integers on devices, which wraps.
inline std::int32_t wrapping_sum(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a + b);
}

/// Cells of memory on the devices of a backend, the host among them, and the same cells on this
/// host, where operations take effect at once. An operation waits for all earlier operations that
/// conflict with it: those that write what it reads, and those that use what it writes.
class Board {
 public:
  struct Cell {
    BufferView view;
    std::shared_ptr<Event> written;
    std::vector<std::shared_ptr<Event>> read;  ///< Since the write.
    Words words;
  };
  /// An operation in the stream, which changes `to`. Both may be the same cell.
  using Step = void (*)(Stream& stream, Cell& to, Cell& from, Bits& bits);

  explicit Board(Backend& backend) : devices_(static_cast<std::size_t>(backend.device_count())) {
    std::vector<int> places(devices_);
    std::iota(places.begin(), places.end(), 0);
    communicator_ = backend.communicator(places);
    const int host = backend.connections().host.value_or(0);
    if (host >= backend.device_count()) places.push_back(host);
    for (const int place : places) {
      Device& device = backend.device(place);
      own_.push_back(device.create_stream());
      for (Stream* stream :
           {&device.compute_stream(), &device.communication_stream(), own_.back().get()}) {
        streams_.push_back(stream);
      }
    }
    // Cell i is on device i, for the collectives. Three more cells follow.
    for (std::size_t i = 0; i < places.size() + 3; ++i) {
      Device& device = backend.device(places[i % places.size()]);
      const auto number = static_cast<std::int32_t>(i);
      const Words first{number, 10 * number, 100 * number};
      cells_.push_back({upload(device, words(first)), nullptr, {}, first});
      cells_.back().written = recorded(device.compute_stream());
    }
  }

  /// Up to 40 of the steps in any streams, with collectives, waits and questions of the host
  /// between. Then compares all cells.
  void play(std::span<const Step> steps, Bits& bits) {
    for (std::size_t left = bits.below(40); left > 0; --left) {
      Stream& stream = *streams_[bits.below(streams_.size())];
      Cell& to = cells_[bits.below(cells_.size())];
      Cell& from = cells_[bits.below(cells_.size())];
      const std::size_t other = bits.below(16);
      if (other == 0) stream.synchronize();
      if (other == 1) static_cast<void>(to.written->query());
      if (other == 2 || other == 3) {
        collective(bits);
      } else {
        wait(stream, {&to}, {&from});
        steps[bits.below(steps.size())](stream, to, from, bits);
        const auto done = recorded(stream);
        from.read.push_back(done);
        to.written = done;
        to.read.clear();
      }
    }
    for (Cell& cell : cells_) {
      wait(cell.view.buffer->device().compute_stream(), {}, {&cell});
      RC_ASSERT(words_on(cell.view) == cell.words);
    }
  }

  /// The words of `to` from a random one on become a number.
  static void fill(Stream& stream, Cell& to, Cell&, Bits& bits) {
    const std::size_t begin = bits.below(to.words.size());
    const auto number = static_cast<std::int32_t>(bits.below(100));
    Kernel kernel;
    kernel.parameters.integer_scalar = number;
    kernel.outputs = {from_word(begin, to.view)};
    stream.launch(kernel);
    std::fill(to.words.begin() + static_cast<std::ptrdiff_t>(begin), to.words.end(), number);
  }
  /// The words of `to` from a random one on become those of `from`.
  static void copy(Stream& stream, Cell& to, Cell& from, Bits& bits) {
    if (&to == &from) return;
    const std::size_t begin = bits.below(to.words.size());
    stream.copy(from_word(begin, to.view), from_word(begin, from.view));
    const auto skipped = static_cast<std::ptrdiff_t>(begin);
    std::copy(from.words.begin() + skipped, from.words.end(), to.words.begin() + skipped);
  }

 private:
  static BufferView from_word(std::size_t begin, BufferView view) {
    view.offset += begin * sizeof(std::int32_t);
    view.count -= begin;
    return view;
  }
  static std::shared_ptr<Event> recorded(Stream& stream) {
    std::shared_ptr<Event> event = stream.device().create_event();
    stream.record(*event);
    return event;
  }
  static void wait(Stream& stream, const std::vector<Cell*>& writes,
                   const std::vector<Cell*>& reads) {
    for (const Cell* cell : reads) stream.wait(*cell->written);
    for (const Cell* cell : writes) {
      stream.wait(*cell->written);
      for (const auto& event : cell->read) stream.wait(*event);
    }
  }

  // The first cell of each device, in place, becomes the sum of all or that of a root.
  void collective(Bits& bits) {
    const std::size_t which = bits.below(3);  // Of the streams of a device.
    const std::size_t root = bits.below(devices_);
    const bool adds = bits.below(2) == 0;
    Words result = cells_[root].words;
    std::vector<CollectivePart> parts;
    for (std::size_t i = 0; i < devices_; ++i) {
      Cell& cell = cells_[i];
      parts.push_back({cell.view, cell.view, streams_[3 * i + which]});
      wait(*parts.back().stream, {&cell}, {});
      if (adds && i != root) {
        std::ranges::transform(result, cell.words, result.begin(), wrapping_sum);
      }
    }
    if (adds) {
      communicator_->run({.kind = CollectiveKind::kAllReduce, .parts = parts});
    } else {
      communicator_->run(
          {.kind = CollectiveKind::kBroadcast, .parts = parts, .root = static_cast<int>(root)});
    }
    for (std::size_t i = 0; i < devices_; ++i) {
      cells_[i].written = recorded(*parts[i].stream);
      cells_[i].read.clear();
      cells_[i].words = result;
    }
  }

  std::size_t devices_;  // Without the host.
  std::unique_ptr<Communicator> communicator_;
  std::vector<std::unique_ptr<Stream>> own_;
  std::vector<Stream*> streams_;  // Three of each device.
  std::vector<Cell> cells_;
};

}  // namespace belfry::testing::spi
