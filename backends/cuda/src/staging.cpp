// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "staging.h"

#include "check.h"
#include "device_state.h"
#include "event.h"

#include <algorithm>
#include <cstring>

namespace belfry::cuda {
namespace {

constexpr std::size_t kRing = std::size_t{4} << 20;
// Large writes are cut into pieces: a piece is filled while the piece before is copied out.
constexpr std::size_t kLargest = kRing / 4;
constexpr std::size_t kAlignment = 256;
// Limits the number of events of a host that never waits.
constexpr std::size_t kMostPieces = 256;

}  // namespace

Staging::~Staging() {
  for (const Piece& piece : pieces_) device_.give_event(piece.done);
  if (memory_ != nullptr) ignore_failure(cudaFreeHost(memory_));
}

void Staging::write(void* to, const void* from, std::size_t bytes, cudaStream_t stream,
                    cudaMemcpyKind kind) {
  const std::lock_guard lock(mutex_);
  if (!has_memory()) {
    BELFRY_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, kind, stream));
    Counters::add(device_.shared().counters.write.host_waits);
    BELFRY_CUDA_TRY(cudaStreamSynchronize(stream));
    return;
  }
  for (std::size_t begin = 0; begin < bytes; begin += kLargest) {
    write_piece(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                std::min(kLargest, bytes - begin), stream, kind);
  }
}

bool Staging::has_memory() {
  if (memory_ != nullptr || refused_) return memory_ != nullptr;
  void* memory = nullptr;
  const cudaError_t code = cudaHostAlloc(&memory, kRing, cudaHostAllocPortable);
  ignore_failure(code);
  refused_ = code != cudaSuccess;
  // A failed call may leave any address.
  if (!refused_) memory_ = static_cast<std::byte*>(memory);
  return memory_ != nullptr;
}

void Staging::write_piece(void* to, const void* from, std::size_t bytes, cudaStream_t stream,
                          cudaMemcpyKind kind) {
  std::list<Piece> piece(1);
  piece.front().begin = make_room(bytes);
  piece.front().end = piece.front().begin + (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::byte* const staged = memory_ + piece.front().begin;
  std::memcpy(staged, from, bytes);
  const cudaEvent_t done = piece.front().done = device_.take_event();
  try {
    BELFRY_CUDA_TRY(cudaMemcpyAsync(to, staged, bytes, kind, stream));
    BELFRY_CUDA_TRY(cudaEventRecord(done, stream));
  } catch (...) {
    // Without an event the piece is free after the stream, or never if the GPU is lost.
    ignore_failure(cudaStreamSynchronize(stream));
    device_.give_event(done);
    throw;
  }
  next_ = piece.front().end;
  pieces_.splice(pieces_.end(), piece);
}

// Pieces are freed in the order of the ring: the free bytes lie from `next_` to the oldest piece.
// `next_` reaches the oldest piece only in an empty ring.
std::size_t Staging::make_room(std::size_t bytes) {
  const std::size_t needed = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  while (!pieces_.empty() && has_happened(pieces_.front().done)) free_oldest();
  for (;;) {
    if (pieces_.empty()) return 0;
    const std::size_t oldest = pieces_.front().begin;
    if (pieces_.size() < kMostPieces) {
      if (next_ > oldest && kRing - next_ >= needed) return next_;
      if (next_ > oldest && oldest > needed) return 0;
      if (next_ < oldest && oldest - next_ > needed) return next_;
    }
    Counters::add(device_.shared().counters.write.host_waits);
    BELFRY_CUDA_TRY(cudaEventSynchronize(pieces_.front().done));
    free_oldest();
  }
}

void Staging::free_oldest() {
  device_.give_event(pieces_.front().done);
  pieces_.pop_front();
}

}  // namespace belfry::cuda
