// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl_communicators.h"

#include "belfry/error.h"
#include "check.h"
#include "current_gpu.h"
#include "nccl_group.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

namespace belfry::cuda {

using Clock = std::chrono::steady_clock;

namespace {

// Errors of asynchronous work are reported by the next question.
constexpr const char* kAskForState = "ncclCommGetAsyncError(comm, &state)";

bool accepted(ncclResult_t code) { return code == ncclSuccess || code == ncclInProgress; }

std::string text_of_last_error() {
  const char* const last = ncclGetLastError(nullptr);
  return last == nullptr ? "" : last;
}

[[noreturn]] void throw_not_joined(const std::string& reason) {
  throw UnsupportedError(
      ErrorCode::kUnsupported,
      "NCCL does not join the GPUs of these processes" + (reason.empty() ? reason : ": " + reason),
      "give each process GPUs of its own, as CUDA_VISIBLE_DEVICES does");
}

}  // namespace

NcclCommunicators::NcclCommunicators(std::vector<int> gpus, std::chrono::milliseconds deadline,
                                     std::optional<NcclSpan> span)
    : gpus_(std::move(gpus)),
      deadline_(deadline),
      span_(std::move(span)),
      comms_(gpus_.size(), nullptr) {
  try {
    init();
    wait("making communicators");
  } catch (...) {
    const bool refused = span_ && is_refused();
    const std::string reason = refused ? text_of_last_error() : std::string();
    abort();
    if (refused) throw_not_joined(reason);
    throw;
  }
}

NcclCommunicators::NcclCommunicators(std::vector<int> gpus, std::chrono::milliseconds deadline,
                                     std::optional<NcclSpan> span, std::vector<ncclComm_t> programs)
    : gpus_(std::move(gpus)),
      deadline_(deadline),
      span_(std::move(span)),
      comms_(std::move(programs)),
      are_programs_(true) {}

void NcclCommunicators::init() {
  ncclUniqueId id{};
  if (span_) {
    id = span_->id;
  } else {
    BELFRY_NCCL_TRY(ncclGetUniqueId(&id));
  }
  const int size = span_ ? span_->size : static_cast<int>(gpus_.size());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // A blocking call could not be given up.
  NcclGroup group;
  for (std::size_t rank = 0; rank < gpus_.size(); ++rank) {
    const CurrentGpu current(gpus_[rank]);
    BELFRY_NCCL_TRY(
        ncclCommInitRankConfig(&comms_[rank], size, id, first() + static_cast<int>(rank), &config));
  }
  group.close();
}

// NCCL refuses a shared GPU of two processes, in every process.
bool NcclCommunicators::is_refused() const noexcept {
  return std::ranges::any_of(comms_, [](ncclComm_t comm) {
    ncclResult_t state = ncclSuccess;
    return comm != nullptr && ncclCommGetAsyncError(comm, &state) == ncclSuccess &&
           state == ncclInvalidUsage;
  });
}

NcclCommunicators::~NcclCommunicators() {
  if (are_programs_) return;
  if (failed_) {
    abort();
  } else {
    end();
  }
}

bool NcclCommunicators::wait(const char* what) {
  bool waited = false;
  const Clock::time_point end = Clock::now() + deadline_;
  std::optional<PeerWait> peers;
  if (span_) peers.emplace(span_->peers);
  try {
    for (std::size_t rank = 0; rank < comms_.size(); ++rank) {
      ncclResult_t state = state_of(rank);
      while (state == ncclInProgress) {
        waited = true;
        if (peers) {
          peers->pause(what);
        } else {
          if (Clock::now() > end) throw_late(what, rank);
          std::this_thread::yield();
        }
        state = state_of(rank);
      }
      check_call(state, kAskForState, {__FILE__, __LINE__});
    }
  } catch (...) {
    failed_ = true;
    throw;
  }
  return waited;
}

void NcclCommunicators::throw_late(const char* what, std::size_t rank) const {
  throw DeviceError(ErrorCode::kDeviceLost,
                    std::string(what) + " did not end within " + std::to_string(deadline_.count()) +
                        " ms: rank " + std::to_string(rank) + " on GPU " +
                        std::to_string(gpus_[rank]) + " is still in progress",
                    "NCCL_DEBUG=INFO says what NCCL waits for; the limit is deadline");
}

void NcclCommunicators::check() {
  require_usable();
  for (std::size_t rank = 0; rank < comms_.size(); ++rank) {
    const ncclResult_t state = state_of(rank);
    if (!accepted(state)) failed_ = true;
    check_call(state, kAskForState, {__FILE__, __LINE__});
  }
}

void NcclCommunicators::require_usable() const {
  if (!failed_) return;
  throw DeviceError(ErrorCode::kDeviceLost,
                    "the NCCL communicators of this clique failed in an earlier call",
                    are_programs_ ? "abort your communicators, and make them and the backend anew"
                                  : "make the strategy, or the communicator, anew");
}

void NcclCommunicators::give_up() noexcept {
  failed_ = true;
  if (!are_programs_) abort();
}

ncclResult_t NcclCommunicators::state_of(std::size_t rank) const {
  ncclResult_t state = ncclSuccess;
  BELFRY_NCCL_TRY(ncclCommGetAsyncError(comms_[rank], &state));
  return state;
}

bool NcclCommunicators::has_lost_peers() const noexcept {
  try {
    return span_ && !span_->peers.health().is_whole();
  } catch (...) {
    return true;  // The group has ended.
  }
}

bool NcclCommunicators::wait_quietly() const noexcept {
  const Clock::time_point end = Clock::now() + deadline_;
  for (ncclComm_t comm : comms_) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {
      if (ncclCommGetAsyncError(comm, &state) != ncclSuccess || Clock::now() > end) return false;
      if (state == ncclInProgress && has_lost_peers()) return false;
    }
    if (state != ncclSuccess) return false;
  }
  return true;
}

// Finalizing ends outstanding work, destroying frees; both need every member.
void NcclCommunicators::end() noexcept {
  // If a member were missing, the others would wait until the deadline.
  if (!finalize() || !wait_quietly() || !accepted(ncclGroupStart())) {
    abort();
    return;
  }
  for (ncclComm_t comm : comms_) ignore_failure(ncclCommDestroy(comm));
  ignore_failure(ncclGroupEnd());
}

bool NcclCommunicators::finalize() noexcept {
  if (!accepted(ncclGroupStart())) return false;
  bool begun = true;
  for (ncclComm_t comm : comms_) begun = accepted(ncclCommFinalize(comm)) && begun;
  return accepted(ncclGroupEnd()) && begun;
}

// In a group: all must be marked before any is freed, because they wait for one another. A group
// that did not open is not closed: NCCL would close an outer group of the thread.
void NcclCommunicators::abort() noexcept {
  if (std::ranges::count(comms_, nullptr) == std::ssize(comms_)) return;
  const bool open = accepted(ncclGroupStart());
  for (ncclComm_t& comm : comms_) {
    if (comm != nullptr) ignore_failure(ncclCommAbort(std::exchange(comm, nullptr)));
  }
  if (open) ignore_failure(ncclGroupEnd());
}

}  // namespace belfry::cuda
