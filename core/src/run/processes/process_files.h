// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/function_ref.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/tensor_file.h"
#include "values/tensor_file_in_pieces.h"
#include "values/tensor_file_layout.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace belfry::detail {

// The verbs of files, which a listening process understands.
inline constexpr const char* kSaveFile = "save";
inline constexpr const char* kReadFile = "restore";
inline constexpr const char* kFileBegun = "the new file";
inline constexpr const char* kFileDone = "the file";

/// Saves the file, in process 0. All processes have the same contents. Order: blocks the host until
/// all processes have called and the file is in place. Throws: in process 0 as TensorFile::write,
/// and InvalidArgumentError (kFile) if another job has saved to the file (SEM-138); in the others
/// PeerFailedError (kPeerFailed) with the text of the exception; InvalidArgumentError
/// (kInvalidArgument) in every process if the paths differ, before a file is touched;
/// MergeMismatchError, ProcessLostError.
void save_by_first_process(StrategyCore& core, const TensorFile& file, const std::string& path,
                           CallSite site);
/// The same with arrays whose elements come in pieces: `read(array, take)` gives `take` the
/// elements of an array, in every process. Throws: also exceptions of `read`; UnsupportedError if a
/// process listens.
using ReadArray = FunctionRef<void(int array, FunctionRef<void(std::span<const std::byte>)> take)>;
void save_by_first_process(StrategyCore& core, const TensorFile& file,
                           std::span<const ArrayOutline> arrays, ReadArray read,
                           const std::string& path, CallSite site);
/// The contents of the file, which process 0 reads. Order, Throws: as save_by_first_process and
/// TensorFile::read.
TensorFile read_by_first_process(StrategyCore& core, const std::string& path, CallSite site);

/// A file read by process 0, with some arrays in pieces.
class FileOfFirstProcess {
 public:
  /// Leaves the elements of the arrays `later` in the file. Order, Throws: as
  /// read_by_first_process; UnsupportedError if a process listens.
  FileOfFirstProcess(StrategyCore& core, const std::string& path,
                     const std::set<std::string>& later, CallSite site);
  FileOfFirstProcess(const FileOfFirstProcess&) = delete;
  FileOfFirstProcess& operator=(const FileOfFirstProcess&) = delete;

  /// All contents; the arrays of `later` without bytes.
  const TensorFile& contents() const { return contents_; }
  /// Gives each process the elements of an array from byte `at` on. Order: blocks the host until
  /// all processes have called. Throws: as read_by_first_process.
  void read(const std::string& name, std::uint64_t at, std::span<std::byte> to);

 private:
  StrategyCore& core_;
  CallSite site_;
  std::unique_ptr<TensorFileInPieces> file_;  // Null in the other processes.
  TensorFile contents_;
};

/// Throws: InvalidArgumentError (kInvalidArgument) in every process if processes restore different
/// contents; MergeMismatchError, ProcessLostError.
void require_same_file(StrategyCore& core, const TensorFile& file, CallSite site);

/// The files of a process 0 that listens.
class ListenersFiles {
 public:
  explicit ListenersFiles(StrategyCore& core, CallSite site);
  ListenersFiles(const ListenersFiles&) = delete;
  ListenersFiles& operator=(const ListenersFiles&) = delete;
  ~ListenersFiles();

  /// Does what the processes of the run ask for in the exchange `what`: begins or ends a save, or
  /// reads a file. `payloads` are those of the exchange. Returns the answer for the next exchange.
  /// Nothing is done if the processes name different paths. Throws: as TensorFile::write and
  /// TensorFile::read.
  Bytes hear(const std::string& what, const std::vector<Bytes>& payloads);

 private:
  struct Save;

  StrategyCore& core_;
  CallSite site_;
  std::unique_ptr<Save> save_;
};

}  // namespace belfry::detail
