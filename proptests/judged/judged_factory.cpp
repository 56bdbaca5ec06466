// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Simulated devices for suites in judgement. Suites count the work of devices, and the simulator's
// factory counts in the log: a look at the log is a question about the progress of agents, which
// keeps every case from a certificate. This factory claims the least work that suites ask for, and
// has no hash of operations: the digests of an explored backend are not those of its options.
#include "belfry/testing/sim_factory.h"
#include "judged/judged_test.h"

namespace belfry::testing {
namespace {

class JudgedFactory final : public BackendFactory {
 public:
  std::string_view name() const override { return "sim"; }
  std::unique_ptr<Backend> make(const BackendRequest& request) const override {
    ++backends_made();
    return inner_.make(request);
  }
  DeviceWork work(Backend&) const override { return {.commands = 1, .collectives = 1}; }
  std::string replay_token(Backend& backend) const override { return inner_.replay_token(backend); }

 private:
  SimFactory inner_;
};

}  // namespace

int& backends_made() {
  static int made = 0;
  return made;
}

const BackendFactory& backend_factory() {
  static const JudgedFactory factory;
  return factory;
}

}  // namespace belfry::testing
