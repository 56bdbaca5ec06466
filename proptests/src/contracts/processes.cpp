// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/host_backend.h"
#include "belfry/sim/cluster.h"
#include "belfry/testing/process_contracts.h"
#include "contracts/agreement.h"
#include "contracts/draw_tape.h"
#include "contracts/entries.h"
#include "contracts/judgement.h"
#include "contracts/process_cases.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace belfry::testing {
namespace {

constexpr int kMostDevices = 4;  // Of a process.
constexpr int kMostHosts = 5;

// The parts of a contract for a single process alone.
struct PartsOfOneProcess {
  std::string_view contract;
  std::string_view parts;
};

PartsOfOneProcess parts_of_one_process(std::string_view contract) {
  constexpr std::string_view kRunsAndSources =
      "runs inside merges; broadcasts with sources in other processes than the process of replica "
      "0";
  static constexpr PartsOfOneProcess kAll[] = {
      {"C-merge", "runs inside merges"},
      {"C-bcast", "sources in other processes than the process of replica 0"},
      {"C-prog", kRunsAndSources},
      {"C-fail", kRunsAndSources},
  };
  const auto* const found = std::ranges::find(kAll, contract, &PartsOfOneProcess::contract);
  return found == std::end(kAll) ? PartsOfOneProcess() : *found;
}

// The strategies of a process.
class InGroup final : public StrategyFactory {
 public:
  InGroup(const ProcessStrategies& strategies, ProcessGroup& group)
      : strategies_(strategies), group_(group) {}
  std::string_view name() const override { return strategies_.name; }
  std::unique_ptr<Strategy> make(Backend& backend, const StrategyOptions& options) const override {
    return strategies_.make(backend, group_, options);
  }

 private:
  const ProcessStrategies& strategies_;
  ProcessGroup& group_;
};

// The places of a case bring their backends.
class NoBackends final : public BackendFactory {
 public:
  std::string_view name() const override { return "backends of places"; }
  std::unique_ptr<Backend> make(const BackendRequest& /*request*/) const override {
    throw std::logic_error("a place of a case has no backend");
  }
  DeviceWork work(Backend& /*backend*/) const override { return {}; }
  std::string replay_token(Backend& /*backend*/) const override { return {}; }
};

void check_in_process(const ContractEntry& entry, const ProcessPlace& place,
                      const ProcessStrategies& strategies, const BackendFactory& backends) {
  std::string own_mistake;
  const InGroup in_group(strategies, place.group);
  entry.check(
      {.strategies = in_group, .backends = backends, .own_mistake = own_mistake, .place = &place});
}

// A case on a cluster.
void on_cluster(const ContractOptions& options, const ProcessCase& run_case) {
  const auto hosts = rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1, kMostHosts + 1));
  const auto devices_of = *rc::gen::mapcat(hosts, [&options](int count) {
                             return device_counts(count, options);
                           }).as("devices of hosts");
  const std::uint64_t seed = draw_seed();
  DrawTape draws;
  sim::Cluster cluster{{.devices_of = devices_of, .seed = seed}};
  cluster.run([&](sim::Host& host) {
    draws.rewind();
    run_case({host.group(), devices_of, &host.backend()});
  });
}

// The number of cases and the seed of process 0.
ContractOptions agreed(ProcessGroup& group, const ContractOptions& options) {
  ContractOptions all = settled(options);
  const std::uint64_t own[] = {static_cast<std::uint64_t>(*all.cases), *all.seed};
  std::uint64_t first[2];
  const auto bytes = group.broadcast(std::as_bytes(std::span(own)), 0);
  check(bytes.size() == sizeof first, "the options of process 0");
  std::memcpy(first, bytes.data(), sizeof first);
  all.cases = static_cast<int>(first[0]);
  all.seed = first[1];
  return all;
}

ContractResult result_of(const ContractEntry& entry, const ContractOptions& options,
                         const std::string& subject, const std::function<void()>& property) {
  const std::string name(entry.contract.id);
  const std::string left_out(parts_of_one_process(name).parts);
  const std::string mistake = mistake_of(property, name, options);
  if (mistake.empty()) return {name, true, {}, left_out};
  return {name,
          false,
          name + " is broken by " + subject + ": " + mistake +
              "\n  wanted: " + std::string(entry.contract.sentence),
          {}};
}

}  // namespace

rc::Gen<std::vector<int>> device_counts(int processes, const ContractOptions& options) {
  const int most = std::min(options.most_devices, kMostDevices);
  const auto one_first = [](int drawn) { return drawn > 1 ? drawn : 1 - drawn; };
  const auto each =
      rc::gen::map(rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, most + 1)), one_first);
  return rc::gen::suchThat(
      rc::gen::container<std::vector<int>>(static_cast<std::size_t>(processes), each),
      [](const auto& counts) { return std::ranges::any_of(counts, std::identity()); });
}

std::vector<ContractResult> check_contracts_over(ProcessGroup& group,
                                                 const ProcessStrategies& strategies,
                                                 const BackendFactory& backends,
                                                 const ContractOptions& options) {
  const ContractOptions all = agreed(group, options);
  const std::string subject = strategies.name + " on " + std::string(backends.name()) + " in " +
                              std::to_string(group.size()) + " processes";
  return results_of_contracts(
      [&](const ContractEntry& entry) {
        return result_of(entry, all, subject, [&] {
          const auto devices_of = *device_counts(group.size(), all).as("devices of processes");
          agree_on_case(group, [&] {
            // Factories make backends with devices.
            HostBackend no_devices(0);
            ProcessPlace place{group, devices_of};
            if (place.devices() == 0) place.backend = &no_devices;
            check_in_process(entry, place, strategies, backends);
          });
        });
      },
      subject);
}

std::vector<ContractResult> check_contracts_in_cases(const ProcessStrategies& strategies,
                                                     const ContractOptions& options,
                                                     const std::string& places,
                                                     const RunInProcesses& run) {
  const std::string subject = strategies.name + " on " + places;
  const NoBackends none;
  return results_of_contracts(
      [&](const ContractEntry& entry) {
        return result_of(entry, options, subject, [&] {
          run(options,
              [&](const ProcessPlace& place) { check_in_process(entry, place, strategies, none); });
        });
      },
      subject);
}

std::vector<ContractResult> check_contracts_on_clusters(const ProcessStrategies& strategies,
                                                        const ContractOptions& options) {
  return check_contracts_in_cases(strategies, options, "simulated clusters", &on_cluster);
}

}  // namespace belfry::testing
