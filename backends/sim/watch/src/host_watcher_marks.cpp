// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "host_watcher.h"
#include "unseen_calls.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>

// How an access changes the marks of the bytes, and what a clash of two marks means.
namespace belfry::sim::watch {
namespace {

std::uintptr_t address_number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

Agents choose(Agents lanes, Agents yes, Agents no) { return (yes & lanes) | (no & ~lanes); }

// A choice of lanes as a mask: comparisons of vectors give signed lanes.
template <class Comparison>
Agents mask(Comparison comparison) {
  return reinterpret_cast<Agents>(comparison);
}

Agents somebody(Agents agents) { return mask(agents != Agents{}); }

Agents of_nobody_or(Agents agent, const Marks& marks) {
  return mask(marks.agents == Agents{}) | mask(marks.agents == agent);
}

// The agents of all bytes of a granule.
struct Words {
  std::uint64_t low, high;
  bool operator==(const Words&) const = default;
};

Words words_of(Agent agent) {
  constexpr std::uint64_t kEach = 0x0001'0001'0001'0001;
  return {kEach * agent, kEach * agent};
}

Words words_of(const Marks& marks) { return std::bit_cast<Words>(marks.agents); }

using Places = Place __attribute__((vector_size(32)));

// The file is compiled without the compiler's own knowledge of memcpy.
void set_all_places(Place (&places)[8], Place place) {
  const Places all = Places{} + place;
  __builtin_memcpy(places, &all, sizeof all);
}

void set_places(Place (&places)[8], Agents lanes, Place place) {
  using Signed = std::int16_t __attribute__((vector_size(16)));
  using Wide = std::int32_t __attribute__((vector_size(32)));
  // A lane of -1 stays -1.
  const auto wide =
      reinterpret_cast<Places>(__builtin_convertvector(reinterpret_cast<Signed>(lanes), Wide));
  Places all;
  __builtin_memcpy(&all, places, sizeof all);
  all = ((Places{} + place) & wide) | (all & ~wide);
  __builtin_memcpy(places, &all, sizeof all);
}

}  // namespace

void HostWatcher::access(const void* memory, std::size_t bytes, const Access& access) noexcept {
  std::uintptr_t at = address_number(memory);
  if (audit_.is_on()) [[unlikely]]
    audit_access(at, bytes, access);
  if (mode_ == Mode::kBody) [[unlikely]] {
    return access_of_body(at, bytes, access);
  }
  if (ignoring_ > 0) return;
  if (!shared_.empty()) [[unlikely]] {
    note_shared(at, bytes, access);
    if (mode_ == Mode::kHost) return;
  }
  if (at - stack_low_ < stack_bytes_) return;
  if (note_thread()) return;
  if (at - stacks_low_ < stacks_bytes_ && is_on_a_stack(at)) {
    if (mode_ == Mode::kReplica) foreign_stack_ = true;
    return;
  }
  if (mode_ == Mode::kReplica) ++accesses_;
  mark_all(at, bytes, access);
  // Not from a clash alone: the first replica that changed a count may be the last owner.
  if (access.releases_last_owner && shared_counts_.contains(at)) shared_last_owner_ = true;
}

void HostWatcher::audit_access(std::uintptr_t at, std::size_t bytes, const Access& access) {
  if (access.maker == Maker::kCode) audit_.end_call();
  if (!access.writes) return;
  access.maker == Maker::kLibrary ? audit_.announced(at, bytes) : audit_.wrote(at, bytes);
}

// The block is kept: a replica that uses the block is in conflict, and does no harm. If replicas
// count the owners of objects, the last owner ends an object after the last use, in every schedule.
// The report has a reason against a certificate in this case.
void* HostWatcher::release(void* block, std::size_t bytes, const void* pc) noexcept {
  if (mode_ != Mode::kReplica || ignoring_ > 0) return block;
  if (!shared_last_owner_ && !used_atomics_) {
    mark_all(address_number(block), bytes, {.writes = true, .pc = pc, .maker = Maker::kRelease});
  }
  return ended_.add(block, bytes);
}

void HostWatcher::mark_all(std::uintptr_t at, std::size_t bytes, const Access& access) {
  const std::uintptr_t end = at + bytes;
  Place place = CallTree::kRoot;
  while (at < end) {
    const std::uintptr_t stop = std::min(end, (at / 8 + 1) * 8);
    if (stop - at == 8 && mark_word(shadow_.at(at), access, place)) {
      at = stop;
      continue;
    }
    const Agents lanes = lanes_of(static_cast<unsigned>(at % 8), static_cast<unsigned>(stop - at));
    mark(shadow_.at(at), at / 8 * 8, lanes, access);
    at = stop;
  }
}

bool HostWatcher::is_on_a_stack(std::uintptr_t address) {
  return detail::stack_around(reinterpret_cast<const void*>(address)).low != nullptr;
}

Place HostWatcher::place_of(const Access& access) {
  if (access.maker == Maker::kLibrary) [[unlikely]]
    return place_of_library(access);
  return tree_.child(context_, code_of(access.pc), access.maker);
}

Place HostWatcher::place_of_library(const Access& access) {
  auto known = std::ranges::find_if(
      sites_, [&](const CallSite& site) { return same_place(site, *access.site); });
  if (known == sites_.end()) known = sites_.insert(known, *access.site);
  return tree_.child(context_, static_cast<std::uint32_t>(known - sites_.begin()), Maker::kLibrary);
}

// All bytes of a granule, in the usual case: nobody, or the current replica alone, has touched
// them. Whether the access was marked; `mark` does the same for all cases.
// `place` is that of the access, or the root: not looked up yet.
inline bool HostWatcher::mark_word(Granule& granule, const Access& access, Place& place) {
  if (mode_ != Mode::kReplica) return false;
  Marks& marks = access.writes ? granule.writers : granule.readers;
  const Words own = words_of(agent_);
  bool is_new = granule.phase != phase_;
  if (is_new) {
    granule.phase = phase_;
    granule.writers.agents = granule.readers.agents = granule.others.agents = Agents{};
  } else {
    const Words now = words_of(marks);
    is_new = now == Words{};
    if (!is_new && now != own) return false;
    const Words other = words_of(access.writes ? granule.readers : granule.writers);
    if (other != Words{} && other != own) return false;
    if (access.writes && words_of(granule.others) != Words{}) return false;
  }
  if (!is_new) return true;
  marks.agents = Agents{} + agent_;
  if (place == CallTree::kRoot) place = place_of(access);
  set_all_places(marks.places, place);
  return true;
}

void HostWatcher::mark(Granule& granule, std::uintptr_t address, Agents lanes,
                       const Access& access) {
  if (mode_ == Mode::kMerge) {
    if (granule.phase == phase_of_replicas_) note_merge(granule, address, lanes, access);
    return;
  }
  const std::uint32_t phase = mode_ == Mode::kBody ? phase_of_replicas_ : phase_;
  if (granule.phase != phase) {
    granule.phase = phase;
    granule.writers.agents = granule.readers.agents = granule.others.agents = Agents{};
    return mark_own(access.writes ? granule.writers : granule.readers, lanes, access);
  }
  if (access.writes) {
    mark_write(granule, address, lanes, access);
  } else {
    mark_read(granule, address, lanes, access);
  }
}

// The agents without an order to the access: neither the current agent, nor the maker of a variable
// before a making that the current agent knows of.
Agents HostWatcher::strangers(Agents agents) const {
  const Agents ids = agents & id_mask_;
  Agents found = somebody(agents) & ~mask(ids == id_);
  if (known_ != 0) found &= ~(mask(ids == maker_) & mask((agents >> kIdBits) < known_));
  return found;
}

// Returns the lanes with nobody, or with an agent that comes before the access in every schedule:
// the later access then stands for both. An access of the current agent stays while its number of
// variables does.
Agents HostWatcher::earlier(Agents agents) const {
  return ~strangers(agents) & ~mask(agents == agent_);
}

// The current agent alone has touched the bytes in the phase.
void HostWatcher::mark_own(Marks& marks, Agents lanes, const Access& access) {
  const Agents fresh = lanes & mask(marks.agents == Agents{});
  if (!any(fresh)) return;
  marks.agents |= fresh & (Agents{} + agent_);
  set_places(marks.places, fresh, place_of(access));
}

void HostWatcher::mark_write(Granule& granule, std::uintptr_t address, Agents lanes,
                             const Access& access) {
  const Agents own = Agents{} + agent_;
  const Agents alone = of_nobody_or(own, granule.writers) & of_nobody_or(own, granule.readers) &
                       mask(granule.others.agents == Agents{});
  if (!any(lanes & ~alone)) return mark_own(granule.writers, lanes, access);
  const Agents against[] = {strangers(granule.writers.agents) & lanes,
                            strangers(granule.readers.agents) & lanes,
                            strangers(granule.others.agents) & lanes};
  const Agents fresh = earlier(granule.writers.agents) & lanes;
  if (!any(fresh | against[0] | against[1] | against[2])) return;
  clash(granule.writers, true, against[0], address, access);
  clash(granule.readers, false, against[1], address, access);
  clash(granule.others, false, against[2], address, access);
  if (!any(fresh)) return;
  granule.writers.agents = choose(fresh, Agents{} + agent_, granule.writers.agents);
  set_places(granule.writers.places, fresh, place_of(access));
}

void HostWatcher::mark_read(Granule& granule, std::uintptr_t address, Agents lanes,
                            const Access& access) {
  const Agents own = Agents{} + agent_;
  const Agents alone = of_nobody_or(own, granule.writers) & of_nobody_or(own, granule.readers);
  if (!any(lanes & ~alone)) return mark_own(granule.readers, lanes, access);
  const Agents against = strangers(granule.writers.agents) & lanes;
  const Agents fresh = earlier(granule.readers.agents) & lanes;
  const Agents second =
      ~fresh & strangers(granule.readers.agents) & earlier(granule.others.agents) & lanes;
  if (!any(against | fresh | second)) return;
  clash(granule.writers, true, against, address, access);
  if (!any(fresh | second)) return;
  const Place place = place_of(access);
  granule.readers.agents = choose(fresh, Agents{} + agent_, granule.readers.agents);
  set_places(granule.readers.places, fresh, place);
  granule.others.agents = choose(second, Agents{} + agent_, granule.others.agents);
  set_places(granule.others.places, second, place);
}

// A write of a merge takes the place of the replicas' writes before it.
void HostWatcher::note_merge(Granule& granule, std::uintptr_t address, Agents lanes,
                             const Access& access) {
  const Agents written = somebody(granule.writers.agents) & lanes;
  if (!any(written)) return;
  if (access.writes) {
    granule.writers.agents &= ~lanes;
    return;
  }
  const PlacedAccess read{actor_, false, place_of(access)};
  for (unsigned k = 0; k < 8; ++k) {
    if (written[k] == 0) continue;
    const Agent writer = granule.writers.agents[k];
    merge_reads_.add(reinterpret_cast<const std::byte*>(address + k), writer,
                     {replica(writer), true, granule.writers.places[k]}, read);
  }
}

void HostWatcher::clash(const Marks& marks, bool written, Agents lanes, std::uintptr_t address,
                        const Access& access) {
  if (!any(lanes)) return;
  // Each replica has an errno of its own, at one address.
  const std::uintptr_t error = address_number(&errno);
  if (address == error / 8 * 8) lanes &= ~lanes_of(error % 8, sizeof(errno));
  const auto counts = [](Maker maker) {
    return maker == Maker::kOwnerCount || maker == Maker::kExceptionOwner;
  };
  const auto note_place = [&](Maker maker, const void* place) {
    if (maker == Maker::kOwnerCount) owner_counts_.insert(place);
  };
  const auto is_plain = [](Maker maker) {
    return maker == Maker::kCode || maker == Maker::kLibrary || maker == Maker::kKernel ||
           maker == Maker::kRelease;
  };
  for (unsigned k = 0; k < 8; ++k) {
    if (lanes[k] == 0) continue;
    const Maker first = tree_.at(marks.places[k]).maker;
    if (counts(first) && counts(access.maker)) {
      shared_counts_.insert(address + k);
      note_place(first, address_of_code(tree_.at(marks.places[k]).code));
      note_place(access.maker, access.pc);
    } else if (!is_plain(first) && !is_plain(access.maker)) {
      used_atomics_ = true;
    } else {
      conflicts_.add(reinterpret_cast<const std::byte*>(address + k),
                     {replica(marks.agents[k]), written, marks.places[k]},
                     {actor_, access.writes, place_of(access)});
    }
  }
}

}  // namespace belfry::sim::watch
