// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "belfry/error.h"
#include "hangs/dump_reader.h"
#include "hangs/hang.h"
#include "hangs/program.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Any bytes are refused with an error, or are the dump of a rank; an answer and a program follow.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace belfry::tool::hangs;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    std::vector<Dump> dumps = {parse_dump(text, "rank0"), parse_dump(text, "rank1")};
    if (dumps[1].rank == dumps[0].rank) dumps.pop_back();
    const Job job(std::move(dumps));
    hang_of(job, Waits(job));
    std::ostringstream program;
    write_program(job, program);
  } catch (const belfry::Error& error) {
    const belfry::ErrorCode code = error.code();
    if (code != belfry::ErrorCode::kFileFormat && code != belfry::ErrorCode::kUnsupported)
      std::abort();
  }
  return 0;
}
