// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.failure.Reasons;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Units;
import io.thalamus.shell.tensor.OutputFile;
import io.thalamus.vectors.CacheTally;
import io.thalamus.vectors.NeuralNetworksTarget;
import io.thalamus.vectors.NeuralNetworksTarget.ArgumentMemory;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.SuiteReport;
import io.thalamus.vectors.VectorFilter;
import io.thalamus.vectors.VectorFormatException;
import io.thalamus.vectors.VectorSuite;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:verify}: runs conformance vectors. Thread-safe. */
@Component(
    service = VerifyCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=verify"})
public final class VerifyCommand {
  static final Syntax SYNTAX =
      Syntax.of(
              "nn:verify",
              "DIR",
              "Runs the conformance vectors of a folder, or of one file; fails where one does.",
              1,
              1)
          .option("device", "D", "use only this device, or these: cpu,simd")
          .option("filter", "GLOB", "only files, or examples, whose name matches: 'V1_2/conv*'")
          .option("mode", "M", "sync (usual), async or fenced")
          .option("inputs", "I", "fully-specified (usual) or unspecified: sizes come with values")
          .option("outputs", "O", "fully-specified (usual), unspecified or insufficient")
          .option("memory", "M", "arguments stand in plain (usual), shared or device memory")
          .option("threads", "N", "how many examples run at once")
          .option("cache", "DIR", "compile each example twice, the second time from this cache")
          .option("report", "FILE", "write all results as JUnit's XML");

  private final NeuralNetworks networks;

  /**
   * Called by the component runtime.
   *
   * @param networks compiles and executes
   */
  @Activate
  public VerifyCommand(@Reference NeuralNetworks networks) {
    this.networks = networks;
  }

  /** The command. */
  @Descriptor("run conformance vectors; the last line is: N passed, N failed, N skipped")
  public Result verify(
      CommandSession session,
      @Descriptor(
              "DIR [--device D] [--filter GLOB] [--mode M] [--inputs I] [--outputs O] [--memory M]"
                  + " [--threads N] [--cache DIR] [--report FILE] [--json];"
                  + " nn:verify --help says more")
          String[] arguments)
      throws UsageException, CommandException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    Path root = invocation.path(parsed.operands().getFirst());
    VectorSuite suite = VectorSuite.of(root).with(filter(parsed));
    OptionalInt threads = parsed.integer("threads", 1);
    if (threads.isPresent()) {
      suite = suite.withThreads(threads.getAsInt());
    }
    Optional<CacheTally> tally = CacheFolder.asked(SYNTAX, parsed, invocation).map(CacheTally::new);
    NeuralNetworksTarget target = target(parsed);
    SuiteReport report =
        run(suite, tally.map(target::with).orElse(target), options(parsed), invocation);
    Optional<String> file = parsed.text("report");
    if (file.isPresent()) {
      write(report, invocation.path(file.get()));
    }
    VerifyResult result = new VerifyResult(report, tally, invocation.style(parsed));
    if (report.failed() == 0) {
      return result;
    }
    // The results belong on standard output even though the command fails.
    invocation.out().println(result.show());
    invocation.out().flush();
    throw new CommandException(
        Units.plural(report.failed(), "example") + " of " + report.results().size() + " failed");
  }

  private static VectorFilter filter(Arguments parsed) throws UsageException {
    String glob = parsed.text("filter").orElse("**");
    try {
      return VectorFilter.of(glob);
    } catch (IllegalArgumentException e) {
      throw SYNTAX.usage("--filter " + glob + " is no glob: " + firstLine(e.getMessage()));
    }
  }

  private NeuralNetworksTarget target(Arguments parsed) throws UsageException {
    // A device that fails is to be seen to fail: nothing may stand in for it.
    CompilationOptions options = CompilationOptions.DEFAULT.with(Fallback.DENY);
    Optional<String> device = parsed.text("device");
    if (device.isPresent()) {
      options = options.withDevices(Arrays.stream(device.get().split(",")).distinct().toList());
    }
    return new NeuralNetworksTarget(
        networks,
        options,
        parsed.choice("memory", ArgumentMemory.class).orElse(ArgumentMemory.PLAIN));
  }

  private static RunOptions options(Arguments parsed) throws UsageException {
    return RunOptions.DEFAULT
        .with(parsed.choice("mode", RunOptions.Mode.class).orElse(RunOptions.Mode.SYNC))
        .with(
            parsed
                .choice("inputs", RunOptions.Inputs.class)
                .orElse(RunOptions.Inputs.FULLY_SPECIFIED))
        .with(
            parsed
                .choice("outputs", RunOptions.Outputs.class)
                .orElse(RunOptions.Outputs.FULLY_SPECIFIED));
  }

  private static SuiteReport run(
      VectorSuite suite, NeuralNetworksTarget target, RunOptions options, Invocation invocation)
      throws CommandException {
    if (!Files.exists(suite.root())) {
      throw new CommandException("no such file or folder: " + suite.root());
    }
    Progress progress = Progress.of(invocation);
    try {
      return suite.run(
          target,
          options,
          (result, count) -> {
            if (result.outcome() instanceof io.thalamus.vectors.Outcome.Failed) {
              progress.failed();
            }
            progress.at(count, "examples");
          });
    } catch (IOException e) {
      throw new CommandException("cannot read " + suite.root() + ": " + Reasons.of(e), e);
    } catch (VectorFormatException e) {
      throw new CommandException(e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandException("interrupted", e);
    } finally {
      progress.close();
    }
  }

  private static void write(SuiteReport report, Path file) throws CommandException {
    try {
      OutputFile.write(file, report::writeJUnitXml);
    } catch (IOException e) {
      throw new CommandException("cannot write " + file + ": " + Reasons.of(e), e);
    }
  }

  private static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }
}
