// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/processes/sent_structure.h"

#include "belfry/detail/process_tensors.h"
#include "belfry/error.h"

#include <cstdint>
#include <utility>

namespace belfry::detail {

void send_structure(ByteWriter& out, const AllReduceRequest& request) {
  const std::size_t length = out.bytes().size();
  out.put(std::uint64_t{0});
  const std::size_t begin = out.bytes().size();
  out.put(request.op);
  out.text(request.site.file);
  out.put(request.site.line);
  const std::vector<LeafDescription> leaves = request.describe(request.value);
  out.put(static_cast<std::uint64_t>(leaves.size()));
  for (const LeafDescription& leaf : leaves) {
    out.text(leaf.path);
    out.text(leaf.type);
  }
  out.put(static_cast<std::uint64_t>(request.leaves.size()));
  for (const LeafRef& leaf : request.leaves) {
    out.put(leaf.tensor != nullptr);
    if (leaf.tensor != nullptr) continue;
    out.put(leaf.dtype);
    out.text(leaf.own == nullptr ? std::string() : name_of(*leaf.own));
    out.put(static_cast<std::uint64_t>(leaf.count));
    out.put(static_cast<std::uint64_t>(leaf.bytes()));
  }
  out.put_at(length, static_cast<std::uint64_t>(out.bytes().size() - begin));
}

SentStructure::SentStructure(std::span<const std::byte> sent, const OwnTypes& types) : bytes(sent) {
  ByteReader in(sent);
  op = in.get<ReduceOp>();
  file = in.text();
  line = in.get<int>();
  for (std::size_t left = in.count(1); left > 0; --left) {
    LeafDescription leaf;
    leaf.path = in.text();
    leaf.type = in.text();
    descriptions.push_back(std::move(leaf));
  }
  for (std::size_t left = in.count(1); left > 0; --left) add_leaf(in, types);
}

void SentStructure::add_leaf(ByteReader& in, const OwnTypes& types) {
  LeafRef& leaf = leaves.emplace_back();
  if (in.get<bool>()) {
    sizes.push_back(kTensor);
    return;
  }
  leaf.dtype = next_dtype(in);
  // A type of no replica of this process is a difference of structure, found before the leaf is
  // read.
  const std::string name = in.text();
  has_own_types = has_own_types || !name.empty();
  const auto type = name.empty() ? types.end() : types.find(name);
  if (type != types.end()) leaf.own = type->second;
  leaf.count = in.count();
  sizes.push_back(in.count());
  // The elements of an unknown type are not counted.
  const bool is_known = name.empty() || leaf.own != nullptr;
  check(leaf.count <= sizes.back() && (!is_known || leaf.bytes() == sizes.back()),
        "a message between processes counts other elements than it sends");
}

}  // namespace belfry::detail
