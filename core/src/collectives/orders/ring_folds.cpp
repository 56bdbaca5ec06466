// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "collectives/orders/ring_folds.h"

#include <algorithm>

namespace belfry::orders {

std::vector<int> members_of(const RingFold& fold, int members) {
  const int replicas = members / fold.hosts;
  std::vector<int> order;
  for (int step = 0; step < members; ++step) {
    const int place = (fold.first + step) % members;
    const int turned = (place + fold.turn) % replicas;
    const int of_host = fold.reversed ? replicas - 1 - turned : turned;
    order.push_back(place / replicas * replicas + of_host);
  }
  return order;
}

// A length of 0 leaves everything to the last chunk.
int RingCut::chunk_of(std::size_t element) const {
  const auto last = static_cast<std::size_t>(chunks - 1);
  return static_cast<int>(length == 0 ? last : std::min(element / length, last));
}

std::size_t RingCut::end_of(int chunk, std::size_t elements) const {
  if (chunk + 1 == chunks) return elements;
  return std::min(static_cast<std::size_t>(chunk + 1) * length, elements);
}

RingCut cut(const RingOrder& ring, const ReducedTensor& tensor) {
  const auto rounded_up = [&](int parts) {
    const auto count = static_cast<std::size_t>(parts);
    return tensor.elements / count + (tensor.elements % count == 0 ? 0 : 1);
  };
  switch (ring.chunks) {
    case RingChunks::kRoundedUp: {
      const int chunks = ring.count == 0 ? tensor.members * ring.subchunks : ring.count;
      return {chunks, rounded_up(chunks)};
    }
    case RingChunks::kRemainderLast:
      return {tensor.members, tensor.elements / static_cast<std::size_t>(tensor.members)};
    case RingChunks::kCacheLines:
      break;
  }
  constexpr std::size_t line = 64;
  const std::size_t bytes = size_of(tensor.dtype) * rounded_up(tensor.members);
  return {tensor.members, line * (bytes / line + 1) / size_of(tensor.dtype)};
}

RingFold fold_of(const RingOrder& ring, int members, int chunk) {
  const int replicas = members / ring.hosts;
  const int subchunk = chunk % ring.subchunks;
  const int turn = ring.rotation + subchunk * std::max(1, replicas / ring.subchunks);
  const int place = chunk / ring.subchunks + ring.start;
  if (ring.hosts > 1) return {ring.hosts, turn % replicas, ring.reversed, place % members};
  return {1, 0, ring.reversed, (place + turn) % members};
}

}  // namespace belfry::orders
