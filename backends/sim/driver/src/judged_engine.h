// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"
#include "objects.h"
#include "race_book.h"

#include <cstddef>

namespace belfry::driver {

/// The functions of an engine, with the news of each for a RaceBook.
class JudgedEngine {
 public:
  JudgedEngine(engine::Engine& engine, RaceBook& races) : engine_(engine), races_(races) {}

  RaceBook& races() { return races_; }
  /// `touched`: the accesses for the book, in place of the accesses of the command.
  void enqueue(engine::CommandQueue& queue, engine::Command command, const Caller& by);
  void enqueue(engine::CommandQueue& queue, engine::Command command, const Touched& touched,
               const Caller& by);
  /// Reads on the host after the present work of `queue`. Without writes in `touched`, the
  /// host has waited.
  void read(engine::CommandQueue& queue, void* to, const engine::Access& from,
            const Touched& touched, const Caller& by);
  void record(engine::CommandQueue& queue, EventObject& event);
  void wait(engine::CommandQueue& queue, const EventObject& event);
  /// Orders later work of `later` after the present work of `earlier`.
  void order(engine::CommandQueue& later, engine::CommandQueue& earlier);
  void destroy_queue(engine::CommandQueue& queue);

  /// The host waits. Throws as the engine does.
  void synchronize(engine::CommandQueue& queue);
  void synchronize(const EventObject& event);
  void synchronize_device(int gpu);
  bool query(engine::CommandQueue& queue);
  bool query(const EventObject& event);

 private:
  template <class Wait>
  void await(const OrderPointPtr& point, const Wait& wait);

  engine::Engine& engine_;
  RaceBook& races_;
};

}  // namespace belfry::driver
