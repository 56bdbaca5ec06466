// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/tensor/any_tensor.h"

namespace belfry::detail {

/// Whether a write of `tensor` by the calling code needs new storage: a second handle has the
/// storage, or the device counts the storage as shared (SEM-194).
bool counts_as_shared(const AnyTensor& tensor);

/// Tells the device of `tensor`, if the device wants to hear of copies: a write to `tensor` goes to
/// new storage, or is refused, because the storage has a second owner.
void note_copy_for_write(const AnyTensor& tensor);

}  // namespace belfry::detail
