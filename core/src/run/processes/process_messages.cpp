// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/processes/process_messages.h"

#include "belfry/error.h"

#include <cstring>
#include <utility>

namespace belfry::detail {
namespace {

using Kind = ProcessMessage::Kind;

// The first word of each message. A different number means a different version or byte order, or
// bytes of the program.
constexpr std::uint32_t kStrategyFormat = 0x62660003;
constexpr std::uint32_t kGroupFormat = 0x62670001;

std::uint32_t format_of(std::span<const std::byte> bytes) {
  std::uint32_t format = 0;
  if (bytes.size() >= sizeof(format)) std::memcpy(&format, bytes.data(), sizeof(format));
  return format;
}

// The first two bytes of both formats, in either byte order.
bool is_of_other_version(std::uint32_t format) {
  const std::uint32_t high = format >> 16U;
  const std::uint32_t low = format & 0xffffU;
  return high == 0x6266 || high == 0x6267 || low == 0x6662 || low == 0x6762;
}

// The words of a call of a strategy, for a process with a call of the group.
std::string word_of(const ProcessMessage& message) {
  switch (message.kind) {
    case Kind::kMake:
      return "the constructor of a strategy";
    case Kind::kValues:
      return message.what + " of a strategy";
    default:
      return "run of a strategy";
  }
}

ProcessMessage message_of(GroupCall call) {
  ProcessMessage message{.kind = Kind::kGroup, .what = std::move(call.word)};
  message.file = std::move(call.file);
  message.line = call.line;
  return message;
}

}  // namespace

void write_head(ByteWriter& out, const ProcessMessage& message) {
  out.put(kStrategyFormat);
  out.put(message.kind);
  out.put(message.strategy);
  out.text(message.what);
  out.text(message.file);
  out.put(message.line);
  out.put(message.replica);
  out.put(message.in_run);
  out.put(message.transaction);
}

Bytes encode(const ProcessMessage& message) {
  ByteWriter out;
  write_head(out, message);
  out.add(message.payload.data(), message.payload.size());
  return out.bytes();
}

// The payload stays in the memory of the message.
ProcessMessage decode(Bytes bytes) {
  const std::uint32_t format = format_of(bytes);
  if (format != kStrategyFormat) return message_of(decode_group_call(bytes));
  ByteReader in(bytes);
  in.get<std::uint32_t>();
  ProcessMessage message;
  message.kind = in.get<Kind>();
  message.strategy = in.get<std::uint64_t>();
  message.what = in.text();
  message.file = in.text();
  message.line = in.get<int>();
  message.replica = in.get<int>();
  message.in_run = in.get<bool>();
  message.transaction = in.get<int>();
  const std::size_t head = bytes.size() - in.rest().size();
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(head));
  message.payload = std::move(bytes);
  return message;
}

Bytes encode(const GroupCall& call) {
  ByteWriter out;
  out.put(kGroupFormat);
  out.text(call.word);
  out.text(call.file);
  out.put(call.line);
  out.put(call.number);
  return out.bytes();
}

GroupCall decode_group_call(const Bytes& bytes) {
  const std::uint32_t format = format_of(bytes);
  if (format == kStrategyFormat) {
    const ProcessMessage message = decode(bytes);
    return {word_of(message), message.file, message.line};
  }
  if (format != kGroupFormat) {
    check(!is_of_other_version(format), "processes of different versions or byte orders");
    return {"gather"};
  }
  ByteReader in(bytes);
  in.get<std::uint32_t>();
  GroupCall call{in.text(), in.text()};
  call.line = in.get<int>();
  call.number = in.get<std::int64_t>();
  return call;
}

}  // namespace belfry::detail
