// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/host_backend.h"

#include <memory>
#include <span>
#include <string_view>

namespace belfry {

/// The devices and the executor of a HostBackend, for backends of tests with parts of their own.
class BorrowedDevices : public Backend {
 public:
  explicit BorrowedDevices(int devices) : inner_(devices) {}

  std::string_view name() const override { return "borrowed"; }
  int device_count() const override { return inner_.device_count(); }
  DeviceSpec device_spec(int index) const override { return inner_.device_spec(index); }
  Device& device(int index) override { return inner_.device(index); }
  std::unique_ptr<Communicator> communicator(std::span<const int> devices) override {
    return inner_.communicator(devices);
  }
  Executor& executor() override { return inner_.executor(); }
  const Connections& connections() const override { return inner_.connections(); }
  RunSettings run_settings() const override { return inner_.run_settings(); }

 private:
  HostBackend inner_;
};

}  // namespace belfry
