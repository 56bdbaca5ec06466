// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "explore/missed_accesses.h"

namespace belfry::sim {

std::vector<std::string> missed_accesses(detail::WatchCompiler compiler) {
  std::vector<std::string> missed;
  if (compiler == detail::WatchCompiler::kGcc) {
    missed = {
        "a result of a call that is stored in a shared object of a class which is copied as "
        "bytes",
        "such an object as an argument by value", "names such as __builtin___memcpy_chk"};
  } else {
    missed = {"a shared object of a large class as an argument by value, in optimized code",
              "elements beside the first of a vector type of 32 or 64 bytes"};
  }
  for (const char* of_both :
       {"options and further objects that functions of belfry read",
        "inline assembly, and instructions by name that stream, mask, gather or broadcast",
        "a number that the program changes by __gnu_cxx::__exchange_and_add",
        "functions of unwatched libraries in the namespace belfry", "the order of addresses",
        "memory that is mapped at two addresses", "a clock or a draw by an instruction"}) {
    missed.emplace_back(of_both);
  }
  return missed;
}

}  // namespace belfry::sim
