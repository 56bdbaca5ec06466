// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "round_message.h"

#include "belfry/error.h"

namespace belfry::mpi {
namespace {

using belfry::detail::ByteReader;
using belfry::detail::Bytes;
using belfry::detail::ByteWriter;

// The first word of each message: a different number means a different version or byte order.
constexpr std::uint32_t kFormat = 0x62670001;

void require_format(ByteReader& in) {
  check(in.get<std::uint32_t>() == kFormat, "processes of different versions or byte orders");
}

}  // namespace

Bytes encode(const RoundMessage& message) {
  ByteWriter out;
  out.put(kFormat);
  out.put(message.round);
  out.text(message.call);
  out.put(message.bytes);
  out.add(message.first.data(), message.first.size());
  return out.bytes();
}

RoundMessage decode_round(const Bytes& bytes) {
  ByteReader in(bytes);
  require_format(in);
  RoundMessage message;
  message.round = in.get<std::uint64_t>();
  message.call = in.text();
  message.bytes = in.get<std::uint64_t>();
  message.first.assign(in.rest().begin(), in.rest().end());
  return message;
}

Bytes encode(const Notice& notice) {
  ByteWriter out;
  out.put(kFormat);
  out.text(notice.reason);
  out.put(static_cast<std::uint64_t>(notice.lost.size()));
  for (const int rank : notice.lost) out.put(rank);
  return out.bytes();
}

Notice decode_notice(const Bytes& bytes) {
  ByteReader in(bytes);
  require_format(in);
  Notice notice;
  notice.reason = in.text();
  for (std::size_t left = in.count(sizeof(int)); left > 0; --left) {
    notice.lost.push_back(in.get<int>());
  }
  return notice;
}

}  // namespace belfry::mpi
