// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "race_book.h"

#include "belfry/sim/race.h"

#include <algorithm>
#include <utility>

namespace belfry::driver {
namespace {

constexpr std::size_t kMostReports = 64;
// Stands for all pageable memory, whose bytes have the numbers of their addresses.
constexpr std::uint64_t kPageable = ~std::uint64_t{0};
// Lanes of ended streams come back late: until then the streams have no order.
constexpr std::size_t kKeptLanes = 64;

std::string name_of(std::int32_t stream) {
  return to_string(AgentId{AgentId::Kind::kStream, stream});
}

std::string missing_order(std::int32_t first, std::int32_t second) {
  const std::string earlier = name_of(first);
  if (second < 0) return "the host does not wait for " + earlier + " before the second call";
  const std::string later = name_of(second);
  return later + " does not wait for " + earlier + ": record an event in " + earlier +
         " after the first call, and let " + later + " wait for the event before the second";
}

}  // namespace

void RaceBook::work(const engine::CommandQueue& queue, const Touched& touched, const Caller& by) {
  const std::lock_guard lock(mutex_);
  push(queue, {.frees = touched.frees,
               .host = host_,
               .touches = touches_of(touched),
               .origin = origin_of(by, &queue)});
}

void RaceBook::host_work(const Touched& touched, const Caller& by) {
  const std::lock_guard lock(mutex_);
  const Item item{
      .frees = touched.frees, .touches = touches_of(touched), .origin = origin_of(by, nullptr)};
  touch(item, {.kind = Access::Kind::kHost, .lane = 0, .number = ++host_steps_}, host_);
  host_.add(0, host_steps_);
  forget_freed();
}

void RaceBook::record(const engine::CommandQueue& queue, OrderPointPtr& point) {
  const std::lock_guard lock(mutex_);
  point = make_point();
  push(queue, {.kind = Item::Kind::kRecord, .point = point});
}

void RaceBook::wait(const engine::CommandQueue& queue, const OrderPointPtr& point) {
  const std::lock_guard lock(mutex_);
  if (point != nullptr) push(queue, {.kind = Item::Kind::kWait, .point = point});
}

void RaceBook::join(const engine::CommandQueue& queue, const MeetingPtr& meeting,
                    const Touched& touched, const Caller& by, const engine::CommandQueue& named) {
  const std::lock_guard lock(mutex_);
  push(queue, {.kind = Item::Kind::kPart,
               .host = host_,
               .touches = touches_of(touched),
               .origin = origin_of(by, &named),
               .meeting = meeting});
}

void RaceBook::give_up(const MeetingPtr& meeting) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(meeting->over, true)) return;
  for (const std::int32_t stream : std::exchange(meeting->streams, {})) advance(stream);
}

void RaceBook::close(const engine::CommandQueue& queue) {
  const std::lock_guard lock(mutex_);
  stream_of(queue).closed = true;
  advance(queue.number());
}

OrderPointPtr RaceBook::end_of(const engine::CommandQueue& queue) {
  OrderPointPtr point;
  record(queue, point);
  return point;
}

std::vector<OrderPointPtr> RaceBook::ends_on(int gpu) {
  const std::lock_guard lock(mutex_);
  std::vector<OrderPointPtr> ends{make_point()};
  ends[0]->passed = true;
  ends[0]->clock = ended_[gpu];
  for (auto& [number, stream] : streams_) {
    if (stream.gpu != gpu) continue;
    ends.push_back(make_point());
    stream.items.push_back({.kind = Item::Kind::kRecord, .point = ends.back()});
    if (stream.items.size() == 1) {
      ends.back()->passed = true;
      ends.back()->last = {stream.lane, stream.number};
      ends.back()->clock = stream.clock;
      stream.items.clear();
    }
  }
  return ends;
}

OrderPointPtr RaceBook::latest(const OrderPointPtr& point) {
  const std::lock_guard lock(mutex_);
  return point;
}

void RaceBook::host_passed(const OrderPointPtr& point) {
  const std::lock_guard lock(mutex_);
  if (point != nullptr && point->passed) host_.join(point->clock);
}

bool RaceBook::may_answer(const OrderPointPtr& point) {
  const std::lock_guard lock(mutex_);
  if (point == nullptr) return true;
  const bool is_known = point->passed && host_.at(point->last.lane) >= point->last.number;
  return std::exchange(point->asked, true) || is_known;
}

void RaceBook::host_passed_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, stream] : streams_) host_.join(stream.clock);
  for (const auto& [gpu, clock] : ended_) host_.join(clock);
}

RaceBook::Stream& RaceBook::stream_of(const engine::CommandQueue& queue) {
  const auto [place, fresh] = streams_.try_emplace(queue.number());
  Stream& stream = place->second;
  if (!fresh) return stream;
  stream.gpu = queue.device();
  if (free_lanes_.size() > kKeptLanes) {
    FreeLane& former = free_lanes_.front();
    stream.lane = former.lane;
    stream.number = former.number;
    stream.clock = std::move(former.clock);
    free_lanes_.pop_front();
  } else {
    stream.lane = lanes_++;
  }
  return stream;
}

const RaceBook::Origin* RaceBook::origin_of(const Caller& by, const engine::CommandQueue* stream) {
  const std::int32_t number = stream == nullptr ? -1 : stream->number();
  const std::string_view file = by.site.file;
  const auto found = origins_.find(std::tuple(by.function, number, by.thread, file, by.site.line));
  if (found != origins_.end()) return &found->second;
  const OriginKey key(by.function, number, by.thread, file, by.site.line);
  const auto place = origins_.try_emplace(key).first;
  Origin& origin = place->second;
  origin.actor.agent.index = by.thread;
  origin.stream = number;
  origin.name = std::get<0>(place->first);
  origin.site = by.site;
  origin.call = by.function;
  if (stream != nullptr) origin.call += " in " + name_of(number) + " (" + stream->label() + ")";
  return &origin;
}

// Makes missing histories: the text of a history needs the allocation.
std::vector<RaceBook::Touch> RaceBook::touches_of(const Touched& touched) {
  std::vector<Touch> touches;
  touches.reserve(touched.reads.size() + touched.writes.size());
  Memory* latest = nullptr;  // Operands often have neighbours in one memory.
  const auto add = [&](const engine::Access& access, bool writes) {
    const std::uint64_t resource = access.allocation->resource();
    if (latest == nullptr || latest->resource != resource) {
      const auto [place, fresh] = memories_.try_emplace(resource);
      latest = &place->second;
      latest->resource = resource;
      if (fresh) latest->text = access.allocation->describe();
    }
    touches.push_back({latest, access.range.begin, access.range.end, writes});
  };
  for (const engine::Access& access : touched.reads) add(access, false);
  for (const engine::Access& access : touched.writes) add(access, true);
  const auto add_pageable = [&](const HostBytes& bytes, bool writes) {
    if (bytes.count == 0) return;
    Memory& memory = memories_[kPageable];
    memory.resource = kPageable;
    memory.text = "pageable memory of the host";
    memory.is_pageable = true;
    memory.history.forget(host_);
    const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(bytes.begin);
    touches.push_back({&memory, begin, begin + bytes.count, writes});
  };
  add_pageable(touched.host_read, false);
  add_pageable(touched.host_written, true);
  return touches;
}

OrderPointPtr RaceBook::make_point() {
  ended_points_->clear();
  return {new OrderPoint, [ended = ended_points_](OrderPoint* point) { ended->add(point); }};
}

void RaceBook::push(const engine::CommandQueue& queue, Item item) {
  Stream& stream = stream_of(queue);
  stream.items.push_back(std::move(item));
  if (stream.items.size() == 1) advance(queue.number());
}

// Lets items pass in the stream `first`, and in the streams behind these items.
void RaceBook::advance(std::int32_t first) {
  std::vector<std::int32_t> movable{first};
  while (!movable.empty()) {
    const std::int32_t number = movable.back();
    movable.pop_back();
    const auto place = streams_.find(number);
    if (place == streams_.end()) continue;
    Stream& stream = place->second;
    while (!stream.items.empty() && pass(number, stream, movable)) stream.items.pop_front();
    if (!stream.closed || !stream.items.empty()) continue;
    end(stream);
    streams_.erase(place);
  }
  forget_freed();
}

// Whether the head of `stream` passes. Adds streams with a movable head to `movable`.
bool RaceBook::pass(std::int32_t number, Stream& stream, std::vector<std::int32_t>& movable) {
  Item& item = stream.items.front();
  switch (item.kind) {
    case Item::Kind::kWork:
      stream.clock.join(item.host);
      touch(item, {.lane = stream.lane, .number = ++stream.number}, stream.clock);
      stream.clock.add(stream.lane, stream.number);
      stream.clock.end_at({stream.lane, stream.number});
      return true;
    case Item::Kind::kRecord:
      item.point->passed = true;
      item.point->last = {stream.lane, stream.number};
      item.point->clock = stream.clock;
      for (const std::int32_t waiting : std::exchange(item.point->waiting, {})) {
        movable.push_back(waiting);
      }
      return true;
    case Item::Kind::kWait:
      if (!item.point->passed) {
        item.point->waiting.push_back(number);
        return false;
      }
      stream.clock.join(item.point->clock);
      return true;
    case Item::Kind::kPart:
      break;
  }
  return meet(number, stream, movable);
}

// A collective takes place with all parts at the heads of streams.
bool RaceBook::meet(std::int32_t number, Stream& stream, std::vector<std::int32_t>& movable) {
  Meeting& meeting = *stream.items.front().meeting;
  if (meeting.over) return true;
  if (!std::exchange(stream.items.front().arrived, true)) {
    meeting.streams.push_back(number);
    --meeting.missing;
  }
  if (meeting.missing > 0) return false;
  meeting.over = true;
  Clock point;
  for (const std::int32_t member : meeting.streams) {
    const Stream& own = streams_.at(member);
    point.join(own.clock);
    point.join(own.items.front().host);
  }
  for (const std::int32_t member : meeting.streams) {
    Stream& own = streams_.at(member);
    point.add(own.lane, ++own.number);
  }
  point.end_at({stream.lane, stream.number});
  for (const std::int32_t member : meeting.streams) {
    Stream& own = streams_.at(member);
    touch(own.items.front(), {.lane = own.lane, .number = own.number}, point);
    own.clock = point;
    if (member != number) movable.push_back(member);
  }
  return true;
}

void RaceBook::touch(const Item& item, Access access, const Clock& before) {
  access.origin = item.origin;
  for (const Touch& one : item.touches) {
    Memory& memory = *one.memory;
    access.writes = one.writes;
    access.begin = one.begin;
    access.end = one.end;
    memory.history.add(access, before, [&](const Access& first, const Access& second) {
      report(memory, first, second);
    });
    if (item.frees) freed_.push_back(memory.resource);
  }
}

void RaceBook::end(Stream& stream) {
  ended_[stream.gpu].join(stream.clock);
  free_lanes_.push_back({stream.lane, stream.number, std::move(stream.clock)});
}

// Items in streams may touch the memory.
void RaceBook::forget_freed() {
  if (freed_.empty()) return;
  const auto waits = [](const auto& entry) { return !entry.second.items.empty(); };
  if (std::ranges::any_of(streams_, waits)) return;
  for (const std::uint64_t resource : freed_) memories_.erase(resource);
  freed_.clear();
}

// A report for each two kinds of calls.
void RaceBook::report(const Memory& memory, const Access& first, const Access& second) {
  if (reported_.size() >= kMostReports) return;
  // An address differs from run to run.
  const std::uint64_t origin_of_bytes =
      memory.is_pageable ? std::min(first.begin, second.begin) : 0;
  const auto side = [&](const Access& access) {
    const auto& origin = static_cast<const Origin&>(*access.origin);
    return sim::RaceSide{.agent = "thread " + std::to_string(origin.actor.agent.index),
                         .operation = origin.call,
                         .writes = access.writes,
                         .begin = access.begin - origin_of_bytes,
                         .end = access.end - origin_of_bytes,
                         .place = origin.site.empty() ? "" : to_string(origin.site)};
  };
  const sim::Race race{side(first), side(second), memory.text,
                       missing_order(first.origin->stream, second.origin->stream)};
  const bool fresh = reported_
                         .emplace(first.origin->name, race.first.place, first.writes,
                                  second.origin->name, race.second.place, second.writes)
                         .second;
  if (fresh) book_.report(to_string(race));
}

}  // namespace belfry::driver
