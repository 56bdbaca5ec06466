// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace belfry {

struct ErrorReport;

namespace detail {
class TraceWriter;
}

/// The contents and the bounds of a trace.
struct TraceOptions {
  bool values = true;  ///< Whether steps have the first elements and digests of values.
  /// The most steps. The last line counts the steps beyond.
  std::uint64_t max_steps = 1'000'000;
  /// The most bytes of steps and values. Steps beyond are counted, too.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
  std::string program{};  ///< A name of the program, for readers.
};

/// The options as an initializer that compiles, without members of their usual value.
std::string to_string(const TraceOptions& options);

/// A file with the steps of a program, for people and tools (docs/trace.md): replicas, merges,
/// variables, streams, and the values that they bring, get, read and write.
///
///     TraceFile trace{"train.jsonl"};
///     sim::Backend backend{{.devices = 2}, sim::Attachments{.trace = &trace}};
///
/// A line of the file is an object of JSON. Each line is in the file when its step has happened:
/// after a crash the file has all lines up to the crash. A trace changes no result, no choice, no
/// hash and no token. A trace is of one backend, or of one run of a sim::Cluster, and outlives it.
class TraceFile {
 public:
  /// Replaces the file.
  /// Throws: InvalidArgumentError (kFile): the file cannot be made.
  explicit TraceFile(std::string path, const TraceOptions& options = {},
                     CallSite site = CallSite::here());
  /// Closes the file, without an error.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  const std::string& path() const;      ///< The file.
  const TraceOptions& options() const;  ///< The options of the constructor.
  /// Adds a failure of the program, which readers show first.
  void add_failure(const ErrorReport& report);
  /// Adds a verdict, as sim::verdict_json writes it.
  void add_verdict(std::string_view json);
  /// Writes the last line; later steps are lost.
  /// Throws: InvalidArgumentError (kFile): some line could not be written.
  void close(CallSite site = CallSite::here());

  /// For backends.
  detail::TraceWriter& writer() { return *writer_; }

 private:
  std::unique_ptr<detail::TraceWriter> writer_;
};

}  // namespace belfry
