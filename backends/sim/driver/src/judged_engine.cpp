// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "judged_engine.h"

#include <utility>
#include <vector>

namespace belfry::driver {

// After a failed wait the engine is past all work.
template <class Wait>
void JudgedEngine::await(const OrderPointPtr& point, const Wait& wait) {
  try {
    wait();
  } catch (...) {
    races_.host_passed_all();
    throw;
  }
  races_.host_passed(point);
}

void JudgedEngine::enqueue(engine::CommandQueue& queue, engine::Command command, const Caller& by) {
  races_.work(queue, {command.reads, command.writes}, by);
  engine_.enqueue(queue, std::move(command));
}

void JudgedEngine::enqueue(engine::CommandQueue& queue, engine::Command command,
                           const Touched& touched, const Caller& by) {
  races_.work(queue, touched, by);
  engine_.enqueue(queue, std::move(command));
}

void JudgedEngine::read(engine::CommandQueue& queue, void* to, const engine::Access& from,
                        const Touched& touched, const Caller& by) {
  races_.work(queue, touched, by);
  const OrderPointPtr end = touched.writes.empty() ? races_.end_of(queue) : nullptr;
  await(end, [&] { engine_.read(queue, to, from); });
}

void JudgedEngine::record(engine::CommandQueue& queue, EventObject& event) {
  races_.record(queue, event.ordered);
  engine_.record(queue, event.point);
}

void JudgedEngine::wait(engine::CommandQueue& queue, const EventObject& event) {
  races_.wait(queue, event.ordered);
  engine_.wait(queue, event.point);
}

void JudgedEngine::order(engine::CommandQueue& later, engine::CommandQueue& earlier) {
  EventObject end;
  record(earlier, end);
  wait(later, end);
}

void JudgedEngine::destroy_queue(engine::CommandQueue& queue) {
  races_.close(queue);
  engine_.destroy_queue(queue);
}

void JudgedEngine::synchronize(engine::CommandQueue& queue) {
  await(races_.end_of(queue), [&] { engine_.synchronize(queue); });
}

void JudgedEngine::synchronize(const EventObject& event) {
  await(races_.latest(event.ordered), [&] { engine_.synchronize(event.point); });
}

void JudgedEngine::synchronize_device(int gpu) {
  const std::vector<OrderPointPtr> ends = races_.ends_on(gpu);
  await(nullptr, [&] { engine_.synchronize_device(gpu); });
  for (const OrderPointPtr& end : ends) races_.host_passed(end);
}

bool JudgedEngine::query(engine::CommandQueue& queue) {
  const OrderPointPtr end = races_.end_of(queue);
  const bool done = engine_.query(queue);
  if (done) races_.host_passed(end);
  return done;
}

bool JudgedEngine::query(const EventObject& event) {
  const OrderPointPtr point = races_.latest(event.ordered);
  const bool done = engine_.query(event.point) && races_.may_answer(point);
  if (done) races_.host_passed(point);
  return done;
}

}  // namespace belfry::driver
