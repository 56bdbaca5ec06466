// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/error.h"
#include "belfry/version.h"
#include "demo.h"
#include "digits.h"
#include "mpi_group.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

namespace belfry::demo {
namespace {

struct Arguments {
  DemoOptions demo;
  bool quiet = false;
  bool mpi = false;
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

void add_demo(CLI::App& app, Arguments& arguments) {
  CLI::App* demo = app.add_subcommand(
      "demo", "Train on handwritten digits with MirroredStrategy and check every step");
  DemoOptions& options = arguments.demo;
  demo->add_option_function<std::string>(
          "--backend",
          [&options](const std::string& name) {
            options.backend = name == "cuda" ? BackendKind::kCuda : BackendKind::kSim;
          },
          "Simulated devices (default) or the CUDA backend")
      ->check(known_backend)
      ->option_text("sim|cuda");
  demo->add_option("--replicas", options.replicas, "Replicas, one on each device: 1 to 64 (4)")
      ->check(CLI::Range(1, 64))
      ->option_text("N");
  demo->add_option("--hosts", options.hosts,
                   "Hosts of a simulated cluster; the replicas are shared out (1)")
      ->check(CLI::Range(1, 64))
      ->option_text("N");
  demo->add_flag("--mpi", arguments.mpi,
                 "This process is one of several that mpirun has started; they share out the "
                 "replicas");
  demo->add_option("--epochs", options.epochs, "Passes over the training images (20)")
      ->check(CLI::Range(1, 100000))
      ->option_text("N");
  demo->add_option("--batch", options.batch, "Images of a step, over all replicas (64)")
      ->check(CLI::Range(1, 65536))
      ->option_text("N");
  demo->add_option("--rate", options.rate, "Learning rate (0.05)")
      ->check(learning_rate)
      ->option_text("X");
  demo->add_option("--seed", options.seed, "Decides split, first weights, order and schedule (1)")
      ->check(whole_number)
      ->option_text("N");
  demo->add_option(
          "--file", options.file,
          "Images, one a line: 64 pixels and the digit (the project's docs/data/digits.csv)")
      ->option_text("PATH");
  demo->add_option("--drop-replica", options.dropped_replica,
                   "Leave this replica's gradient out, to see the comparison fail")
      ->check(whole_number)
      ->option_text("ID");
  demo->add_option("--trace", options.trace,
                   "Write the simulator's log to this file, for ui.perfetto.dev")
      ->option_text("PATH");
  demo->add_flag("--quiet", arguments.quiet, "Print results alone");
  demo->callback([&options, &arguments] {
    if (!options.trace.empty() && options.backend != BackendKind::kSim) {
      throw CLI::ValidationError("--trace", "only the simulator has a log: use --backend sim");
    }
    if (options.hosts > 1) require_hosts(options, arguments.mpi);
    const auto dropped = options.dropped_replica.value_or(0);
    if (dropped < options.replicas) return;
    throw CLI::ValidationError("--drop-replica", "no replica " + std::to_string(dropped) +
                                                     " among " + std::to_string(options.replicas) +
                                                     ", which are numbered from 0");
  });
}

ExitCode run(Arguments arguments, int argc, char** argv) {
  ConsoleOptions options = ConsoleOptions::of_process();
  options.quiet = arguments.quiet;
  Console console(std::cout, std::cerr, options);
  try {
    std::unique_ptr<ProcessGroup> group;
    if (arguments.mpi) group = make_mpi_group(argc, argv);
    arguments.demo.group = group.get();
    return run_demo(arguments.demo, console);
  } catch (const UnreadableFile& error) {
    console.complain(std::string("belfry: ") + error.what());
    return ExitCode::kEnvironment;
  } catch (const Error& error) {
    console.complain(error);
    if (error.code() == ErrorCode::kFileFormat) return ExitCode::kUsage;
    const bool missing = error.code() == ErrorCode::kNoDriver || error.code() == ErrorCode::kFile;
    return missing ? ExitCode::kEnvironment : ExitCode::kMismatch;
  }
}

// A failed write is an error, for example on a full disk.
int finish(ExitCode code) {
  if (std::cout.flush()) return static_cast<int>(code);
  std::cerr << "belfry: standard output could not be written\n";
  return static_cast<int>(ExitCode::kEnvironment);
}

}  // namespace
}  // namespace belfry::demo

int main(int argc, char** argv) {
  using belfry::demo::ExitCode;
  belfry::demo::Arguments arguments;
  arguments.demo.file = belfry::demo::project_digits();
  CLI::App app{"belfry: distribution strategies on simulated devices or on GPUs", "belfry"};
  app.set_version_flag("--version", std::string(belfry::version()));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 a check failed, 2 usage or a malformed file, 3 a file or device "
      "is missing, or the output cannot be written.");
  belfry::demo::add_demo(app, arguments);
  try {
    // Names a misspelt subcommand; the parser would only report a missing subcommand.
    const std::string first = argc > 1 ? argv[1] : "";
    const bool option = first.starts_with('-');
    const bool known = option ? app.get_option_no_throw(first) != nullptr : first == "demo";
    if (!first.empty() && !known) {
      throw CLI::ParseError(
          "no " + std::string(option ? "option" : "command") + " '" + first + "'; there is: demo",
          CLI::ExitCodes::ExtrasError);
    }
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return belfry::demo::finish(app.exit(error) == 0 ? ExitCode::kGood : ExitCode::kUsage);
  }
  return belfry::demo::finish(belfry::demo::run(arguments, argc, argv));
}
