// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/prints.h"

#include <cstddef>
#include <memory>
#include <string>

namespace belfry {

namespace detail {
class FlightRing;
}

/// The settings of a flight recorder.
struct FlightRecorderOptions {
  std::size_t entries = 2000;  ///< The operations that are kept: the last ones.
  /// Whether the first failure of each run, and each deadline that passes, writes the files.
  bool at_failure = true;
};

/// The options as an initializer that compiles, without members of their usual value.
std::string to_string(const FlightRecorderOptions& options);

/// Keeps the last merges and collectives of a backend, for the time when a program hangs
/// (docs/flight_recorder.md). The files are JSON in the format 2.10 of PyTorch's flight recorder,
/// one file for each rank.
///
///     FlightRecorder recorder{"/tmp/train-"};     // /tmp/train-rank0.json, ...
///     cuda::Backend backend{{.recorder = &recorder}};
///
/// A recorder is of one backend, and outlives it. The recorder changes no result, no choice, no
/// hash and no token.
class FlightRecorder {
 public:
  /// `prefix` is the beginning of the paths of the files. Writes nothing.
  /// Throws: InvalidArgumentError (kInvalidArgument) for 0 entries.
  explicit FlightRecorder(std::string prefix, const FlightRecorderOptions& options = {},
                          CallSite site = CallSite::here());
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  const std::string& prefix() const;             ///< Of the files.
  const FlightRecorderOptions& options() const;  ///< The options of the constructor.
  /// Writes a file for each rank of this process, in place of earlier files.
  /// Context: any; with replicas that run at once, on any thread.
  /// Throws: InvalidArgumentError (kFile): a file cannot be written.
  void write(CallSite site = CallSite::here());
  /// The same with another prefix.
  void write(const std::string& prefix, CallSite site = CallSite::here());

  /// For backends.
  detail::FlightRing& ring() { return *ring_; }

 private:
  std::unique_ptr<detail::FlightRing> ring_;
};

}  // namespace belfry
