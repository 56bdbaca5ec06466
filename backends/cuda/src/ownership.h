// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "buffer.h"
#include "event.h"
#include "stream.h"

#include <span>

namespace belfry::cuda {

// Each function returns the object behind an interface as an object of this backend. Throws:
// InvalidArgumentError (kForeignObject) for an object of a different backend.

Stream& own(const SharedState& shared, belfry::Stream& stream);
Event& own(const SharedState& shared, belfry::Event& event);
Buffer& own(const SharedState& shared, belfry::Buffer& buffer);
/// Also throws: InvalidArgumentError (kInvalidArgument, kOutOfBounds) if the view has no buffer, is
/// misaligned, or ends after the buffer.
Buffer& own(const SharedState& shared, const BufferView& view);

/// The address of a view's first element. Throws: as `own`.
void* address_of(const SharedState& shared, const BufferView& view);

/// Throws: UnsupportedError (kUnsupported) when kernels on `gpu` cannot use `buffer`.
void require_reachable(const Buffer& buffer, int gpu);

}  // namespace belfry::cuda
