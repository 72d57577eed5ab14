// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCaching;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.shell.arguments.Arguments;
import io.thalamus.shell.arguments.Syntax;
import io.thalamus.shell.failure.CommandException;
import io.thalamus.shell.failure.UsageException;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:bench}: how fast a model is here. Thread-safe. */
@Component(
    service = BenchCommand.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=bench"})
public final class BenchCommand {
  static final Syntax SYNTAX =
      CacheFolder.addTo(
          Compiling.addTo(
              Syntax.of(
                      "nn:bench",
                      "MODEL [INPUT...]",
                      "How fast a model is here: latency, throughput, compile time. Without INPUT,"
                          + " random values are fed.",
                      1,
                      Integer.MAX_VALUE)
                  .option("threads", "N", "how many requests run at once (1)")
                  .option("seconds", "S", "how long to measure (3)")
                  .option("vs", "D2", "the same on another device, by turns, and the ratio")
                  .option("vs-policy", "P2", "the same by another policy, by turns, and the ratio")
                  .option("mean", "M", "pictures: see nn:run")
                  .option("std", "S", "pictures: see nn:run")));

  private static final double USUAL_SECONDS = 3;

  private final NeuralNetworks networks;
  private final Models models;
  private final CompilationCache cache;

  /**
   * Called by the component runtime.
   *
   * @param networks compiles
   * @param models opens models
   * @param cache forgets what would make a first compilation warm
   */
  @Activate
  public BenchCommand(
      @Reference NeuralNetworks networks,
      @Reference Models models,
      @Reference CompilationCache cache) {
    this.networks = networks;
    this.cache = cache;
    this.models = models;
  }

  /** The command. */
  @Descriptor("how fast a model is here: latency, throughput, compile time")
  public Result bench(
      CommandSession session,
      @Descriptor(
              "MODEL [INPUT...] [--device D] [--vs D2] [--threads N] [--seconds S]"
                  + " [--vs-policy P2] [--preference P] [--priority P] [--fallback F] [--policy P]"
                  + " [--power-budget SHARE] [--sampling RATE] [--mean M --std S] [--cache DIR]"
                  + " [--json];"
                  + " nn:bench --help says more")
          String[] arguments)
      throws UsageException, CommandException {
    Arguments parsed = SYNTAX.parse(arguments);
    Invocation invocation = Invocation.of(session);
    if (parsed.has("help")) {
      return new Help(SYNTAX, invocation.style(parsed));
    }
    int threads = parsed.integer("threads", 1).orElse(1);
    OptionalDouble seconds = parsed.positive("seconds");
    Duration time = Duration.ofNanos(Math.round(seconds.orElse(USUAL_SECONDS) * 1e9));
    Inputs inputs = new Inputs(SYNTAX, parsed.numbers("mean"), parsed.numbers("std"));
    List<CompilationOptions> contenders = new ArrayList<>();
    contenders.add(Compiling.options(parsed));
    Optional<String> other = parsed.text("vs");
    if (other.isPresent()) {
      List<String> devices = Arrays.stream(other.get().split(",")).distinct().toList();
      contenders.add(Compiling.options(parsed).withDevices(devices));
    }
    Optional<String> otherPolicy = parsed.text("vs-policy");
    if (otherPolicy.isPresent()) {
      if (other.isPresent()) {
        throw SYNTAX.usage("give --vs or --vs-policy, not both");
      }
      contenders.add(Compiling.options(parsed).withPolicy(otherPolicy.get()));
    }
    String word = parsed.operands().getFirst();
    List<String> words = parsed.operands().subList(1, parsed.operands().size());
    try (OpenModel model = models.open(word, invocation.path(word));
        Progress progress = Progress.of(invocation)) {
      int wanted = model.model().main().inputIndexes().size();
      List<Tensor> values =
          inputs.read(
              model.loaded().file(),
              words.isEmpty() ? Collections.nCopies(wanted, "random:1") : words,
              invocation);
      Bench bench = new Bench(networks, cache, model.model(), values, threads);
      Optional<CompilationCaching> caching =
          CacheFolder.asked(SYNTAX, parsed, invocation, model.loaded());
      caching.ifPresent(value -> contenders.replaceAll(options -> options.with(value)));
      List<Bench.Figures> figures = run(bench, contenders, time, progress);
      return new BenchResult(
          model.loaded().path().toString(), threads, figures, invocation.style(parsed));
    } catch (NeuralNetworksException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  private static List<Bench.Figures> run(
      Bench bench, List<CompilationOptions> contenders, Duration time, Progress progress)
      throws NeuralNetworksException, CommandException {
    try {
      return bench.run(contenders, time, progress::say);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CommandException("interrupted", e);
    }
  }
}
