// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cluster_environment.h"
#include "belfry/detail/json.h"
#include "belfry/detail/json_value.h"
#include "cluster/variable.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace belfry {
namespace {

using detail::JsonValue;
using Kind = JsonValue::Kind;

class ConfigReader {
 public:
  ConfigReader(std::string_view text, CallSite site)
      : variable_{.name = "TF_CONFIG", .value = text}, site_(site) {}

  TfConfig read() {
    const JsonValue root = parse();
    require(root.kind == Kind::kObject, "expected an object of JSON");
    TfConfig config;
    require_other_names(root);
    if (const auto* cluster = member(root, "cluster")) read_cluster(*cluster, config.cluster);
    if (const auto* task = member(root, "task")) read_task(*task, config);
    if (const auto* layer = member(root, "rpc_layer")) {
      config.rpc_layer = string_in(*layer, "rpc_layer");
    }
    if (const auto* master = member(root, "session_master")) {
      config.session_master = string_in(*master, "session_master");
    }
    return config;
  }

 private:
  JsonValue parse() {
    try {
      return detail::parse_json(variable_.value);
    } catch (const detail::JsonError& error) {
      fail(*error.what() == '\0' ? "expected JSON" : error.what());
    }
  }

  // The member of the name, if the object has the member and the member is not null.
  static const JsonValue* member(const JsonValue& object, std::string_view name) {
    const JsonValue* const found = object.member(name);
    return found == nullptr || found->kind == Kind::kNull ? nullptr : found;
  }

  void require_other_names(const JsonValue& value) const {
    std::set<std::string_view> names;
    for (const JsonValue& part : value.parts) {
      const bool is_new = value.kind != Kind::kObject || names.insert(part.name).second;
      require(is_new, "a second member \"" + part.name + "\"");
      require_other_names(part);
    }
  }

  void read_cluster(const JsonValue& cluster, ClusterSpec& spec) {
    require(cluster.kind == Kind::kObject, "cluster is no object of jobs");
    for (const JsonValue& addresses : cluster.parts) {
      const std::string& name = addresses.name;
      require(!name.empty(), "a job of cluster has no name");
      require(addresses.kind == Kind::kArray, "cluster." + name + " is no list of addresses");
      ClusterJob job{.name = name, .addresses = {}};
      for (const JsonValue& address : addresses.parts) {
        const std::string place =
            "cluster." + name + "[" + std::to_string(job.addresses.size()) + "]";
        job.addresses.push_back(string_in(address, place));
        require(!job.addresses.back().empty(), place + " is empty");
      }
      spec.jobs.push_back(std::move(job));
    }
  }

  void read_task(const JsonValue& task, TfConfig& config) {
    require(task.kind == Kind::kObject, "task is no object");
    if (const auto* type = member(task, "type")) {
      config.job = string_in(*type, "task.type");
      require(!config.job->empty(), "task.type is empty");
    }
    if (const auto* index = member(task, "index")) {
      // Programs write the number as text, too.
      if (index->kind == Kind::kString || index->kind == Kind::kNumber) {
        config.index = detail::decimal_number(index->text);
      }
      require(config.index.has_value(), "task.index is no number of decimal digits");
    }
  }

  const std::string& string_in(const JsonValue& value, const std::string& place) {
    require(value.kind == Kind::kString, place + " is no string");
    return value.text;
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
