// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/operation.h"
#include "belfry/call_site.h"
#include "call_book.h"
#include "engine/command.h"
#include "engine/command_queue.h"
#include "order_point.h"
#include "races/access_history.h"
#include "races/clock.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace belfry::driver {

/// A call with accesses to memory, for reports.
struct Caller {
  std::string_view function{};  ///< Of CUDA or NCCL, or `kernel matmul`.
  int thread = 0;               ///< ThreadState::number.
  CallSite site{};              ///< Of the user's call of belfry; empty if not known.
};

/// Pageable memory of the program.
struct HostBytes {
  const void* begin = nullptr;
  std::size_t count = 0;
};

/// The accesses of a call.
struct Touched {
  std::vector<engine::Access> reads{};
  std::vector<engine::Access> writes{};
  HostBytes host_read{};
  HostBytes host_written{};
  bool frees = false;  ///< The bytes of `writes` are freed.
};

/// Finds the accesses to device memory, pinned memory and pageable memory whose order depends on
/// the streams, from the calls of a single run. Judges by the orders of every seed: the work of a
/// stream, records and the waits for them, collectives, waits of the host. The same calls give the
/// same reports.
///
/// Host threads. The driver sees no lock and no join of the program. A call therefore comes after
/// all earlier calls of all threads, and a wait of a thread is a wait of all threads.
///
/// How the book works. The streams of the book have the items of the engine's streams. An item
/// passes as soon as the order of the item is known: a part of a collective with the last part, a
/// wait after the record, all other items at the submission. The engine hears of an item after the
/// book, and the book of the end of a host's wait after the engine. Several threads may use a
/// RaceBook.
class RaceBook {
 public:
  explicit RaceBook(CallBook& book) : book_(book) {}

  /// Appends work to a stream.
  void work(const engine::CommandQueue& queue, const Touched& touched, const Caller& by);
  /// An access by the host, after all waits of the host.
  void host_work(const Touched& touched, const Caller& by);
  /// Appends a record: `point` becomes the point of the record.
  void record(const engine::CommandQueue& queue, OrderPointPtr& point);
  /// Appends a wait for the present value of `point`; null: for nothing.
  void wait(const engine::CommandQueue& queue, const OrderPointPtr& point);
  /// Appends a part of a collective. `named` is the stream for reports.
  void join(const engine::CommandQueue& queue, const MeetingPtr& meeting, const Touched& touched,
            const Caller& by, const engine::CommandQueue& named);
  /// The collective never runs: its parts pass without an order.
  void give_up(const MeetingPtr& meeting);
  /// No more items come.
  void close(const engine::CommandQueue& queue);

  /// The end of the present items of a stream, and of all streams of a GPU.
  OrderPointPtr end_of(const engine::CommandQueue& queue);
  std::vector<OrderPointPtr> ends_on(int gpu);
  /// The present value of `point`. Other threads may change the value.
  OrderPointPtr latest(const OrderPointPtr& point);
  /// Whether a query may answer that `point` has passed. Not the first query, unless the host has
  /// waited for the work: a single query, whatever the seed, is no order.
  bool may_answer(const OrderPointPtr& point);
  /// The host has waited for `point`; null: for nothing.
  void host_passed(const OrderPointPtr& point);
  /// A wait has failed: the engine is past all work.
  void host_passed_all();

 private:
  using Access = sim::races::BufferAccess;
  using Clock = sim::races::Clock;
  using Lane = sim::races::Lane;

  struct Memory {
    std::uint64_t resource = 0;
    std::string text{};
    bool is_pageable = false;
    sim::races::AccessHistory history{};
  };
  struct Origin : sim::races::AccessOrigin {
    std::string call;  // The function with its stream.
  };
  using OriginKey = std::tuple<std::string, std::int32_t, int, std::string, int>;
  // Bytes of a memory that is kept while items are not passed.
  struct Touch {
    Memory* memory = nullptr;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool writes = false;
  };
  struct Item {
    enum class Kind : std::uint8_t { kWork, kRecord, kWait, kPart };
    Kind kind = Kind::kWork;
    bool arrived = false;  // Of kPart: at the head, and counted.
    bool frees = false;
    Clock host{};  // Everything before the submission.
    std::vector<Touch> touches{};
    const Origin* origin = nullptr;
    OrderPointPtr point{};
    MeetingPtr meeting{};
  };
  struct Stream {
    int gpu = 0;
    bool closed = false;
    Lane lane = 0;
    std::uint32_t number = 0;  // Of the last work in the lane.
    Clock clock{};             // Up to the last passed item.
    std::deque<Item> items{};  // Not yet passed.
  };
  // The lane of an ended stream. The next owner comes after the former.
  struct FreeLane {
    Lane lane = 0;
    std::uint32_t number = 0;
    Clock clock{};
  };

  Stream& stream_of(const engine::CommandQueue& queue);
  const Origin* origin_of(const Caller& by, const engine::CommandQueue* stream);
  std::vector<Touch> touches_of(const Touched& touched);
  OrderPointPtr make_point();
  void push(const engine::CommandQueue& queue, Item item);
  void advance(std::int32_t first);
  bool pass(std::int32_t number, Stream& stream, std::vector<std::int32_t>& movable);
  bool meet(std::int32_t number, Stream& stream, std::vector<std::int32_t>& movable);
  void touch(const Item& item, Access access, const Clock& before);
  void end(Stream& stream);
  void forget_freed();
  void report(const Memory& memory, const Access& first, const Access& second);

  CallBook& book_;
  std::mutex mutex_;  // for all below, points and meetings
  // With the points, which may outlive the book.
  std::shared_ptr<EndedPoints> ended_points_ = std::make_shared<EndedPoints>();
  std::map<std::int32_t, Stream> streams_;  // By number of the queue.
  std::map<int, Clock> ended_;              // Everything in ended streams, by GPU.
  Lane lanes_ = 1;
  std::deque<FreeLane> free_lanes_;
  Clock host_;                                // Everything the host has waited for.
  std::uint32_t host_steps_ = 0;              // Of lane 0.
  std::map<std::uint64_t, Memory> memories_;  // By Allocation::resource.
  std::vector<std::uint64_t> freed_;
  std::map<OriginKey, Origin, std::less<>> origins_;
  std::set<std::tuple<std::string, std::string, bool, std::string, std::string, bool>> reported_;
};

}  // namespace belfry::driver
