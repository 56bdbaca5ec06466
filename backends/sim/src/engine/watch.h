// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/backend/executor.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/sim/observer.h"
#include "log/actor_numbers.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace belfry::engine {

class CommandQueue;
class Engine;
struct Command;

/// The launch of a user's kernel.
struct Launch {
  sim::Actor launcher{};
  std::uint32_t phase = 0;                         ///< Of the launcher, as Watch counts.
  std::vector<belfry::detail::MemoryRange> own{};  ///< The captured state of the kernel.
  std::uint16_t known = 0;                         ///< The number of variables made before.
};
/// A body of a user's kernel that a stream begins to run.
struct RunningBody {
  const Launch& launch;
  std::string_view name;  ///< Of the kernel.
  CallSite site;          ///< Of the launch.
  std::uint32_t phases;   ///< Phases that have begun since the launch.
  const void* frame;      ///< Above the frames of the body.
};

/// Follows accesses to host memory from agent to agent.
class HostAccessWatch {
 public:
  virtual ~HostAccessWatch() = default;
  /// The parts of a run that the watch is about.
  enum class Extent : std::uint8_t {
    kNothing,  ///< Neither observations nor accesses: `attach` alone is called.
    kRuns,     ///< Observations, as of every observer.
    kMemory,   ///< Also accesses.
  };
  /// Asked once, before `attach`.
  virtual Extent extent() const = 0;
  /// Called first, with the engine of the backend, which outlives all further calls.
  virtual void attach(Engine& engine) = 0;
  /// From now on the calling thread acts for `actor`; without a value, for nobody. Called on the
  /// stack of the actor.
  virtual void enter(const std::optional<sim::Actor>& actor) = 0;
  /// The calling thread acts for the body of a kernel, until the next call of `enter`.
  virtual void enter_body(const RunningBody& body) = 0;
  /// Sets the memory of the new kernel at `kernel`, and the number of known variables.
  virtual void note_launch(const void* kernel, Launch& launch) = 0;
  /// Memory of the program is the buffer of a device: `resource`, in footprints. Returns whether
  /// accesses of the program to the memory are seen.
  virtual bool share(std::uint64_t resource, std::span<const std::byte> memory) = 0;
  /// Accesses before come before all accesses after, in every schedule.
  virtual void begin_phase() = 0;
  /// The present replica has made a variable, or has taken a variable that was made.
  virtual void reach_variable(std::uint32_t number, bool made) = 0;
};

/// Follows the contents of buffers, for a trace.
class WorkTap {
 public:
  virtual ~WorkTap() = default;
  /// Work, a host read, or a merge is about `view`.
  virtual void works_on(const BufferView& view) = 0;
  /// The command is about to run. Again, if it runs again for want of memory.
  virtual void begins(const Command& command) = 0;
  /// The command has run, or, if it `failed`, has not: the items at the heads of `queues`.
  virtual void ended(const Command& command, std::span<CommandQueue* const> queues,
                     bool failed) = 0;
};

/// An observer, with the state that names things to the observer: the acting replica, merge or
/// host, and the numbers of runs, events and variables.
class Watch {
 public:
  explicit Watch(sim::Observer& observer, HostAccessWatch* memory = nullptr, WorkTap* tap = nullptr)
      : observer_(observer), memory_(memory), tap_(tap) {}

  /// Tells a trace of the element types of views.
  void works_on(const BufferView& view) {
    if (tap_ != nullptr) tap_->works_on(view);
  }
  void works_on(std::span<const BufferView> views) {
    for (const BufferView& view : views) works_on(view);
  }
  void works_on(const belfry::Collective& collective) {
    for (const CollectivePart& part : collective.parts) {
      if (part.input.buffer != nullptr) works_on(part.input);
      if (part.output.buffer != nullptr) works_on(part.output);
    }
    for (const Transfer& one : collective.transfers) {
      works_on(one.input);
      works_on(one.output);
    }
  }
  /// Null unless a trace follows the contents of buffers.
  WorkTap* tap() const { return tap_; }

  /// Sets the executor whose runs tell the place of host code. `executor` carries the runs itself.
  void attach(const Executor* executor) { executor_ = executor; }
  /// The replica or merge that the caller is in, or the host.
  sim::Actor actor() const;
  /// Passes `observation` on.
  void tell(const sim::Observation& observation);
  /// The number of a run that begins. Throws: nothing.
  std::uint32_t begin_run();
  /// Notes the code of the actor that calls the backend, for observations without a call site: an
  /// address in the statement of the call. Throws: std::bad_alloc.
  void called_by(const void* code);
  /// The code of the actor's last note; null without a note. A call may pause between its note and
  /// its observations, and other actors may call meanwhile.
  const void* code();
  /// A name for an event that the caller makes. Throws: std::bad_alloc.
  sim::EventName name_event();
  /// The number of a variable that the caller makes, and of a variable that was made. Throws:
  /// std::bad_alloc; nothing.
  std::uint32_t name_variable(const void* variable);
  std::uint32_t number_of_variable(const void* variable);

  /// During the life of a Stay, the calling thread acts for `actor`, or for nobody.
  class Stay {
   public:
    Stay(Watch& watch, const std::optional<sim::Actor>& actor)
        : watch_(watch), before_(watch.present_) {
      watch_.enter(actor);
    }
    ~Stay() { watch_.enter(before_); }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    Watch& watch_;
    const std::optional<sim::Actor> before_;
  };
  /// The launch, by the caller, of the kernel at `kernel`.
  Launch launch_of(const void* kernel) const {
    if (memory_ == nullptr) return {};
    Launch launch{actor(), phase_};
    memory_->note_launch(kernel, launch);
    return launch;
  }
  /// During the life of a BodyStay, the calling thread acts for the body of a kernel.
  class BodyStay {
   public:
    /// `frame` is above the frames of the body. Without a watch nothing happens.
    BodyStay(Watch* watch, const Launch& launch, const Command& command, const void* frame);
    ~BodyStay() {
      if (watch_ != nullptr) watch_->memory_->enter(watch_->present_);
    }
    BodyStay(const BodyStay&) = delete;
    BodyStay& operator=(const BodyStay&) = delete;

   private:
    Watch* watch_;
  };
  /// Orders accesses to host memory by the making of a variable.
  void make_variable(std::uint32_t number) {
    if (memory_ != nullptr) memory_->reach_variable(number, true);
  }
  void take_variable(std::uint32_t number) {
    if (memory_ != nullptr) memory_->reach_variable(number, false);
  }
  /// Tells of memory of the program as a buffer.
  bool share(std::uint64_t resource, std::span<const std::byte> memory) {
    return memory_ != nullptr && memory_->share(resource, memory);
  }
  /// Begins a phase of the accesses to host memory.
  void begin_phase() {
    ++phase_;
    if (memory_ != nullptr) memory_->begin_phase();
  }

 private:
  void enter(const std::optional<sim::Actor>& actor) {
    if (memory_ == nullptr) return;
    present_ = actor;
    memory_->enter(actor);
  }

  sim::Observer& observer_;
  HostAccessWatch* memory_;
  WorkTap* tap_;
  std::optional<sim::Actor> present_ = sim::Actor{};  // Whose accesses count.
  std::uint32_t phase_ = 0;
  const Executor* executor_ = nullptr;
  std::mutex mutex_;
  sim::ActorNumbers actors_;
  std::vector<const void*> codes_;     // By actors_.
  std::vector<std::uint32_t> events_;  // How many each has made, by actors_.
  std::uint32_t runs_ = 0;
  std::map<const void*, std::uint32_t> variable_ids_;  // Looked up, and never listed.
  std::uint32_t variables_ = 0;
};

}  // namespace belfry::engine
