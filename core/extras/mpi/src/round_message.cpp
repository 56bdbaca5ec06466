// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "round_message.h"

#include "belfry/error.h"

namespace belfry::mpi {

using belfry::detail::ByteReader;
using belfry::detail::Bytes;
using belfry::detail::ByteWriter;

std::string text_of(Call call) {
  switch (call) {
    case kGather:
      return "gather";
    case kConstructor:
      return "the constructor";
    case kLeave:
    case kEnd:
      return "the destructor";
    case kParts:
      return "exchange of parts";
    default:
      return "broadcast from process " + std::to_string(call);
  }
}

Bytes encode(const Notice& notice) {
  ByteWriter out;
  out.put(kFormat);
  out.put(notice.from);
  out.text(notice.reason);
  out.put(static_cast<std::uint64_t>(notice.lost.size()));
  for (const int rank : notice.lost) out.put(rank);
  return out.bytes();
}

Notice decode_notice(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  check(in.get<std::uint32_t>() == kFormat, "processes of different versions or byte orders");
  Notice notice;
  notice.from = in.get<int>();
  notice.reason = in.text();
  for (std::size_t left = in.count(sizeof(int)); left > 0; --left) {
    notice.lost.push_back(in.get<int>());
  }
  return notice;
}

}  // namespace belfry::mpi
