// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/detail/all_reduce_request.h"
#include "belfry/detail/byte_stream.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace belfry::detail {

/// The functions of types with ElementTraits, by the names of the types. Addresses of functions
/// have no meaning in another process.
using OwnTypes = std::map<std::string, const ElementFunctions*>;

/// Writes what a SentStructure reads, behind its length.
void send_structure(ByteWriter& out, const AllReduceRequest& request);

/// The structure of the value of an all_reduce in a message, with all leaves but the elements.
struct SentStructure {
  /// `sent` outlives the object. Throws: InternalError for bytes of another form.
  SentStructure(std::span<const std::byte> sent, const OwnTypes& types);

  std::span<const std::byte> bytes;
  ReduceOp op = ReduceOp::kSum;
  std::string file;
  int line = 0;
  std::vector<LeafDescription> descriptions;
  std::vector<LeafRef> leaves;     ///< Without elements.
  std::vector<std::size_t> sizes;  ///< Bytes of elements; kTensor for a tensor.
  bool has_own_types = false;      ///< Whether some leaf has ElementTraits.
  static constexpr std::size_t kTensor = static_cast<std::size_t>(-1);

 private:
  void add_leaf(ByteReader& in, const OwnTypes& types);
};

}  // namespace belfry::detail
