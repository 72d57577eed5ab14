// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationCaching;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.StepCaching;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.tensor.OutputFile;
import io.thalamus.shell.tensor.Tensor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:run}: one inference. Thread-safe. */
@Component(
    service = RunCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=run"})
public final class RunCommand {
  static final Syntax SYNTAX =
      CacheFolder.addTo(
          Compiling.addTo(
              Syntax.of(
                      "nn:run",
                      "MODEL [INPUT...]",
                      "One inference. An INPUT is a picture (png, jpg, bmp, gif), a .npy, .json or"
                          + " bare little-endian .bin file, or random:SEED; one for each input of"
                          + " the model.",
                      1,
                      Integer.MAX_VALUE)
                  .repeated("output", "FILE", "write an output (.bin, .npy, .json); one for each")
                  .option("labels", "FILE", "names of the classes, one on each line")
                  .option("top", "N", "how many classes to show (5)")
                  .option("mean", "M", "pictures: fed = (value - M) / S, or one M for each channel")
                  .option("std", "S", "pictures: see --mean")
                  .option("repeat", "N", "execute N times, show the median time")
                  .option("deadline", "MS", "the time that the execution may take")));

  private static final int USUAL_TOP = 5;

  private final Models models;

  /**
   * Called by the component runtime.
   *
   * @param models opens models
   */
  @Activate
  public RunCommand(@Reference Models models) {
    this.models = models;
  }

  /** The command. */
  @Descriptor("one inference: best classes or a summary of the outputs, and what ran where")
  public Result run(
      CommandSession session,
      @Descriptor(
              "MODEL [INPUT...] [--output FILE]... [--device D] [--deadline MS] [--priority P]"
                  + " [--preference P] [--fallback F] [--policy P] [--power-budget SHARE]"
                  + " [--sampling RATE] [--labels FILE] [--top N] [--mean M --std S] [--repeat N]"
                  + " [--cache DIR] [--json]; nn:run --help says more")
          String[] arguments)
      throws UsageException, CommandException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    String word = parsed.operands().getFirst();
    List<String> words = parsed.operands().subList(1, parsed.operands().size());
    OptionalDouble deadline = parsed.positive("deadline");
    Optional<Duration> timeout =
        deadline.isPresent()
            ? Optional.of(Duration.ofNanos(Math.round(deadline.getAsDouble() * 1e6)))
            : Optional.empty();
    int top = parsed.integer("top", 1).orElse(USUAL_TOP);
    int times = parsed.integer("repeat", 1).orElse(1);
    List<Path> files = outputs(parsed, invocation);
    Inputs inputs = new Inputs(SYNTAX, parsed.numbers("mean"), parsed.numbers("std"));
    try (OpenModel model = models.open(word, invocation.path(word))) {
      if (!files.isEmpty() && files.size() != model.model().main().outputIndexes().size()) {
        throw SYNTAX.usage(
            "the model has "
                + model.model().main().outputIndexes().size()
                + " outputs; give --output once for each, not "
                + files.size()
                + " times");
      }
      List<Tensor> values = inputs.read(model.loaded().file(), words, invocation);
      Labels labels = Labels.find(model.loaded(), parsed.text("labels"), invocation);
      CompilationOptions options = Compiling.options(parsed);
      Optional<CompilationCaching> caching =
          CacheFolder.asked(SYNTAX, parsed, invocation, model.loaded()).or(model::caching);
      Compilation compilation = model.compile(caching.map(options::with).orElse(options));
      List<StepCaching> origins = caching.isPresent() ? compilation.caching() : List.of();
      Inference.Outcome outcome = new Inference(compilation, values, timeout).run(times);
      for (int i = 0; i < files.size(); i++) {
        OutputFile.write(files.get(i), outcome.outputs().get(i));
      }
      return RunResult.of(
          model.loaded(), values, outcome, origins, labels, top, invocation.style(parsed));
    } catch (NeuralNetworksException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  private static List<Path> outputs(Arguments parsed, Invocation invocation)
      throws UsageException, CommandException {
    List<Path> files = new ArrayList<>();
    for (String name : parsed.texts("output")) {
      if (!OutputFile.accepts(name)) {
        throw SYNTAX.usage("--output " + name + " ends neither in .bin nor .npy nor .json");
      }
      files.add(invocation.path(name));
    }
    return files;
  }
}
