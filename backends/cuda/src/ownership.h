// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "buffer.h"
#include "event.h"
#include "stream.h"

#include <span>

namespace belfry::cuda {

// Each gives the object behind an interface as this backend's own.
// Throws: InvalidArgumentError (kForeignObject) when another backend made it.

Stream& own(const SharedState& shared, belfry::Stream& stream);
Event& own(const SharedState& shared, belfry::Event& event);
/// Throws also: InvalidArgumentError (kInvalidArgument, kOutOfBounds) when the view has no buffer,
/// lies askew in it, or ends behind it.
Buffer& own(const SharedState& shared, const BufferView& view);

/// The address of a view's first element. Throws: as `own`.
void* address_of(const SharedState& shared, const BufferView& view);

/// Throws: UnsupportedError (kUnsupported) when kernels on `gpu` cannot use `buffer`.
void require_reachable(const Buffer& buffer, int gpu);

}  // namespace belfry::cuda
