// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check.h"

#include <nccl.h>

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

  /// Hands the calls made since the start to NCCL. Returns whether the calls are still in progress.
  /// Throws: DeviceError.
  bool close() {
    open_ = false;
    const ncclResult_t code = ncclGroupEnd();
    check_call(code, "ncclGroupEnd()", {__FILE__, __LINE__});
    return code == ncclInProgress;
  }

 private:
  bool open_ = true;
};

}  // namespace belfry::cuda
