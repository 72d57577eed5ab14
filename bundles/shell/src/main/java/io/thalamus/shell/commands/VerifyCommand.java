// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.Arguments;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Progress;
import io.thalamus.console.Reasons;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.console.text.Units;
import io.thalamus.shell.results.VerifyResult;
import io.thalamus.shell.tensor.OutputFile;
import io.thalamus.vectors.CacheTally;
import io.thalamus.vectors.NeuralNetworksTarget;
import io.thalamus.vectors.NeuralNetworksTarget.ArgumentMemory;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.SuiteReport;
import io.thalamus.vectors.VectorFilter;
import io.thalamus.vectors.VectorFormatException;
import io.thalamus.vectors.VectorSuite;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:verify}: the run of conformance vectors. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=verify"})
public final class VerifyCommand extends Command {
  private static final int MOST_THREADS = 1024;

  private static final Syntax SYNTAX =
      CompileOptionsSyntax.device(
              Syntax.of(
                      "nn:verify",
                      "DIR",
                      "Runs the conformance vectors of a folder, or of one file; fails where one"
                          + " does.")
                  .offering(Inputs.FILE))
          .option("filter", "GLOB", "only files, or examples, whose name matches: 'V1_2/conv*'")
          .choice("mode", "M", "sync (usual), async, fenced or burst", RunOptions.Mode.class)
          .choice(
              "inputs",
              "I",
              "fully-specified (usual) or unspecified: sizes come with values",
              RunOptions.Inputs.class)
          .choice(
              "outputs",
              "O",
              "fully-specified (usual), unspecified or insufficient",
              RunOptions.Outputs.class)
          .choice(
              "memory",
              "M",
              "arguments stand in plain (usual), shared or device memory",
              ArgumentMemory.class)
          .option("threads", "N", "how many examples run at once")
          .option(
              "cache",
              "DIR",
              "compile each example twice, the second time from this cache",
              Inputs.FILE)
          .option("report", "FILE", "write all results as JUnit's XML", Inputs.FILE);

  private final NeuralNetworks networks;

  /** Called by the component runtime. */
  @Activate
  public VerifyCommand(@Reference NeuralNetworks networks) {
    super(SYNTAX);
    this.networks = networks;
  }

  @Descriptor("run conformance vectors; the last line is: N passed, N failed, N skipped")
  public Result verify(CommandSession session, @Descriptor("DIR " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::verify);
  }

  private Result verify(Invocation invocation) throws InterruptedException {
    Arguments arguments = invocation.arguments();
    VectorSuite suite =
        VectorSuite.of(invocation.path(invocation.operand())).with(filter(invocation));
    OptionalLong threads = arguments.integer("threads", 1, MOST_THREADS);
    if (threads.isPresent()) {
      suite = suite.withThreads((int) threads.getAsLong());
    }
    Optional<CacheTally> tally = CacheFolder.asked(invocation).map(CacheTally::new);
    NeuralNetworksTarget target = target(arguments);
    NeuralNetworksTarget used = tally.map(target::with).orElse(target);
    RunOptions options = options(arguments);
    SuiteReport report = run(suite, used, options, invocation);
    Optional<String> file = arguments.text("report");
    if (file.isPresent()) {
      write(report, invocation.path(file.get()));
    }
    VerifyResult result =
        new VerifyResult(
            report,
            tally,
            options.mode() == RunOptions.Mode.BURST ? Optional.of(used.bursts()) : Optional.empty(),
            options.mode() == RunOptions.Mode.FENCED
                ? Optional.of(used.eventSeed())
                : Optional.empty(),
            invocation.style());
    if (report.failed() == 0) {
      return result;
    }
    throw invocation.failure(
        result,
        Units.plural(report.failed(), "example") + " of " + report.results().size() + " failed");
  }

  private static VectorFilter filter(Invocation invocation) {
    String glob = invocation.arguments().text("filter").orElse("**");
    try {
      return VectorFilter.of(glob);
    } catch (IllegalArgumentException e) {
      String reason = e.getMessage().lines().findFirst().orElse("");
      throw invocation.usage("--filter " + glob + " is no glob: " + reason);
    }
  }

  private NeuralNetworksTarget target(Arguments arguments) {
    // A device that fails is to be seen to fail: no other may replace it.
    CompilationOptions options =
        CompilationOptions.DEFAULT
            .with(Fallback.DENY)
            .withDevices(arguments.list("device").orElse(List.of()));
    return new NeuralNetworksTarget(
        networks,
        options,
        arguments.choice("memory", ArgumentMemory.class).orElse(ArgumentMemory.PLAIN));
  }

  private static RunOptions options(Arguments arguments) {
    return RunOptions.DEFAULT
        .with(arguments.choice("mode", RunOptions.Mode.class).orElse(RunOptions.Mode.SYNC))
        .with(
            arguments
                .choice("inputs", RunOptions.Inputs.class)
                .orElse(RunOptions.Inputs.FULLY_SPECIFIED))
        .with(
            arguments
                .choice("outputs", RunOptions.Outputs.class)
                .orElse(RunOptions.Outputs.FULLY_SPECIFIED));
  }

  private static SuiteReport run(
      VectorSuite suite, NeuralNetworksTarget target, RunOptions options, Invocation invocation)
      throws InterruptedException {
    if (!Files.exists(suite.root())) {
      throw new CommandException("no such file or folder: " + suite.root());
    }
    try (Progress progress = invocation.progress()) {
      return suite.run(
          target,
          options,
          (result, count) -> {
            if (result.outcome() instanceof Outcome.Failed) {
              progress.failed();
            }
            progress.at(count, "examples");
          });
    } catch (IOException e) {
      throw new CommandException("cannot read " + suite.root() + ": " + Reasons.of(e), e);
    } catch (VectorFormatException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  private static void write(SuiteReport report, Path file) {
    try {
      OutputFile.write(file, report::writeJUnitXml);
    } catch (IOException e) {
      throw new CommandException("cannot write " + file + ": " + Reasons.ofWriting(e), e);
    }
  }
}
