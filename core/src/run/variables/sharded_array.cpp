// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/sharded_array.h"

#include "backend/access_order.h"
#include "backend/part_of.h"
#include "belfry/backend/current_slot.h"
#include "belfry/backend/device.h"
#include "belfry/detail/round_members.h"
#include "belfry/detail/run_view.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/detail/update_argument.h"
#include "belfry/error.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

constexpr const char* kRows = "rows of a sharded variable";
constexpr std::size_t kMostOfPiece = std::size_t{1} << 20;  // Bytes.

// Calls `work(begin, end)` for the lines of each piece of the whole.
template <class Work>
void each_piece(const ShardPlan& plan, const Work& work) {
  const std::int64_t lines = plan.lines();
  if (lines == 0) return;
  const auto step =
      static_cast<std::int64_t>(std::max<std::size_t>(1, kMostOfPiece / plan.line_bytes()));
  for (std::int64_t begin = 0; begin < lines; begin += step) {
    work(begin, std::min(lines, begin + step));
  }
}

// The lines of a part among the lines `begin` to `end` of the whole.
struct PartLines {
  PartLines(const ShardPlan& plan, const ShardRows& rows, std::int64_t begin, std::int64_t end)
      : first(plan.lines_before(rows, begin)), count(plan.lines_before(rows, end) - first) {}

  std::int64_t first;
  std::int64_t count;
};

BufferView view_of(const ShardPlan& plan, const BufferView& part, const PartLines& lines) {
  const std::size_t elements = plan.line_bytes() / size_of(plan.dtype);
  return part_of(part, static_cast<std::size_t>(lines.first) * elements,
                 static_cast<std::size_t>(lines.count) * elements);
}

// Puts the lines of all replicas into the order of the whole. `messages` has the lines of each
// process, replica after replica.
std::vector<std::byte> laid_out(const StrategyCore& core, const ShardPlan& plan,
                                const std::vector<Bytes>& messages, std::int64_t begin,
                                std::int64_t end) {
  const std::size_t line = plan.line_bytes();
  std::vector<std::byte> piece(static_cast<std::size_t>(end - begin) * line);
  const RoundMembers& members = core.members();
  for (int process = 0; process < members.processes(); ++process) {
    ByteReader in(messages[static_cast<std::size_t>(process)]);
    for (int id = members.first_replica(process); id < members.first_replica(process + 1); ++id) {
      const auto copy = [&](std::int64_t first, std::int64_t count) {
        in.take(piece.data() + static_cast<std::size_t>(first - begin) * line,
                static_cast<std::size_t>(count) * line);
      };
      plan.each_run(plan.rows(id), begin, end, copy);
    }
  }
  return piece;
}

}  // namespace

void ShardedArray::require_parts(CallSite site) const {
  require_own_value(*info().owner, info(), site);
  for (int i = 0; i < info().places.size(); ++i) require_rows_of(info(), i, part_(i), site);
}

void ShardedArray::read(TakeElements take, CallSite site) const {
  StrategyCore& core = *info().owner;
  const ShardPlan& shards = plan();
  require_no_rows_listen(core, info(), "saving a sharded variable", site);
  core.telling_failure(site, [&] { require_parts(site); });
  each_piece(shards, [&](std::int64_t begin, std::int64_t end) {
    const auto write = [&](ByteWriter& out) {
      for (int i = 0; i < info().places.size(); ++i) {
        const PartLines lines(shards, shards.own[static_cast<std::size_t>(i)], begin, end);
        if (lines.count == 0) continue;
        const AnyTensor& part = part_(i);
        const BufferView view = view_of(shards, part.view(), lines);
        const AnyTensor some(view, Shape{static_cast<std::int64_t>(view.count)}, part.placement());
        some.read(out.make_room(some.bytes()), site);
      }
    };
    const std::vector<Bytes> messages = core.members().exchange(kRows, site, write);
    take(laid_out(core, shards, messages, begin, end));
  });
}

void ShardedArray::write(GiveElements give, CallSite site) {
  VariableInfo& changed = variable_->info;
  // Until all elements are there.
  changed.lost = std::make_exception_ptr(InvalidArgumentError(
      ErrorCode::kInvalidArgument, "\"" + changed.name + "\" is being restored", {}, site));
  try {
    write_parts(give, site);
  } catch (...) {
    changed.lost = std::current_exception();
    throw;
  }
  changed.lost = nullptr;
  changed.changed = site;
  if (VariableTap* const tap = changed.owner->variable_tap()) tap->changed(*variable_);
}

// A part in memory of the variable alone, with undefined contents.
void ShardedArray::prepare_part(int component, CallSite site) {
  const SiteScope scope(site);
  const auto index = static_cast<std::size_t>(component);
  AnyTensor& part = part_(component);
  const Shape shape = plan().shape_of(plan().own[index]);
  if (part.empty() || part.shape() != shape) {
    part = AnyTensor();
    const Placement place = info().owner->placement_on(info().places.devices[index]);
    part = AnyTensor::allocate(plan().dtype, shape, place);
  }
  part.writable(false);
}

// Puts the lines of the component among the lines `begin` to `end`, which are `piece`, in place.
void ShardedArray::write_lines(int component, std::int64_t begin, std::int64_t end,
                               std::span<const std::byte> piece, CallSite site) {
  const ShardRows& rows = plan().own[static_cast<std::size_t>(component)];
  const PartLines lines(plan(), rows, begin, end);
  if (lines.count == 0) return;
  const std::size_t line = plan().line_bytes();
  std::vector<std::byte> own;
  const auto copy = [&](std::int64_t first, std::int64_t count) {
    const auto from = piece.begin() + (first - begin) * static_cast<std::int64_t>(line);
    own.insert(own.end(), from, from + count * static_cast<std::int64_t>(line));
  };
  plan().each_run(rows, begin, end, copy);
  const SiteScope scope(site);
  const AnyTensor& part = part_(component);
  const BufferView view = view_of(plan(), part.view(), lines);
  Stream& stream = device_of(part.placement()).compute_stream();
  order_write(stream, view);
  stream.write(view, own.data());
}

// No scope of a call site is open during `give`, which may pause this process.
void ShardedArray::write_parts(GiveElements give, CallSite site) {
  for (int i = 0; i < info().places.size(); ++i) prepare_part(i, site);
  std::vector<std::byte> piece;
  each_piece(plan(), [&](std::int64_t begin, std::int64_t end) {
    const std::size_t line = plan().line_bytes();
    piece.resize(static_cast<std::size_t>(end - begin) * line);
    give(static_cast<std::uint64_t>(begin) * line, piece);
    for (int i = 0; i < info().places.size(); ++i) write_lines(i, begin, end, piece, site);
  });
}

}  // namespace belfry::detail
