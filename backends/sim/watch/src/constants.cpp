// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "constants.h"

#include <link.h>

namespace belfry::sim::watch {
namespace {

struct Search {
  std::uintptr_t address;
  bool is_constant = false;
};

// Tables of addresses are written once, before the program starts.
int look(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const bool is_kept = part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0;
    if (!is_kept && part.p_type != PT_GNU_RELRO) continue;
    const bool is_inside = search.address - (object->dlpi_addr + part.p_vaddr) < part.p_memsz;
    search.is_constant = search.is_constant || is_inside;
  }
  return search.is_constant ? 1 : 0;
}

}  // namespace

bool is_constant(std::uintptr_t address) {
  Search search{address};
  ::dl_iterate_phdr(look, &search);
  return search.is_constant;
}

}  // namespace belfry::sim::watch
