// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/process_group.h"
#include "command.h"
#include "demo.h"
#include "demo_page.h"
#include "digits.h"
#include "mpi_group.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

namespace belfry::tool {
namespace {

using demo::BackendKind;
using demo::DemoOptions;

struct Arguments {
  DemoOptions demo;
  bool mpi = false;
  std::string page;
};

std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  const bool good = read.ec == std::errc() && read.ptr == end;
  return good ? "" : "'" + text + "' is not a whole number from 0 to 2^64 - 1";
}

std::string learning_rate(const std::string& text) {
  double rate = 0;
  const bool good = CLI::detail::lexical_cast(text, rate) && rate > 0 && rate <= 100;
  return good ? "" : "'" + text + "' is not a number above 0, up to 100";
}

std::string known_backend(const std::string& text) {
  return text == "sim" || text == "cuda" ? "" : "'" + text + "' is neither sim nor cuda";
}

void require_hosts(const DemoOptions& options, bool mpi) {
  const char* fault = nullptr;
  if (options.backend != BackendKind::kSim) fault = "hosts are simulated: use --backend sim";
  if (mpi) fault = "processes of MPI have one host each: leave --hosts out";
  if (options.hosts > options.replicas) fault = "each host needs a replica: ask for more replicas";
  if (fault != nullptr) throw CLI::ValidationError("--hosts", fault);
}

// Throws: CLI::ValidationError.
void require_sound(const Arguments& arguments) {
  const DemoOptions& options = arguments.demo;
  const bool plain = options.backend == BackendKind::kSim && options.hosts == 1 && !arguments.mpi;
  if (!arguments.page.empty() && !plain) {
    throw CLI::ValidationError("--page", "shows a step on simulated devices of one host");
  }
  if (options.hosts > 1) require_hosts(options, arguments.mpi);
  const auto dropped = options.dropped_replica.value_or(0);
  if (dropped < options.replicas) return;
  throw CLI::ValidationError("--drop-replica", "no replica " + std::to_string(dropped) + " among " +
                                                   std::to_string(options.replicas) +
                                                   ", which are numbered from 0");
}

ExitCode run(const Arguments& arguments, Command& command, Console& console) {
  DemoOptions options = arguments.demo;
  std::unique_ptr<ProcessGroup> group;
  if (arguments.mpi) group = demo::make_mpi_group(command.argc, command.argv);
  options.group = group.get();
  const ExitCode code = run_demo(options, console);
  if (!arguments.page.empty()) write_demo_page(options, arguments.page, console);
  return code;
}

}  // namespace

void add_demo(CLI::App& app, Command& command) {
  const auto arguments = std::make_shared<Arguments>();
  DemoOptions& options = arguments->demo;
  options.file = demo::project_digits();
  CLI::App* sub = app.add_subcommand(
      "demo", "Train on handwritten digits with MirroredStrategy and check every step");
  sub->add_option_function<std::string>(
         "--backend",
         [&options](const std::string& name) {
           options.backend = name == "cuda" ? BackendKind::kCuda : BackendKind::kSim;
         },
         "Simulated devices (default) or the CUDA backend")
      ->check(known_backend)
      ->option_text("sim|cuda");
  sub->add_option("--replicas", options.replicas, "Replicas, one on each device: 1 to 64 (4)")
      ->check(CLI::Range(1, 64))
      ->option_text("N");
  sub->add_option("--hosts", options.hosts,
                  "Hosts of a simulated cluster; the replicas are shared out (1)")
      ->check(CLI::Range(1, 64))
      ->option_text("N");
  sub->add_flag("--mpi", arguments->mpi,
                "This process is one of several that mpirun has started; they share out the "
                "replicas");
  sub->add_option("--epochs", options.epochs, "Passes over the training images (20)")
      ->check(CLI::Range(1, 100000))
      ->option_text("N");
  sub->add_option("--batch", options.batch, "Images of a step, over all replicas (64)")
      ->check(CLI::Range(1, 65536))
      ->option_text("N");
  sub->add_option("--rate", options.rate, "Learning rate (0.05)")
      ->check(learning_rate)
      ->option_text("X");
  sub->add_option("--seed", options.seed, "Decides split, first weights, order and schedule (1)")
      ->check(whole_number)
      ->option_text("N");
  sub->add_option(
         "--file", options.file,
         "Images, one a line: 64 pixels and the digit (the project's docs/data/digits.csv)")
      ->option_text("PATH");
  sub->add_option("--drop-replica", options.dropped_replica,
                  "Leave this replica's gradient out, to see the comparison fail")
      ->check(whole_number)
      ->option_text("ID");
  sub->add_option("--trace", options.trace,
                  "Write a trace of the training to this file, for explain, diff, view and export")
      ->option_text("PATH");
  sub->add_option("--page", arguments->page,
                  "Write the first step of the training as a page to step through")
      ->option_text("PATH");
  sub->add_flag("--quiet", command.quiet, "Print results alone");
  sub->callback([arguments, &command] {
    require_sound(*arguments);
    command.action = [arguments, &command](Console& console) {
      return run(*arguments, command, console);
    };
  });
}

}  // namespace belfry::tool
