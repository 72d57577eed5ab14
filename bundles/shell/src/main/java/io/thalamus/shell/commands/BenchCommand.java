// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.commands;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan.PlannedOperation;
import io.thalamus.api.Tensor;
import io.thalamus.console.Arguments;
import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Progress;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionProfile;
import io.thalamus.shell.execution.Bench;
import io.thalamus.shell.execution.Profiler;
import io.thalamus.shell.model.Models;
import io.thalamus.shell.model.OpenModel;
import io.thalamus.shell.model.ReadChoices;
import io.thalamus.shell.results.BenchResult;
import io.thalamus.shell.results.ProfileResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code nn:bench}: the speed of a model here. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=bench"})
public final class BenchCommand extends Command {
  private static final int MOST_THREADS = 1024;

  private static final Syntax SYNTAX =
      ReadChoices.addTo(
          CacheFolder.addTo(
              CompileOptionsSyntax.addTo(
                  Syntax.of(
                          "nn:bench",
                          "MODEL [INPUT...]",
                          "How fast a model is here: latency, throughput, compile time. Without"
                              + " INPUT, random values are fed.")
                      .offering(Inputs.MODEL, Inputs.FILE)
                      .option("threads", "N", "how many requests run at once (1)")
                      .option("seconds", "S", "how long to measure (3)")
                      .option(
                          "vs",
                          "D2",
                          "the same on another device, by turns, and the ratio",
                          Candidates.of(Kind.DEVICES))
                      .option(
                          "vs-policy",
                          "P2",
                          "the same by another policy, by turns, and the ratio",
                          Candidates.of(Kind.POLICIES))
                      .flag(
                          "profile",
                          null,
                          "the time of each operation on a device that has the whole model, and"
                              + " its share of what a thread could do")
                      .option("mean", "M", "pictures: see nn:run")
                      .option("std", "S", "pictures: see nn:run"))));

  private static final double USUAL_SECONDS = 3;

  private final BundleContext context;
  private final NeuralNetworks networks;
  private final Models models;
  private final CompilationCache cache;

  /** Called by the component runtime. */
  @Activate
  public BenchCommand(
      BundleContext context,
      @Reference NeuralNetworks networks,
      @Reference Models models,
      @Reference CompilationCache cache) {
    super(SYNTAX);
    this.context = context;
    this.networks = networks;
    this.cache = cache;
    this.models = models;
  }

  @Descriptor("how fast a model is here: latency, throughput, compile time")
  public Result bench(
      CommandSession session, @Descriptor("MODEL [INPUT...] " + OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::measure);
  }

  private Result measure(Invocation invocation)
      throws NeuralNetworksException, InterruptedException {
    Arguments arguments = invocation.arguments();
    int threads = (int) arguments.integer("threads", 1, MOST_THREADS).orElse(1);
    Duration time = seconds(arguments, USUAL_SECONDS);
    List<CompilationOptions> contenders = new ArrayList<>();
    CompilationOptions options = CompileOptionsSyntax.options(arguments);
    contenders.add(options);
    arguments.list("vs").ifPresent(devices -> contenders.add(options.withDevices(devices)));
    Optional<String> otherPolicy = arguments.text("vs-policy");
    if (otherPolicy.isPresent()) {
      if (arguments.has("vs")) {
        throw invocation.usage("give --vs or --vs-policy, not both");
      }
      contenders.add(options.withPolicy(otherPolicy.get()));
    }
    try (Inputs inputs = new Inputs(invocation);
        OpenModel model = models.open(invocation);
        Progress progress = invocation.progress()) {
      List<Tensor> values = inputs.readOrRandom(model);
      if (arguments.has("profile")) {
        return profile(invocation, model, values, options, time);
      }
      Optional<CacheOptions> caching = CacheFolder.asked(invocation, model.loaded());
      caching.ifPresent(value -> contenders.replaceAll(contender -> contender.with(value)));
      List<Bench.Figures> figures =
          new Bench(networks, cache, model.model(), values, threads)
              .run(contenders, time, progress::say);
      return new BenchResult(
          model.loaded().path().toString(), threads, figures, invocation.style());
    }
  }

  /**
   * The first device that has all operations: of those that are asked for in their order, else of
   * those of the plan, else of all.
   */
  private Result profile(
      Invocation invocation,
      OpenModel model,
      List<Tensor> values,
      CompilationOptions options,
      Duration time)
      throws NeuralNetworksException {
    Profiler profiler = new Profiler(model.model(), values);
    List<String> wanted = options.devices();
    if (wanted.isEmpty()) {
      wanted =
          Stream.concat(
                  networks.plan(model.model(), options).operations().stream()
                      .map(PlannedOperation::device),
                  networks.devices().stream().map(DeviceDescription::id))
              .distinct()
              .toList();
    }
    List<String> refusals = new ArrayList<>();
    for (String id : wanted) {
      ServiceReference<Device> reference = reference(id);
      Device device = reference == null ? null : context.getService(reference);
      if (device == null) {
        refusals.add(id + " is not here");
        continue;
      }
      try {
        if (!profiler.isWholeOn(device)) {
          refusals.add(id + " does not take all operations");
          continue;
        }
        Optional<ExecutionProfile> told = profiler.profile(device, time);
        if (told.isPresent()) {
          return ProfileResult.of(
              model.loaded().path().toString(),
              id,
              model.model().main(),
              told.get(),
              invocation.style());
        }
        refusals.add(id + " does not tell how long operations take");
      } catch (DeviceException e) {
        refusals.add(id + ": " + e.getMessage());
      } finally {
        context.ungetService(reference);
      }
    }
    throw new CommandException("no device can be profiled: " + String.join("; ", refusals));
  }

  private ServiceReference<Device> reference(String id) {
    try {
      return context.getServiceReferences(Device.class, null).stream()
          .filter(device -> id.equals(device.getProperty(DeviceDriver.NAMESPACE)))
          .findFirst()
          .orElse(null);
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e); // there is no filter
    }
  }

  /** Returns the value of {@code --seconds}. */
  static Duration seconds(Arguments arguments, double usual) {
    return Duration.ofNanos(Math.round(arguments.positive("seconds").orElse(usual) * 1e9));
  }
}
