// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/tf_config.h"

#include "cluster/variable.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace belfry {
namespace {

// Members stay in the order of the text, because the order of jobs is kept.
using Json = nlohmann::ordered_json;

class ConfigReader {
 public:
  ConfigReader(std::string_view text, CallSite site)
      : variable_{.name = "TF_CONFIG", .value = text}, site_(site) {}

  TfConfig read() {
    const Json root = parse();
    require(root.is_object(), "expected an object of JSON");
    TfConfig config;
    if (const Json* cluster = member(root, "cluster")) read_cluster(*cluster, config.cluster);
    if (const Json* task = member(root, "task")) read_task(*task, config);
    if (const Json* layer = member(root, "rpc_layer")) {
      config.rpc_layer = string_in(*layer, "rpc_layer");
    }
    if (const Json* master = member(root, "session_master")) {
      config.session_master = string_in(*master, "session_master");
    }
    return config;
  }

 private:
  // The library would keep the last of two members with equal names.
  Json parse() {
    std::vector<std::set<std::string>> names;
    const auto watch = [&](int /*depth*/, Json::parse_event_t event, Json& piece) {
      if (event == Json::parse_event_t::object_start) names.emplace_back();
      if (event == Json::parse_event_t::object_end) names.pop_back();
      if (event == Json::parse_event_t::key) {
        const auto& name = piece.get_ref<const std::string&>();
        require(names.back().insert(name).second, "a second member \"" + name + "\"");
      }
      return true;
    };
    try {
      return Json::parse(variable_.value, watch);
    } catch (const Json::exception& error) {
      // The library's text begins with an id and a line, and may quote a long piece.
      std::string what = error.what();
      what.erase(0, std::min(what.find("syntax error"), what.size()));
      what.erase(std::min(what.find("; last read"), what.size()));
      fail(what.empty() ? "expected JSON" : what);
    }
  }

  void read_cluster(const Json& cluster, ClusterSpec& spec) {
    require(cluster.is_object(), "cluster is no object of jobs");
    for (const auto& [name, addresses] : cluster.items()) {
      require(!name.empty(), "a job of cluster has no name");
      require(addresses.is_array(), "cluster." + name + " is no list of addresses");
      ClusterJob job{.name = name, .addresses = {}};
      for (const Json& address : addresses) {
        const std::string place =
            "cluster." + name + "[" + std::to_string(job.addresses.size()) + "]";
        job.addresses.push_back(string_in(address, place));
        require(!job.addresses.back().empty(), place + " is empty");
      }
      spec.jobs.push_back(std::move(job));
    }
  }

  void read_task(const Json& task, TfConfig& config) {
    require(task.is_object(), "task is no object");
    if (const Json* type = member(task, "type")) {
      config.job = string_in(*type, "task.type");
      require(!config.job->empty(), "task.type is empty");
    }
    if (const Json* index = member(task, "index")) {
      // Programs write the number as text, too.
      if (index->is_string()) {
        config.index = detail::decimal_number(index->get_ref<const std::string&>());
      } else if (index->is_number_unsigned() &&
                 index->get<std::uint64_t>() <= std::numeric_limits<int>::max()) {
        config.index = index->get<int>();
      }
      require(config.index.has_value(), "task.index is no number of decimal digits");
    }
  }

  std::string string_in(const Json& value, const std::string& place) {
    require(value.is_string(), place + " is no string");
    return value.get<std::string>();
  }
  static const Json* member(const Json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }
  void require(bool condition, const std::string& what) const {
    if (!condition) fail(what);
  }
  [[noreturn]] void fail(const std::string& what) const {
    variable_.fail(what,
                   R"(for example {"cluster": {"worker": ["host0:2222", "host1:2222"]}, )"
                   R"("task": {"type": "worker", "index": 0}})",
                   site_);
  }

  detail::Variable variable_;
  CallSite site_;
};

}  // namespace

TfConfig TfConfig::parse(std::string_view text, CallSite site) {
  return ConfigReader(text, site).read();
}

std::string TfConfig::master(CallSite site) const {
  if (session_master) return *session_master;
  if (cluster.num_tasks() < 2) return {};
  // A missing type or number is no task of the cluster.
  const ClusterTask task{.job = job.value_or("without a type"), .index = index.value_or(-1)};
  return with_layer(rpc_layer, cluster.address(task, site));
}

std::string to_string(const TfConfig& config) {
  std::string task = "no task";
  if (config.job || config.index) {
    task = config.job.value_or("task without type") + " " +
           (config.index ? std::to_string(*config.index) : "without index");
  }
  std::string text = task + " of " + to_string(config.cluster);
  if (!config.rpc_layer.empty()) text += ", rpc_layer " + config.rpc_layer;
  if (config.session_master) text += ", session_master " + *config.session_master;
  return text;
}

}  // namespace belfry
