// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/cluster_environment.h"
#include "cluster/json_tree.h"
#include "cluster/variable.h"

#include <cstddef>
#include <limits>
#include <utility>

namespace belfry {
namespace {

using detail::JsonTree;
using Kind = JsonTree::Kind;

class ConfigReader {
 public:
  ConfigReader(std::string_view text, CallSite site)
      : variable_{.name = "TF_CONFIG", .value = text}, site_(site) {}

  TfConfig read() {
    const JsonTree tree = parse();
    const JsonTree::Node& root = tree.root();
    require(root.kind == Kind::kObject, "expected an object of JSON");
    TfConfig config;
    if (const auto* cluster = tree.member(root, "cluster")) {
      read_cluster(tree, *cluster, config.cluster);
    }
    if (const auto* task = tree.member(root, "task")) read_task(tree, *task, config);
    if (const auto* layer = tree.member(root, "rpc_layer")) {
      config.rpc_layer = string_in(*layer, "rpc_layer");
    }
    if (const auto* master = tree.member(root, "session_master")) {
      config.session_master = string_in(*master, "session_master");
    }
    return config;
  }

 private:
  JsonTree parse() {
    try {
      return JsonTree(variable_.value);
    } catch (const detail::JsonError& error) {
      fail(*error.what() == '\0' ? "expected JSON" : error.what());
    }
  }

  void read_cluster(const JsonTree& tree, const JsonTree::Node& cluster, ClusterSpec& spec) {
    require(cluster.kind == Kind::kObject, "cluster is no object of jobs");
    for (const std::size_t part : cluster.parts) {
      const JsonTree::Node& addresses = tree.node(part);
      const std::string& name = addresses.name;
      require(!name.empty(), "a job of cluster has no name");
      require(addresses.kind == Kind::kArray, "cluster." + name + " is no list of addresses");
      ClusterJob job{.name = name, .addresses = {}};
      for (const std::size_t address : addresses.parts) {
        const std::string place =
            "cluster." + name + "[" + std::to_string(job.addresses.size()) + "]";
        job.addresses.push_back(string_in(tree.node(address), place));
        require(!job.addresses.back().empty(), place + " is empty");
      }
      spec.jobs.push_back(std::move(job));
    }
  }

  void read_task(const JsonTree& tree, const JsonTree::Node& task, TfConfig& config) {
    require(task.kind == Kind::kObject, "task is no object");
    if (const auto* type = tree.member(task, "type")) {
      config.job = string_in(*type, "task.type");
      require(!config.job->empty(), "task.type is empty");
    }
    if (const auto* index = tree.member(task, "index")) {
      // Programs write the number as text, too.
      if (index->kind == Kind::kString) {
        config.index = detail::decimal_number(index->text);
      } else if (index->kind == Kind::kNumber && index->number <= std::numeric_limits<int>::max()) {
        config.index = static_cast<int>(index->number);
      }
      require(config.index.has_value(), "task.index is no number of decimal digits");
    }
  }

  const std::string& string_in(const JsonTree::Node& value, const std::string& place) {
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
