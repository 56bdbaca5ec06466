// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/byte_stream.h"
#include "belfry/detail/strategy_core.h"
#include "belfry/tensor_file.h"

#include <string>
#include <vector>

namespace belfry::detail {

// The verbs of files, which a listening process understands.
inline constexpr const char* kSaveFile = "save";
inline constexpr const char* kReadFile = "restore";
inline constexpr const char* kFileDone = "the file";

/// Saves the file in process 0. All processes have the same contents. Order: blocks the host until
/// all processes have called and the file is in place. Throws: in process 0 as TensorFile::write;
/// in the others PeerFailedError (kPeerFailed) with the text of the exception; InvalidArgumentError
/// (kInvalidArgument) in every process if the paths differ, before a file is touched;
/// MergeMismatchError, ProcessLostError.
void save_by_first_process(StrategyCore& core, const TensorFile& file, const std::string& path,
                           CallSite site);
/// The contents of the file, which process 0 reads. Order, Throws: as save_by_first_process and
/// TensorFile::read.
std::string read_by_first_process(StrategyCore& core, const std::string& path, CallSite site);

/// What process 0 does if the process listens: saves or reads the file that the processes of the
/// run name, and returns the answer for the next exchange. `payloads` are those of the exchange
/// `what`. Nothing is done if the processes name different paths. Throws: as TensorFile::write and
/// TensorFile::read.
Bytes work_of_listener(const std::string& what, const std::vector<Bytes>& payloads, CallSite site);

}  // namespace belfry::detail
