// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/backend.h"
#include "belfry/backend/executor.h"
#include "belfry/backend/process_links.h"
#include "belfry/cuda/options.h"
#include "belfry/cuda/statistics.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace belfry::cuda {

/// The GPUs of a machine, through CUDA and NCCL.
///
///     cuda::Backend backend{{.devices = {0, 1}}};    // Two GPUs; without options, all.
///     MirroredStrategy strategy{backend};
///
/// Reductions over devices on one GPU are a single kernel of belfry's own, in replica order, with
/// the same bits as on the simulator; collectives over several GPUs run in NCCL.
///
/// The host is one more device, `CPU:0`, whose index is device_count(): a destination of values,
/// and the device of a replica if a strategy names the host. The GPU of device 0 does the work of
/// the host; kernels read and write the pinned memory of the host directly. No communicator joins
/// the host with other devices.
///
/// The GPUs of several processes are joined by one NCCL communicator (SEM-215): each process has
/// GPUs of its own, and any number of devices.
class Backend final : public belfry::Backend, public ProcessLinks {
 public:
  /// Throws:
  /// - DeviceError (kNoDriver): no driver, or no GPU;
  /// - InvalidArgumentError (kUnknownDevice, kInvalidArgument): options that do not fit the
  ///   machine;
  /// - UnsupportedError (kUnsupported): a GPU without stream-ordered memory.
  explicit Backend(Options options = {});
  ~Backend() override;

  std::string_view name() const override { return "cuda"; }
  int device_count() const override;
  DeviceSpec device_spec(int index) const override;
  Device& device(int index) override;
  std::unique_ptr<Communicator> communicator(std::span<const int> devices) override;
  Executor& executor() override;
  /// Devices of one GPU, and devices whose GPUs have peer access both ways, are linked.
  const Connections& connections() const override;
  RunSettings run_settings() const override;

  std::string_view transport() const override { return "nccl"; }
  bool reduces(DType dtype) const override;
  std::vector<std::byte> offer(std::span<const int> devices, bool leads) override;
  std::unique_ptr<Communicator> join(std::span<const int> devices, const ProcessJoin& all) override;

  /// The CUDA number of the GPU that does the work of device `index`.
  /// Throws: InvalidArgumentError (kUnknownDevice).
  int gpu(int index) const;
  /// Counters of the calls to the GPUs so far.
  Statistics statistics() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace belfry::cuda
