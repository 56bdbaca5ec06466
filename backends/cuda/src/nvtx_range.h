// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace belfry::cuda {

class NvtxSink;

/// A range of NVTX on the calling thread, from the constructor to the destructor.
class NvtxRange {
 public:
  /// A collective: `all_reduce of 48 bytes in 4 parts`, and inside of a merge the name of the
  /// merge:
  /// `..., in merge_call "gradient bucket 0"`. A null sink: no call.
  NvtxRange(NvtxSink* sink, std::string_view verb, std::uint64_t bytes, std::size_t parts);
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
  ~NvtxRange();

 private:
  bool on_;
};

}  // namespace belfry::cuda
