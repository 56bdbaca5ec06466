// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "default_streams.h"

#include "engine/engine.h"
#include "judged_engine.h"

#include <string>
#include <utility>

namespace belfry::driver {

DefaultStreams::StreamPtr DefaultStreams::of(int gpu) {
  const std::lock_guard lock(mutex_);
  StreamPtr& standard = groups_[gpu].standard;
  if (standard == nullptr) {
    auto stream = std::make_shared<StreamObject>();
    stream->gpu = gpu;
    stream->kind = StreamObject::Kind::kDefault;
    stream->queue =
        &engine_.create_queue({gpu, numbers_++, "GPU " + std::to_string(gpu) + ", default stream"});
    standard = std::move(stream);
  }
  return standard;
}

void DefaultStreams::add_blocking(const StreamPtr& stream) {
  const std::lock_guard lock(mutex_);
  groups_[stream->gpu].blocking.push_back(stream);
}

void DefaultStreams::remove_blocking(const StreamPtr& stream) {
  const std::lock_guard lock(mutex_);
  std::erase(groups_[stream->gpu].blocking, stream);
}

void DefaultStreams::order(const StreamObject& stream) {
  if (stream.kind == StreamObject::Kind::kNonBlocking) return;
  const std::lock_guard lock(mutex_);
  const Group& group = groups_[stream.gpu];
  if (stream.kind == StreamObject::Kind::kBlocking) {
    if (group.standard != nullptr) judged_.order(*stream.queue, *group.standard->queue);
    return;
  }
  for (const StreamPtr& blocking : group.blocking) {
    judged_.order(*stream.queue, *blocking->queue);
  }
}

}  // namespace belfry::driver
