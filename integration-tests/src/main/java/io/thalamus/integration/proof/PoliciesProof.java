// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Inference;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.Tensor;
import io.thalamus.model.Model;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.ModelCase;
import io.thalamus.vectors.ModelDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * A partition policy against NNAPI's: for each model the time that both plans are expected to take,
 * and the time that they take when run by turns. The other policy must not be slower than noise
 * explains.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=policies")
public final class PoliciesProof extends FrameworkProof {
  private static final String NNAPI = "nnapi";
  private static final double MILLION = 1e6;
  private static final int FEWEST = 5;
  private static final int MOST = 2000;
  private static final double FASTER = 0.95;

  /** A device that never settles must not hold the others up. */
  private static final Duration LONGEST_WARM_UP = Duration.ofMinutes(1);

  private final NeuralNetworks networks;
  private final BundleContext context;

  /** One plan while it is measured. Used by one thread. */
  private static final class Contender implements AutoCloseable {
    private final Compilation compilation;
    private final Inference inference;
    private final List<Long> nanos = new ArrayList<>();
    private double best = Double.MAX_VALUE;
    private long last;

    Contender(Compilation compilation) {
      this.compilation = compilation;
      this.inference = new Inference(compilation, this::compute);
    }

    private ExecutionReport compute(Execution execution) {
      long start = System.nanoTime();
      ExecutionReport report = execution.compute();
      last = System.nanoTime() - start;
      return report;
    }

    /** Executes once, and returns the time that it took. */
    long execute(List<Tensor> inputs) throws NeuralNetworksException {
      inference.run(inputs);
      return last;
    }

    /** Returns true if this is plainly less than any time before. */
    boolean isFaster(long time) {
      if (time > FASTER * best) {
        return false;
      }
      best = time;
      return true;
    }

    /** The time in the middle. */
    double median() {
      long[] sorted = nanos.stream().mapToLong(Long::longValue).sorted().toArray();
      return sorted[sorted.length / 2];
    }

    @Override
    public void close() {
      compilation.close();
    }
  }

  @Activate
  public PoliciesProof(@Reference NeuralNetworks networks, BundleContext context) {
    this.networks = networks;
    this.context = context;
  }

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    String folder = settings.text("dir", ConformanceData.models().map(Path::toString).orElse(""));
    Set<String> devices = words(settings.text("device", ""));
    Set<String> wanted = words(settings.text("models", ""));
    String policy = settings.text("policy", "search");
    Duration measure = Duration.ofMillis(settings.number("measure", 30_000));
    Duration settled = Duration.ofMillis(settings.number("settled", 15_000));
    Duration time = Duration.ofMillis(settings.number("millis", 2000));
    double noise = settings.number("noise", 10) / 100.0;
    settings.end();
    if (folder.isEmpty()) {
      figures.figure("skipped", "there is no folder shared/models; name one with --dir");
      return;
    }
    figures.figure("dir", folder);
    install(devices);
    CompilationOptions options = CompilationOptions.DEFAULT.withDevices(List.copyOf(devices));
    int compared = 0;
    int changed = 0;
    double product = 1;
    for (ModelDirectory directory : ModelDirectory.readAll(Path.of(folder))) {
      String name = directory.name();
      if (!wanted.isEmpty() && !wanted.contains(name)) {
        continue;
      }
      try (LoadedModel loaded = networks.load(directory.model())) {
        List<Tensor> inputs = inputs(directory, loaded.model());
        networks.measure(loaded.model(), options, measure);
        try (Contender nnapi = contender(loaded, options.withPolicy(NNAPI));
            Contender other = contender(loaded, options.withPolicy(policy))) {
          boolean differs =
              !nnapi.compilation.plan().steps().equals(other.compilation.plan().steps());
          warmUp(inputs, List.of(nnapi, other), settled);
          byTurns(inputs, List.of(nnapi, other), time);
          double ratio = other.median() / nnapi.median();
          if (differs && ratio > 1 + noise) {
            // Once more, for longer: what was noise goes away.
            byTurns(inputs, List.of(nnapi, other), time.multipliedBy(2));
            ratio = other.median() / nnapi.median();
          }
          tell(name, NNAPI, nnapi, figures);
          tell(name, policy, other, figures);
          figures.decimal(name + ".ratio", ratio);
          compared++;
          if (differs) {
            changed++;
            product *= ratio;
            figures.promise(
                name + " is slower with " + policy + " than noise explains: " + ratio,
                ratio <= 1 + noise);
          } else {
            figures.figure(name + ".samePlan", "true");
          }
        }
      } catch (NeuralNetworksException e) {
        figures.figure(name + ".refused", e.code() + " " + e.getMessage());
      }
    }
    figures.figure("models", compared);
    figures.figure("otherPlans", changed);
    figures.decimal("meanRatioOfOtherPlans", changed == 0 ? 1 : Math.pow(product, 1.0 / changed));
  }

  /** Devices of the distribution that are named and not started by themselves. */
  private void install(Set<String> devices) throws BundleException, IOException {
    Path home = Path.of(context.getProperty("thalamus.home"));
    for (String device : devices) {
      Path jar = home.resolve("devices/io.thalamus." + device + ".jar");
      if (Files.exists(jar)
          && networks.devices().stream().noneMatch(here -> here.id().equals(device))) {
        new Bundles(context).install("proof:" + device, Files.newInputStream(jar));
      }
    }
  }

  private static Set<String> words(String list) {
    return list.isEmpty() ? Set.of() : new TreeSet<>(List.of(list.split(",")));
  }

  private Contender contender(LoadedModel loaded, CompilationOptions options)
      throws NeuralNetworksException {
    return new Contender(networks.compile(loaded.model(), options));
  }

  /** Executes by turns until neither got faster for a while: the JVM compiles kernels late. */
  private static void warmUp(List<Tensor> inputs, List<Contender> contenders, Duration settled)
      throws NeuralNetworksException {
    long begin = System.nanoTime();
    long faster = begin;
    for (long now = begin;
        now - faster < settled.toNanos() && now - begin < LONGEST_WARM_UP.toNanos();
        now = System.nanoTime()) {
      for (Contender contender : contenders) {
        if (contender.isFaster(contender.execute(inputs))) {
          faster = System.nanoTime();
        }
      }
    }
  }

  /** Executes one, then the other, until the time is over. */
  private static void byTurns(List<Tensor> inputs, List<Contender> contenders, Duration time)
      throws NeuralNetworksException {
    long end = System.nanoTime() + time.toNanos();
    contenders.forEach(each -> each.nanos.clear());
    for (int run = 0; run < MOST && (run < FEWEST || System.nanoTime() - end < 0); run++) {
      for (Contender contender : contenders) {
        contender.nanos.add(contender.execute(inputs));
      }
    }
  }

  private static List<Tensor> inputs(ModelDirectory directory, Model model)
      throws IOException, NeuralNetworksException {
    List<Tensor> inputs = new ArrayList<>();
    for (ModelCase.Input input : directory.cases().getFirst().inputs()) {
      inputs.add(Tensor.of(model.main().input(inputs.size()), input.tensor().read(0)));
    }
    return inputs;
  }

  private static void tell(String name, String policy, Contender contender, Figures figures) {
    Plan plan = contender.compilation.plan();
    String key = name + "." + policy;
    Map<String, Integer> where = new TreeMap<>();
    plan.operations().forEach(operation -> where.merge(operation.device(), 1, Integer::sum));
    figures.figure(
        key + ".plan",
        plan.steps().size()
            + " steps: "
            + where.entrySet().stream()
                .map(entry -> entry.getValue() + " on " + entry.getKey())
                .collect(Collectors.joining(", ")));
    figures.decimal(key + ".expectedMillis", plan.prediction().nanos() / MILLION);
    figures.decimal(key + ".measuredMillis", contender.median() / MILLION);
  }
}
