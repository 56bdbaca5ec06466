// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "cluster/cluster_options.h"

#include "belfry/backend/executor.h"
#include "belfry/detail/options_text.h"
#include "belfry/error.h"
#include "schedule/schedule_code.h"

#include <string>
#include <utility>

namespace belfry::sim {
namespace {

constexpr int kMostHosts = 256;

[[noreturn]] void refuse(std::string summary, std::string hint, CallSite site) {
  throw InvalidArgumentError(ErrorCode::kInvalidArgument, std::move(summary), std::move(hint),
                             site);
}

}  // namespace

ClusterOptions checked_options(ClusterOptions options, CallSite site) {
  if (options.devices_of.empty()) {
    if (options.hosts < 1 || options.hosts > kMostHosts) {
      refuse("a cluster of " + std::to_string(options.hosts) + " hosts",
             "a cluster has 1 to " + std::to_string(kMostHosts) + " hosts", site);
    }
    options.devices_of.assign(static_cast<std::size_t>(options.hosts), options.devices);
  } else if (options.devices_of.size() > kMostHosts) {
    refuse("a cluster of " + std::to_string(options.devices_of.size()) + " hosts",
           "a cluster has 1 to " + std::to_string(kMostHosts) + " hosts", site);
  }
  options.hosts = static_cast<int>(options.devices_of.size());
  const auto is_host = [&](int host) { return host >= 0 && host < options.hosts; };
  for (const HostFault& fault : options.faults) {
    const bool has_other =
        fault.kind != HostFault::Kind::kCut || (is_host(fault.other) && fault.other != fault.host);
    if (fault.kind == HostFault::Kind::kSlow && fault.times < 2) {
      refuse(to_string(fault), "a slow host is at least 2 times as slow", site);
    }
    if (is_host(fault.host) && has_other && fault.call >= 1) continue;
    refuse(
        "a fault of a cluster of " + std::to_string(options.hosts) + " hosts: " + to_string(fault),
        "hosts are numbered from 0, and their calls from 1", site);
  }
  require_stack_bytes(options.stack_bytes, site);
  return options;
}

std::string to_string(const HostFault& fault) {
  const std::string host = "host " + std::to_string(fault.host);
  const std::string call = "call " + std::to_string(fault.call);
  if (fault.kind == HostFault::Kind::kStop) return host + " stops at " + call;
  if (fault.kind == HostFault::Kind::kSlow) {
    return host + " is " + std::to_string(fault.times) + " times as slow from " + call + " on";
  }
  return call + " of " + host + ": the link to host " + std::to_string(fault.other) + " is cut";
}

namespace {

std::string code_of(const HostFault& fault) {
  detail::OptionsText text;
  const bool cuts = fault.kind == HostFault::Kind::kCut;
  const bool slows = fault.kind == HostFault::Kind::kSlow;
  if (cuts) text.put("kind", "belfry::sim::HostFault::Kind::kCut");
  if (slows) text.put("kind", "belfry::sim::HostFault::Kind::kSlow");
  text.put("host", std::to_string(fault.host));
  text.put("call", std::to_string(fault.call));
  if (cuts) text.put("other", std::to_string(fault.other));
  if (slows) text.put("times", std::to_string(fault.times));
  return text.text();
}

}  // namespace

std::string to_string(const ClusterOptions& options) {
  const ClusterOptions usual;
  detail::OptionsText text;
  text.add("hosts", options.hosts, usual.hosts);
  text.add("devices", options.devices, usual.devices);
  text.add("devices_of", options.devices_of, usual.devices_of);
  if (options.schedule != usual.schedule) text.put("schedule", schedule_code(options.schedule));
  text.add("seed", options.seed, usual.seed);
  std::string faults;
  for (const HostFault& fault : options.faults) {
    faults += (faults.empty() ? "" : ", ") + code_of(fault);
  }
  if (!faults.empty()) text.put("faults", "{" + faults + "}");
  text.add("memory_limit_bytes", options.memory_limit_bytes, usual.memory_limit_bytes);
  text.add("record_limit", options.record_limit, usual.record_limit);
  text.add("stack_bytes", options.stack_bytes, usual.stack_bytes);
  return text.text();
}

}  // namespace belfry::sim
