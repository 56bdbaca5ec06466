// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels/reduce_call.h"
#include "kernels/reduce_loops.h"

namespace belfry::kernels {
namespace {

constexpr std::size_t kTileBytes = 32768;
constexpr std::size_t kGroup = 8;

std::size_t line_offset(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kLineBytes;
}

/// The number of elements before all outputs begin at a cache line. Turns streaming off without
/// such a number.
template <class T>
std::size_t align_streams(const ReduceCall<T>& call, bool& stream) {
  if (!stream) return 0;
  const std::size_t offset = line_offset(call.outputs[0]);
  for (T* out : call.outputs) stream = stream && line_offset(out) == offset;
  stream = stream && offset % sizeof(T) == 0;
  if (!stream) return 0;
  return std::min(call.count, (kLineBytes - offset) % kLineBytes / sizeof(T));
}

/// Makes stores that bypassed the caches visible before later stores.
void end_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <class T>
ReduceEnd end_of(const ReduceCall<T>& call, bool stream) {
  return {call.mean ? call.inputs.size() : 0, call.ahead, stream};
}

template <class T>
typename ReduceLoops<T>::Fused find_fused(const ReduceCall<T>& call, const ReduceLoops<T>& loops,
                                          bool stream) {
  const auto near = call.in_place ? loops.fused_in_place : loops.fused;
  const auto far = call.in_place ? loops.fused_in_place_far : loops.fused_far;
  const auto find = stream ? loops.fused_stream : call.ahead != 0 ? far : near;
  return find(call.order, call.inputs.size());
}

/// Reads each input and writes each output once, if a loop exists for the number of inputs. Does
/// nothing otherwise.
template <class T>
bool reduce_fused(const ReduceCall<T>& call, const ReduceLoops<T>& loops) {
  bool stream = call.stream;
  const std::size_t head = align_streams(call, stream);
  const auto fused = find_fused(call, loops, stream);
  if (fused == nullptr) return false;
  reduce_elements(call, 0, head);
  const std::size_t tail =
      fused(call.inputs.data(), call.outputs.data(), head, call.count, end_of(call, stream));
  reduce_elements(call, tail, call.count);
  if (stream) end_streams();
  return true;
}

/// Sums of packs, aligned for any vector.
struct Tile {
  struct Free {
    void operator()(std::byte* bytes) const {
      ::operator delete[](bytes, std::align_val_t{kLineBytes});
    }
  };
  std::unique_ptr<std::byte, Free> bytes{
      static_cast<std::byte*>(::operator new[](kTileBytes, std::align_val_t{kLineBytes}))};
};

/// A reduction tile by tile: a left fold, or a tree, over groups of inputs.
template <class T>
class Tiles {
 public:
  Tiles(const ReduceCall<T>& call, const ReduceLoops<T>& loops) : call_(call), loops_(loops) {}

  /// Reduces all whole packs. Returns their end.
  std::size_t run() {
    bool stream = call_.stream;
    const std::size_t head = align_streams(call_, stream);
    reduce_elements(call_, 0, head);
    const std::size_t packs = (call_.count - head) / loops_.pack_elements;
    const std::size_t packs_a_tile = kTileBytes / loops_.pack_bytes;
    for (std::size_t p = 0; p < packs; p += packs_a_tile) {
      run_tile(head + p * loops_.pack_elements, std::min(packs_a_tile, packs - p), stream);
    }
    if (stream) end_streams();
    return head + packs * loops_.pack_elements;
  }

 private:
  void run_tile(std::size_t first, std::size_t packs, bool stream) {
    if (call_.order == ReductionOrder::kTree) {
      fold_tree(first, packs);
    } else {
      fold_in_order(first, packs);
    }
    for (T* out : call_.outputs) {
      loops_.finish_tile(out + first, tiles_[0].bytes.get(), packs, end_of(call_, stream));
    }
  }

  std::byte* tile(std::size_t index) {
    if (index == tiles_.size()) tiles_.emplace_back();
    return tiles_[index].bytes.get();
  }

  void fold_in_order(std::size_t first, std::size_t packs) {
    for (std::size_t k = 0; k < call_.inputs.size(); k += kGroup) {
      loops_.fold_group(tile(0), call_.inputs.data() + k, std::min(kGroup, call_.inputs.size() - k),
                        first, packs, k > 0);
    }
  }

  // Two sums of equal size are added at once, as carries in binary counting.
  void fold_tree(std::size_t first, std::size_t packs) {
    std::size_t depth = 0;
    for (std::size_t k = 0, group = 0; k < call_.inputs.size(); k += kGroup, ++group) {
      loops_.tree_group(tile(depth), call_.inputs.data() + k,
                        std::min(kGroup, call_.inputs.size() - k), first, packs);
      ++depth;
      for (std::size_t bits = group; (bits & 1U) != 0; bits >>= 1) add_last(depth, packs);
    }
    while (depth > 1) add_last(depth, packs);
  }

  void add_last(std::size_t& depth, std::size_t packs) {
    --depth;
    loops_.add_tile(tile(depth - 1), tile(depth), packs);
  }

  const ReduceCall<T>& call_;
  const ReduceLoops<T>& loops_;
  std::vector<Tile> tiles_;
};

// Any order but a ring's.
template <class T>
void reduce_whole(const ReduceCall<T>& call, const ReduceLoops<T>& loops) {
  if (call.outputs.size() == call.inputs.size() && reduce_fused(call, loops)) return;
  reduce_elements(call, Tiles<T>(call, loops).run(), call.count);
}

// Each chunk of a ring is in replica order, starting at the chunk's replica.
template <class T>
void reduce_ring(const ReduceCall<T>& call, const ReduceLoops<T>& loops) {
  const std::size_t n = call.inputs.size();
  const std::size_t chunk = ring_chunk(call.count, n);
  ReduceCall<T> part = call;
  part.order = ReductionOrder::kReplicaOrder;
  part.in_place = false;  // Inputs are rotated, and differ from their outputs.
  for (std::size_t c = 0, first = 0; first < call.count; ++c, first += chunk) {
    part.count = std::min(chunk, call.count - first);
    for (std::size_t k = 0; k < n; ++k) {
      part.inputs[k] = call.inputs[c + k < n ? c + k : c + k - n] + first;
    }
    for (std::size_t k = 0; k < call.outputs.size(); ++k) part.outputs[k] = call.outputs[k] + first;
    reduce_whole(part, loops);
  }
}

}  // namespace

template <class T>
void reduce_vectors(const ReduceCall<T>& call, bool wide) {
  const ReduceLoops<T> loops = wide && has_wide_vectors() ? wide_loops<T>() : baseline_loops<T>();
  if (call.order == ReductionOrder::kRing) {
    reduce_ring(call, loops);
  } else {
    reduce_whole(call, loops);
  }
}

template void reduce_vectors(const ReduceCall<float>&, bool);
template void reduce_vectors(const ReduceCall<double>&, bool);
template void reduce_vectors(const ReduceCall<Float16>&, bool);
template void reduce_vectors(const ReduceCall<BFloat16>&, bool);
template void reduce_vectors(const ReduceCall<std::uint8_t>&, bool);
template void reduce_vectors(const ReduceCall<std::uint16_t>&, bool);
template void reduce_vectors(const ReduceCall<std::uint32_t>&, bool);
template void reduce_vectors(const ReduceCall<std::uint64_t>&, bool);

}  // namespace belfry::kernels
