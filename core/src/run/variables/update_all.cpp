// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"
#include "belfry/cross_replica_context.h"
#include "belfry/detail/component_values.h"
#include "belfry/detail/host_accesses.h"
#include "belfry/error.h"
#include "belfry/fused_update.h"
#include "values/copy_on_write.h"
#include "values/tensor_operands.h"
#include "words/with_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace belfry::detail {
namespace {

// Fewer tensors than a kernel of a GPU has room for in its parameters.
constexpr std::size_t kMostTensors = 512;

// Variables on common devices.
struct Group {
  const VariablePlaces* places = nullptr;
  std::vector<const FusedVariable*> changed{};  // Each variable, then its slots.
  std::vector<const FusedValue*> gradients{};   // Of each variable.
};

[[noreturn]] void refuse(ErrorCode code, const std::string& summary, std::string hint,
                         CallSite site) {
  throw InvalidArgumentError(code, "update_all: " + summary, std::move(hint), site);
}

std::string name_of(const FusedUpdate& rule) { return to_string(rule); }

// The work of a component: copies of the tensors that have a second handle, and kernels.
class ComponentPlan {
 public:
  ComponentPlan(const FusedUpdate& rule, Placement place, CallSite site)
      : rule_(rule), place_(place), site_(site) {}

  // Adds a weight, the slots, and the gradient, a tensor each. `name` is the variable's.
  void add(const std::string& name, std::span<AnyTensor* const> changed,
           const AnyTensor& gradient) {
    const AnyTensor& weight = *changed.front();
    for (const AnyTensor* tensor : changed) require_like(name, "slot", weight, *tensor);
    require_like(name, "gradient", weight, gradient);
    require_type(name, weight.dtype());
    if (weight.view().count == 0) return;
    Kernel& kernel = kernel_for(weight.dtype());
    for (AnyTensor* tensor : changed) kernel.outputs.push_back(view_to_change(*tensor));
    kernel.inputs.push_back(gradient.copy_to(place_, site_).view());
  }

  // After the last tensor: every step that can fail without device work.
  void close() {
    for (Kernel& kernel : kernels_) {
      if (rule_.own() != nullptr) kernel.user = rule_.own()->body(kernel.inputs.size());
    }
  }
  // Changes the tensors.
  void enqueue() {
    for (Kernel& kernel : kernels_) launch(place_, std::move(kernel));
    for (auto& [tensor, fresh] : copies_) *tensor = std::move(fresh);
  }

 private:
  void require_like(const std::string& name, const char* what, const AnyTensor& weight,
                    const AnyTensor& other) const {
    if (weight.empty() || other.empty()) {
      refuse(ErrorCode::kInvalidArgument,
             fmt::format("a {} of {} is a default-constructed tensor",
                         weight.empty() ? "tensor" : what, name),
             "make it with Tensor::from, full or zeros", site_);
    }
    if (weight.dtype() == other.dtype() && weight.shape() == other.shape()) return;
    const bool types = weight.dtype() != other.dtype();
    refuse(types ? ErrorCode::kDType : ErrorCode::kShape,
           fmt::format("{} is {}{}, and its {} {}{}", name, to_string(weight.dtype()),
                       to_string(weight.shape()), what, to_string(other.dtype()),
                       to_string(other.shape())),
           "a weight, its slots and its gradient have one element type and one shape; the lists "
           "are in the same order",
           site_);
  }
  void require_type(const std::string& name, DType dtype) const {
    const OwnUpdate* const own = rule_.own();
    if (own == nullptr ? is_floating(dtype) : dtype == own->dtype()) return;
    refuse(ErrorCode::kDType,
           own == nullptr ? fmt::format("{} is {}, and {} is for floating types", name,
                                        to_string(dtype), name_of(rule_))
                          : fmt::format("{} is {}, and kernel {} takes {}", name, to_string(dtype),
                                        own->name(), to_string(own->dtype())),
           own == nullptr ? "write FusedUpdate::kernel with a kernel of your own"
                          : "call update_all for the variables of each element type",
           site_);
  }
  Kernel& kernel_for(DType dtype) {
    const auto open = std::ranges::find_if(kernels_, [dtype](const Kernel& kernel) {
      return kernel.outputs[0].dtype == dtype && kernel.inputs.size() < kMostTensors;
    });
    if (open != kernels_.end()) return *open;
    Kernel& kernel = kernels_.emplace_back();
    kernel.kind = rule_.own() == nullptr ? KernelKind::kFusedUpdate : KernelKind::kUser;
    kernel.parameters = rule_.parameters();
    return kernel;
  }
  BufferView view_to_change(AnyTensor& tensor) {
    touched(&tensor, sizeof tensor, true, site_);
    if (!counts_as_shared(tensor)) return tensor.view();
    note_copy_for_write(tensor);
    copies_.emplace_back(&tensor, own_copy(tensor));
    return copies_.back().second.view();
  }

  const FusedUpdate& rule_;
  Placement place_;
  CallSite site_;
  std::vector<Kernel> kernels_;
  std::vector<std::pair<AnyTensor*, AnyTensor>> copies_;
};

// An update of a group.
class FusedWork final : public ComponentValues {
 public:
  FusedWork(StrategyCore& core, CrossReplicaContext& cross, const Group& group,
            const FusedUpdate& rule, CallSite site)
      : ComponentValues(core, cross, group.changed.front()->record->info, true, site),
        group_(group),
        each_(1 + rule.slots()) {
    for (int c = 0; c < places().size(); ++c) {
      plans_.emplace_back(rule, place_of(c), site);
      for (std::size_t v = 0; v < group.gradients.size(); ++v) plan(v, c);
      plans_.back().close();
    }
  }

  // Throws: exceptions of the strategy. Variables then have no value.
  void carry_out() {
    try {
      core().update(*this, site());
      require_all();
      for (const FusedVariable* one : group_.changed) {
        one->calls->finish(core(), *one->record, site());
      }
    } catch (...) {
      for (const FusedVariable* one : group_.changed) {
        one->record->info.lost = std::current_exception();
      }
      throw;
    }
  }

 private:
  // Appends the tensors of a component. Returns their number.
  std::size_t append_tensors(const FusedVariable& variable, int component,
                             std::vector<AnyTensor*>& tensors) {
    leaves_.clear();
    variable.calls->leaves(*variable.record, component, leaves_);
    for (const LeafRef& leaf : leaves_) {
      if (leaf.tensor == nullptr) {
        refuse(ErrorCode::kDType, variable.record->info.name + " has numbers beside tensors",
               "keep the numbers in a variable of their own", site());
      }
      tensors.push_back(leaf.tensor);
    }
    return leaves_.size();
  }

  void plan(std::size_t variable, int component) {
    const auto changed = std::span(group_.changed).subspan(variable * each_, each_);
    const std::string& name = changed[0]->record->info.name;
    tensors_.clear();
    const std::size_t count = append_tensors(*changed[0], component, tensors_);
    const auto require_count = [&](const char* what, std::size_t other) {
      if (other == count) return;
      refuse(ErrorCode::kInvalidArgument,
             fmt::format("{} has {} tensors, and its {} {}", name, count, what, other),
             "give slots and gradients the structure of their variable", site());
    };
    for (std::size_t s = 1; s < each_; ++s) {
      require_count("slot", append_tensors(*changed[s], component, tensors_));
    }
    gradients_.clear();
    const FusedValue& gradient = *group_.gradients[variable];
    gradient.leaves(gradient.value, replica_beside(component), gradients_);
    require_count("gradient", gradients_.size());
    for (std::size_t t = 0; t < count; ++t) {
      together_.clear();
      for (std::size_t s = 0; s < each_; ++s) together_.push_back(tensors_[s * count + t]);
      plans_.back().add(name, together_, gradients_[t]);
    }
  }

  void compute_value(int component) override {
    plans_[static_cast<std::size_t>(component)].enqueue();
  }
  void copy_values(int from, const std::vector<int>& to) override {
    const std::vector<Placement> targets = places_of(to);
    for (const FusedVariable* one : group_.changed) {
      tensors_.clear();
      const std::size_t count = append_tensors(*one, from, tensors_);
      for (const int component : to) append_tensors(*one, component, tensors_);
      for (std::size_t t = 0; t < count; ++t) {
        std::vector<AnyTensor> copies = core().broadcast(*tensors_[t], targets);
        for (std::size_t i = 0; i < to.size(); ++i) {
          *tensors_[(1 + i) * count + t] = std::move(copies[i]);
        }
      }
    }
  }

  const Group& group_;
  std::size_t each_;
  std::vector<ComponentPlan> plans_;  // By component.
  // Memory that is used again.
  std::vector<LeafRef> leaves_;
  std::vector<AnyTensor*> tensors_;
  std::vector<AnyTensor*> together_;
  std::vector<AnyTensor> gradients_;
};

void require_variable(const StrategyCore& core, const FusedVariable& variable, CallSite site) {
  if (variable.record == nullptr) throw_empty_variable(site);
  require_own_value(core, variable.record->info, site);
  require_kind(variable.record->info, Synchronization::kOnWrite, site);
}

void require_apart(const std::vector<Group>& groups, CallSite site) {
  std::vector<const VariableInfo*> all;
  for (const Group& group : groups) {
    for (const FusedVariable* one : group.changed) all.push_back(&one->record->info);
  }
  std::ranges::sort(all, {}, &VariableInfo::number);
  const auto twice = std::ranges::adjacent_find(all, {}, &VariableInfo::number);
  if (twice == all.end()) return;
  refuse(ErrorCode::kInvalidArgument, (*twice)->name + " is in the lists twice",
         "name each variable and each slot once; it was made at " + to_string((*twice)->created),
         site);
}

void require_counts(const TensorVariables& variables, const FusedUpdate& rule,
                    const TensorVariables& slots, const TensorValues& gradients, CallSite site) {
  if (gradients.size() != variables.size()) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("{} gradients for {} variables", gradients.size(), variables.size()),
           "give a value for each variable, in the same order; TensorValues::none() leaves a "
           "variable as it is",
           site);
  }
  if (slots.size() == rule.slots() * variables.size()) return;
  refuse(ErrorCode::kInvalidArgument,
         fmt::format("{} slots for {} variables, and {} keeps {} for each", slots.size(),
                     variables.size(), name_of(rule), rule.slots()),
         "make mirrored variables of zeros in the shapes of the variables: the first slots of all "
         "variables, then the second",
         site);
}

Group& group_on(const VariablePlaces& places, std::vector<Group>& groups) {
  const auto same =
      std::ranges::find_if(groups, [&places](const Group& one) { return *one.places == places; });
  if (same != groups.end()) return *same;
  groups.push_back({.places = &places});
  return groups.back();
}

// The variables with a gradient, in their order.
std::vector<Group> groups_of(StrategyCore& core, const TensorVariables& variables,
                             const TensorVariables& slots, const TensorValues& gradients,
                             CallSite site) {
  std::vector<Group> groups;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const FusedVariable& variable = variables.entries()[v];
    require_variable(core, variable, site);
    const VariableInfo& info = variable.record->info;
    const FusedValue& gradient = gradients.entries()[v];
    const bool changes = gradient.leaves != nullptr;
    if (changes) require_replicas(core, gradient.replicas, site);
    Group* const group = changes ? &group_on(info.places, groups) : nullptr;
    if (changes) group->gradients.push_back(&gradient);
    if (changes) group->changed.push_back(&variable);
    for (std::size_t s = v; s < slots.size(); s += variables.size()) {
      const FusedVariable& slot = slots.entries()[s];
      require_variable(core, slot, site);
      if (slot.record->info.places != info.places) {
        refuse(ErrorCode::kDestination,
               fmt::format("{} and its slot {} are on different devices", info.name,
                           slot.record->info.name),
               "make both in the same scope", site);
      }
      if (changes) group->changed.push_back(&slot);
    }
  }
  require_apart(groups, site);
  return groups;
}

// Gives replicas on other devices their copies back, after a refusal.
void restore_views(StrategyCore& core, std::span<const Group> groups) noexcept {
  for (const Group& group : groups) {
    for (const FusedVariable* one : group.changed) {
      try {
        one->calls->renew(core, *one->record);
      } catch (...) {
        one->record->info.lost = std::current_exception();
      }
    }
  }
}

void change_all(StrategyCore& core, CrossReplicaContext& cross, const std::vector<Group>& groups,
                const FusedUpdate& rule, CallSite site) {
  const SiteScope scope(site);
  // Copies for other devices may share the memory of a component.
  for (const Group& group : groups) {
    for (const FusedVariable* one : group.changed) one->calls->release(*one->record);
  }
  std::vector<std::unique_ptr<FusedWork>> works;
  try {
    for (const Group& group : groups) {
      works.push_back(std::make_unique<FusedWork>(core, cross, group, rule, site));
    }
  } catch (...) {
    restore_views(core, groups);
    std::rethrow_exception(at_site(std::current_exception(), site));
  }
  for (std::size_t g = 0; g < works.size(); ++g) {
    try {
      works[g]->carry_out();
    } catch (...) {
      restore_views(core, std::span(groups).subspan(g + 1));
      throw;
    }
  }
}

}  // namespace

void ListVerbs::update_all(const TensorVariables& variables, const FusedUpdate& rule,
                           const TensorVariables& slots, const TensorValues& gradients,
                           CallSite site) {
  auto& cross = static_cast<CrossReplicaContext&>(*this);
  StrategyCore& core = cross.core();
  core.require_change("update_all", site);
  require_counts(variables, rule, slots, gradients, site);
  change_all(core, cross, groups_of(core, variables, slots, gradients, site), rule, site);
  core.statistics().updates += 1;
}

}  // namespace belfry::detail
