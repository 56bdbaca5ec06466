// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belfry::sim::watch {

/// The number of a place: an access and the calls of watched functions around the access.
using Place = std::uint32_t;

/// The kind of code that made an access.
enum class Maker : std::uint8_t {
  kCode,            ///< An ordinary statement, or a watched call.
  kAtomic,          ///< An atomic operation.
  kOwnerCount,      ///< A change of a count that seems to be of owners of a std::shared_ptr.
  kExceptionOwner,  ///< A change of the count of owners of an exception.
  kRelease,         ///< The end of a block of memory.
  kKernel,          ///< A statement of the body of a user's kernel.
  kLibrary,         ///< A function of belfry; the code of the place is the number of a call site.
};

/// All places, as a tree: the parent of an access is the innermost call around the access, and the
/// parent of a call the call around it. Places are made once, and never removed.
class CallTree {
 public:
  struct Node {
    std::uint32_t code = 0;  ///< The distance of the address from the base of all addresses.
    Maker maker = Maker::kCode;
    Place parent = 0;
    Place first_child = 0;
    Place next = 0;  ///< The next child of the parent.
  };

  CallTree() : nodes_(1), known_(std::size_t{1} << kKnownBits) {}

  /// The place outside every call.
  static constexpr Place kRoot = 0;

  /// The child of `parent` for `code`.
  Place child(Place parent, std::uint32_t code, Maker maker = Maker::kCode) {
    const Known& of_late = known(parent, code, maker);
    if (of_late.is(parent, code, maker)) [[likely]]
      return of_late.place;
    return find_or_make(parent, code, maker);
  }
  /// The same if the tree has the child; else the root.
  Place find(Place parent, std::uint32_t code, Maker maker = Maker::kCode);
  std::size_t size() const { return nodes_.size(); }
  const Node& at(Place place) const { return nodes_[place]; }

 private:
  // Loops come by the same places again and again: a table has the places of late.
  struct Known {
    Place parent = kRoot;
    std::uint32_t code = 0;
    Maker maker = Maker::kCode;
    Place place = kRoot;

    bool is(Place of, std::uint32_t for_code, Maker by) const {
      return place != kRoot && parent == of && code == for_code && maker == by;
    }
  };
  static constexpr unsigned kKnownBits = 12;

  Known& known(Place parent, std::uint32_t code, Maker maker) {
    const std::uint32_t mixed = (parent * 31 + code) * 7 + static_cast<std::uint32_t>(maker);
    return known_[mixed * 0x9E3779B1u >> (32 - kKnownBits)];
  }
  Place search(Place parent, std::uint32_t code, Maker maker);
  Place find_or_make(Place parent, std::uint32_t code, Maker maker);

  std::vector<Node> nodes_;
  std::vector<Known> known_;
};

}  // namespace belfry::sim::watch
