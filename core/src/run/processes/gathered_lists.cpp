// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Gathers of lists of elements. The message of a process tells the axis and the length of each of
// its lists, and has the elements, except for long lists of a group with parts: these follow. The
// messages of all are joined in the exchange.
#include "belfry/detail/gathered_lists.h"

#include "belfry/backend/process_parts.h"
#include "belfry/detail/gather_values.h"
#include "belfry/detail/process_values.h"
#include "run/processes/group_members.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

namespace belfry::detail {
namespace {

using Span = std::span<const std::byte>;

// In a group with parts, the lists of a process with at most so many bytes are in its message.
constexpr std::size_t kShortBytes = 1024;

// The lists of all processes, from their messages.
struct ListsOfAll {
  std::vector<int> axes{};
  std::vector<std::size_t> counts{};  // The number of elements of each list.
  std::vector<std::size_t> lists{};   // The number of lists of each process.
  std::vector<Span> elements{};       // The elements of each process.
  bool have_elements = true;

  // Reads the message of the next process, behind the replicas.
  void add(ByteReader& in, std::size_t replicas) {
    lists.push_back(replicas);
    for (std::size_t left = replicas; left > 0; --left) {
      axes.push_back(in.get<int>());
      counts.push_back(in.count());
    }
    const bool has_elements = in.get<bool>();
    have_elements = have_elements && has_elements;
    elements.push_back(in.rest());
  }
  void add_listener() {
    lists.push_back(0);
    elements.emplace_back();
  }
  bool have_axis_0() const {
    const auto is_first = [this](int axis) { return axis == axes.front(); };
    return !axes.empty() && (axes.front() == 0 || axes.front() == -1) &&
           std::ranges::all_of(axes, is_first);
  }
};

// The message for every process, from the messages of all; nothing if the axes are at fault.
std::optional<Bytes> join(std::span<const Span> messages) {
  ListsOfAll all;
  for (const Span& message : messages) {
    ByteReader in(message);
    const std::size_t replicas = in.count(sizeof(int));
    in.skip(replicas * sizeof(int));
    all.add(in, replicas);
  }
  if (!all.have_axis_0()) return {};
  ByteWriter out;
  std::size_t bytes = 8 * (all.lists.size() + all.counts.size()) + 1;
  for (const Span& elements : all.elements) bytes += elements.size();
  out.reserve(bytes);
  for (const std::size_t lists : all.lists) out.put(static_cast<std::uint64_t>(lists));
  for (const std::size_t count : all.counts) out.put(static_cast<std::uint64_t>(count));
  out.put(all.have_elements);
  for (const Span& elements : all.elements) {
    if (all.have_elements) out.add(elements.data(), elements.size());
  }
  return out.take();
}

ListsOfAll read_joined(const Bytes& joined, int processes) {
  ByteReader in(joined);
  ListsOfAll all;
  std::size_t lists = 0;
  for (int process = 0; process < processes; ++process) {
    all.lists.push_back(in.count());
    lists += all.lists.back();
  }
  for (; lists > 0; --lists) all.counts.push_back(in.count());
  all.have_elements = in.get<bool>();
  all.elements.push_back(in.rest());
  return all;
}

// Throws: StructureMismatchError if axes differ; InvalidArgumentError for an axis out of range.
void require_axis_0(StrategyCore& core, const ListsGather& gather, const ListsOfAll& all,
                    const Participants& present) {
  if (all.have_axis_0()) return;
  ReplicaArray<int> axes(present.count());
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < all.axes.size(); ++i) {
    axes.emplace_back(all.axes[i]);
    shapes.push_back(Shape{static_cast<std::int64_t>(all.counts[i])});
  }
  require_same_axis(PerReplica<int>(std::move(axes), present), gather.site);
  gather_axis(shapes, {core, present, Axis(all.axes.front()), gather.site});
}

void gather_here(StrategyCore& core, const ListsGather& gather, MakeRoom make_room) {
  ListsOfAll all;
  std::vector<int> replicas;
  std::size_t count = 0;
  for (const GatheredList& list : gather.lists) {
    replicas.push_back(list.replica);
    all.axes.push_back(list.axis);
    all.counts.push_back(list.count);
    count += list.count;
  }
  require_axis_0(core, gather, all, Participants(core.size(), std::move(replicas)));
  const std::shared_ptr<std::byte> room = make_room(count);
  std::byte* place = room.get();
  for (const GatheredList& list : gather.lists) {
    const std::size_t bytes = list.count * gather.element_bytes;
    if (bytes > 0) std::memcpy(place, list.elements.get(), bytes);
    place += bytes;
  }
}

class GatherOverProcesses {
 public:
  GatherOverProcesses(StrategyCore& core, ListsGather gather)
      : core_(core), members_(group_members(core)), gather_(std::move(gather)) {}

  void gather(MakeRoom make_room) {
    const auto join_messages = [](std::span<const Span> messages) { return join(messages); };
    const ProcessGroup::Fold fold(join_messages);
    const auto write = [&](ByteWriter& out) { write_message(out); };
    const FoldedBytes sent = members_.exchange_to_fold(gather_.verb, gather_.site, write, &fold);
    all_ =
        sent.result != nullptr ? read_joined(*sent.result, members_.processes()) : read(sent.all);
    if (!all_.have_elements && !members_.has_listeners()) return exchange_parts(make_room);
    const auto room = make_room(count());
    if (all_.have_elements) return put(all_.elements, room.get());
    const auto elements = [&](ByteWriter& out) { write_elements(out); };
    const std::vector<Bytes> all = members_.exchange(gather_.verb, gather_.site, elements);
    put({all.begin(), all.end()}, room.get());
  }

 private:
  std::size_t bytes_of(std::size_t elements) const { return elements * gather_.element_bytes; }
  std::size_t count() const {
    std::size_t sum = 0;
    for (const std::size_t of_list : all_.counts) sum += of_list;
    return sum;
  }

  void write_elements(ByteWriter& out) const {
    for (const GatheredList& list : gather_.lists) {
      out.add(list.elements.get(), bytes_of(list.count));
    }
  }
  void write_message(ByteWriter& out) {
    out.put(static_cast<std::uint64_t>(gather_.lists.size()));
    std::size_t bytes = 0;
    for (const GatheredList& list : gather_.lists) {
      out.put(list.replica);
      bytes += bytes_of(list.count);
    }
    for (const GatheredList& list : gather_.lists) {
      out.put(list.axis);
      out.put(static_cast<std::uint64_t>(list.count));
    }
    const bool has_elements = members_.parts() == nullptr || bytes <= kShortBytes;
    out.put(has_elements);
    if (!has_elements) return;
    out.reserve(out.bytes().size() + bytes);
    write_elements(out);
    if (members_.parts() != nullptr) return;  // Lists of others may be long.
    for (GatheredList& list : gather_.lists) list.elements.reset();
  }

  // The messages are not joined: some process listens, or an axis is at fault.
  ListsOfAll read(const std::vector<Bytes>& messages) const {
    std::vector<ByteReader> readers(messages.begin(), messages.end());
    const Participants present = receive_present(core_, readers, gather_.verb, gather_.site);
    ListsOfAll all;
    for (std::size_t process = 0; process < messages.size(); ++process) {
      messages[process].empty() ? all.add_listener()
                                : all.add(readers[process], ByteReader(messages[process]).count());
    }
    require_axis_0(core_, gather_, all, present);
    return all;
  }

  void put(const std::vector<Span>& elements, std::byte* room) const {
    std::size_t left = bytes_of(count());
    for (const Span& bytes : elements) {
      check(bytes.size() <= left, "a gather of more elements than were counted");
      if (!bytes.empty()) std::memcpy(room, bytes.data(), bytes.size());
      room += bytes.size();
      left -= bytes.size();
    }
    check(left == 0, "a gather of fewer elements than were counted");
  }

  void exchange_parts(MakeRoom make_room) {
    std::vector<SentPart> sent;
    std::vector<ReceivedPart> received;
    std::exception_ptr failure;
    try {
      list_parts(make_room(count()), sent, received);
    } catch (...) {
      failure = std::current_exception();
    }
    members_.exchange_parts(failure, sent, received);
  }

  // Own lists are copied at once. Empty lists are no parts.
  void list_parts(const std::shared_ptr<std::byte>& room, std::vector<SentPart>& sent,
                  std::vector<ReceivedPart>& received) {
    std::byte* place = room.get();
    std::size_t list = 0;
    for (int process = 0; process < members_.processes(); ++process) {
      const bool is_own = process == members_.rank();
      for (std::size_t i = 0; i < all_.lists[static_cast<std::size_t>(process)]; ++i) {
        const std::size_t bytes = bytes_of(all_.counts[list++]);
        if (bytes > 0 && is_own) std::memcpy(place, gather_.lists[i].elements.get(), bytes);
        if (bytes > 0 && !is_own) received.push_back({process, {room, place}, bytes});
        place += bytes;
      }
      for (const GatheredList& own : gather_.lists) {
        if (!is_own && own.count > 0) {
          sent.push_back({process, own.elements, bytes_of(own.count)});
        }
      }
    }
  }

  StrategyCore& core_;
  GroupMembers& members_;
  ListsGather gather_;
  ListsOfAll all_{};
};

}  // namespace

void gather_lists(StrategyCore& core, ListsGather gather, MakeRoom make_room) {
  if (core.members().is_alone()) return gather_here(core, gather, make_room);
  GatherOverProcesses(core, std::move(gather)).gather(make_room);
}

}  // namespace belfry::detail
