// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check.h"

namespace belfry::cuda {

/// Brackets NCCL calls: a single thread can make the calls of several GPUs. An exception closes the
/// bracket too, because NCCL counts open groups for each thread.
class NcclGroup {
 public:
  NcclGroup() { BELFRY_NCCL_TRY(ncclGroupStart()); }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  ~NcclGroup() {
    if (open_) ignore_failure(ncclGroupEnd());
  }

  /// Hands the calls made since the start to NCCL. Throws: DeviceError.
  void close() {
    open_ = false;
    BELFRY_NCCL_TRY(ncclGroupEnd());
  }

 private:
  bool open_ = true;
};

}  // namespace belfry::cuda
