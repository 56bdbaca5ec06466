// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belfry::cuda::test {

/// Starts a kernel that fails: this process has lost its current GPU from then on.
void lose_the_gpu();

}  // namespace belfry::cuda::test
