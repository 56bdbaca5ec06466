// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace belfry::cuda {

/// A range of NVTX on the calling thread, from the constructor to the destructor.
class NvtxRange {
 public:
  /// A collective: `all_reduce of 48 bytes in 4 parts`. Off: no call.
  NvtxRange(bool on, std::string_view verb, std::uint64_t bytes, std::size_t parts);
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
  ~NvtxRange();

 private:
  bool on_;
};

}  // namespace belfry::cuda
