// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// RapidCheck runs the smallest failing case of a property once more, to report the case. Belfry
// writes the traces of its backends then.
#include "shrunk_case.h"

#include "belfry/detail/trace_source.h"

#include <rapidcheck/BeforeMinimalTestCase.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::testing {
namespace {

// A property without options of a backend does not say when its case ends.
constexpr std::size_t kMostBackends = 8;
// The number of traces of the program: a later property replaces none.
std::atomic<int> made = 0;

class ShrunkCase final : public detail::TraceSource {
 public:
  TraceFile* next() override {
    if (files_.size() == kMostBackends) return nullptr;
    try {
      files_.push_back(std::make_unique<TraceFile>(path()));
    } catch (const std::exception& error) {
      std::cerr << "no trace of the failing case: " << error.what() << '\n';
      return nullptr;
    }
    return files_.back().get();
  }
  void ended(TraceFile& trace, const std::string& options) noexcept override {
    try {
      trace.close();
      std::cerr << "trace of the failing case: " << trace.path()
                << "\n  the same case: belfry::sim::Options options" << options << ";\n";
    } catch (const std::exception&) {  // The trace is there all the same.
    }
  }

 private:
  // In the folder of Bazel's tests, or the working directory.
  std::string path() const {
    const char* const folder = std::getenv("TEST_TMPDIR");
    return std::string(folder == nullptr ? "." : folder) + '/' + program_invocation_short_name +
           '.' + std::to_string(getpid()) + '.' + std::to_string(made++) + ".jsonl";
  }

  std::vector<std::unique_ptr<TraceFile>> files_;
};

std::unique_ptr<ShrunkCase>& shrunk_case() {
  thread_local std::unique_ptr<ShrunkCase> present;
  return present;
}

}  // namespace

void end_shrunk_case() {
  detail::trace_source = nullptr;
  shrunk_case().reset();
}

}  // namespace belfry::testing

// In place of the function of RapidCheck, which does nothing.
void rc::beforeMinimalTestCase() {
  belfry::testing::end_shrunk_case();
  const char* const asked = std::getenv("BELFRY_TESTING_TRACES");
  if (asked != nullptr && std::string_view(asked) == "0") return;
  belfry::testing::shrunk_case() = std::make_unique<belfry::testing::ShrunkCase>();
  belfry::detail::trace_source = belfry::testing::shrunk_case().get();
}
