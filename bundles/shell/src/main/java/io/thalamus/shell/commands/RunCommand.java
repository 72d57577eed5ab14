// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.console.Arguments;
import io.thalamus.console.Command;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.shell.execution.TimedInference;
import io.thalamus.shell.execution.Warmth;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.model.ReadChoices;
import io.thalamus.shell.results.RunResult;
import io.thalamus.shell.tensor.Classification;
import io.thalamus.shell.tensor.OutputFile;
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
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=run"})
public final class RunCommand extends Command {
  private static final Syntax SYNTAX =
      ReadChoices.addTo(
          CacheFolder.addTo(
              CompileOptionsSyntax.addTo(
                  Syntax.of(
                          "nn:run",
                          "MODEL [INPUT...]",
                          "One inference. An INPUT is a picture (png, jpg, bmp, gif), a .npy, .json"
                              + " or bare little-endian .bin file, random:SEED, or the handle of a"
                              + " hardware buffer; one for each input of the model.")
                      .offering(Inputs.MODEL, Inputs.FILE)
                      .repeated(
                          "output",
                          "FILE",
                          "write an output (.bin, .npy, .json); one for each",
                          Inputs.FILE)
                      .option(
                          "labels", "FILE", "names of the classes, one on each line", Inputs.FILE)
                      .option("top", "N", "how many classes to show (5)")
                      .option(
                          "mean", "M", "pictures: fed = (value - M) / S, or one M for each channel")
                      .option("std", "S", "pictures: see --mean")
                      .option(
                          "repeat", "N", "execute N times, show the median time of the warm ones")
                      .option("deadline", "MS", "the time that the execution may take"))));

  private static final int USUAL_TOP = 5;

  private final Models models;
  private final Warmth warmth = new Warmth();

  /** Called by the component runtime. */
  @Activate
  public RunCommand(@Reference Models models) {
    super(SYNTAX);
    this.models = models;
  }

  @Descriptor("one inference: best classes or a summary of the outputs, and what ran where")
  public Result run(
      CommandSession session, @Descriptor("MODEL [INPUT...] " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::infer);
  }

  private Result infer(Invocation invocation) throws NeuralNetworksException {
    Arguments arguments = invocation.arguments();
    OptionalDouble deadline = arguments.positive("deadline");
    Optional<Duration> timeout =
        deadline.isPresent()
            ? Optional.of(Duration.ofNanos(Math.round(deadline.getAsDouble() * 1e6)))
            : Optional.empty();
    int top = arguments.integer("top", 1).orElse(USUAL_TOP);
    int times = arguments.integer("repeat", 1).orElse(1);
    List<Path> files = outputs(invocation);
    try (Inputs inputs = new Inputs(invocation);
        OpenModel model = models.open(invocation)) {
      int outputs = model.model().main().outputIndexes().size();
      if (!files.isEmpty() && files.size() != outputs) {
        throw invocation.usage(
            "the model has %s outputs; give --output once for each, not %s times"
                .formatted(outputs, files.size()));
      }
      List<Tensor> values =
          inputs.read(
              model.loaded().file(), arguments.operands().subList(1, arguments.operands().size()));
      model.fit(values);
      Labels labels = Labels.find(model.loaded(), invocation);
      CompilationOptions options = CompileOptionsSyntax.options(arguments);
      Optional<CacheOptions> caching =
          CacheFolder.asked(invocation, model.loaded()).or(model::caching);
      Compilation compilation = model.compile(caching.map(options::with).orElse(options));
      List<CacheOutcome> origins = caching.isPresent() ? compilation.caching() : List.of();
      TimedInference.Outcome outcome =
          new TimedInference(
                  compilation,
                  values,
                  execution -> timeout.map(execution::setTimeout).orElse(execution).compute())
              .run(times);
      for (int i = 0; i < files.size(); i++) {
        OutputFile.write(files.get(i), outcome.answer().outputs().get(i));
      }
      return RunResult.of(
          model.loaded(),
          outcome,
          warmth.add(compilation, outcome.nanos()),
          classes(values, outcome, labels, top),
          origins,
          invocation.style());
    }
  }

  private static List<Path> outputs(Invocation invocation) {
    List<Path> files = new ArrayList<>();
    for (String name : invocation.arguments().texts("output")) {
      if (!OutputFile.accepts(name)) {
        throw invocation.usage("--output " + name + " ends neither in .bin nor .npy nor .json");
      }
      files.add(invocation.path(name));
    }
    return files;
  }

  /** Returns the best classes, where the only output is one score for each class. */
  private static Optional<Classification> classes(
      List<Tensor> inputs, TimedInference.Outcome outcome, Labels labels, int top) {
    boolean isOne = outcome.answer().outputs().size() == 1;
    if (!isOne || !Classification.fits(outcome.answer().outputs().getFirst(), inputs)) {
      return Optional.empty();
    }
    Tensor scores = outcome.answer().outputs().getFirst();
    return Optional.of(Classification.of(scores, labels.of(scores.count()), top));
  }
}
