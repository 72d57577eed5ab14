// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.model.Priority;
import io.thalamus.vectors.ConformanceData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * A model of high priority is due at a steady rate while threads saturate its device with a model
 * of low priority: how much longer it takes than on the idle device, and what is left to the
 * others. Then one client floods the device at high priority, and another one wants half of it at
 * low priority. No execution may fail or be wrong; times are promised only where {@code --timed} is
 * 1. The simulated accelerator has a proof by its own clock; by that of its host, and of a device
 * in a process of its own, only the shares of two clients are promised.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=priorities")
public final class PrioritiesProof extends FrameworkProof {
  private static final double PER_MICRO = 1e3;
  private static final double LEAST_KEPT = 0.8;

  /** Of so many executions the slowest one is looked at. */
  private static final int SLOWEST = 50;

  /** Executions in a window that are enough to count by whole ones. */
  private static final int ENOUGH = 50;

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final long PAUSE_MILLIS = 10;
  private static final Path SCHEDULED = Path.of("/proc/thread-self/schedstat");

  private static final double LEAST_SHARE = 0.45;
  private static final double MOST_SHARE = 0.55;

  private final BundleContext context;
  private final NeuralNetworks networks;
  private final AtomicInteger failed = new AtomicInteger();
  private final AtomicInteger wrong = new AtomicInteger();

  @Activate
  public PrioritiesProof(BundleContext context, @Reference NeuralNetworks networks) {
    this.context = context;
    this.networks = networks;
  }

  private record Plan(
      String device, int threads, Duration every, int windows, Duration window, double most) {}

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    String device = settings.text("device", "simd");
    Plan plan =
        new Plan(
            device,
            Math.toIntExact(settings.number("threads", 8)),
            Duration.ofMillis(settings.number("every", 20)),
            Math.toIntExact(settings.number("windows", 5)),
            Duration.ofMillis(settings.number("millis", 5000)),
            settings.number("most", 200) / 100.0);
    boolean isTimed = settings.number("timed", 1) != 0;
    String folder = settings.text("dir", ConformanceData.models().map(Path::toString).orElse(""));
    String high = settings.text("high", "kws_dscnn_int8");
    String low = settings.text("low", "mobilenet_v2_100_224_uint8");
    boolean isIsolated = settings.number("isolated", 0) != 0;
    settings.end();
    Bundles bundles = new Bundles(context);
    Bundle installed = install(bundles, device, isIsolated);
    try (Workload urgent = Workloads.of(networks, context, high, folder, figures).getFirst();
        Workload other = low(plan, low, folder, figures)) {
      boolean isBound = isTimed && !isIsolated && !device.equals("npu");
      urgency(plan, urgent, other, isBound, figures);
      fairness(plan, urgent, isTimed, figures);
    }
    figures.figure("failed", failed);
    figures.figure("wrong", wrong);
    figures.promise("no execution fails", failed.get() == 0);
    figures.promise("no result is wrong", wrong.get() == 0);
    if (installed != null) {
      bundles.uninstall(installed);
    }
  }

  /** Installs a device that is not there, or not in a process of its own; returns null if it is. */
  private Bundle install(Bundles bundles, String device, boolean isIsolated) throws Exception {
    Optional<Bundle> present = bundles.find("io.thalamus." + device);
    if (present.isPresent()) {
      if (!isIsolated) {
        return null;
      }
      bundles.uninstall(present.get());
    }
    Path home = Path.of(String.valueOf(context.getProperty("thalamus.home")));
    Path jar = home.resolve("devices/io.thalamus." + device + ".jar");
    String location = (isIsolated ? DeviceDriver.ISOLATED_LOCATION : "proof:") + device;
    Bundle installed = bundles.install(location, Files.newInputStream(jar));
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (networks.devices().stream().noneMatch(found -> found.id().equals(device))) {
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException(device + " does not come within " + PATIENCE);
      }
      Thread.sleep(PAUSE_MILLIS);
    }
    return installed;
  }

  private Workload low(Plan plan, String name, String folder, Figures figures) throws Exception {
    return name.equals("convolution")
        ? new Workload(networks, LongConvolution.of(networks, options(plan, Priority.LOW), figures))
        : Workloads.of(networks, context, name, folder, figures).getFirst();
  }

  private CompilationOptions options(Plan plan, Priority priority) {
    return CompilationOptions.DEFAULT.withDevices(List.of(plan.device(), "cpu")).with(priority);
  }

  /**
   * Executions in one window, in nanoseconds.
   *
   * @param late how long after it was due each was called: what the system let its thread wait
   * @param taken how long each call took
   * @param run how long the device computed for it
   * @param off how long of the call its thread could have gone on, had it had a processor
   */
  private record Window(long[] late, long[] taken, long[] run, long[] off) {
    static Window of(int count) {
      return new Window(new long[count], new long[count], new long[count], new long[count]);
    }

    /**
     * Returns the times without computing: the waits for permits and processors, and the call
     * itself.
     */
    long[] waited() {
      long[] waited = new long[taken.length];
      Arrays.setAll(waited, i -> taken[i] - run[i]);
      return waited;
    }
  }

  /** A part of the time of a call. */
  private enum Part {
    TAKEN("", Window::taken),
    WAITED(".waited", Window::waited),
    RUN(".run", Window::run),
    OFF(".off", Window::off);

    private final String suffix;
    private final Function<Window, long[]> of;

    Part(String suffix, Function<Window, long[]> of) {
      this.suffix = suffix;
      this.of = of;
    }
  }

  /** Windows without work, with low work alone and with both, in turns. */
  private void urgency(Plan plan, Workload urgent, Workload other, boolean isBound, Figures figures)
      throws Exception {
    List<Window> idle = new ArrayList<>();
    List<Window> loaded = new ArrayList<>();
    List<Double> alone = new ArrayList<>();
    List<Double> beside = new ArrayList<>();
    try (Compilation high = urgent.compile(options(plan, Priority.HIGH));
        Compilation low = other.compile(options(plan, Priority.LOW))) {
      warmUp(plan, urgent, high);
      warmUp(plan, other, low);
      for (int window = 0; window < plan.windows(); window++) {
        idle.add(due(plan, urgent, high));
        alone.add(saturate(plan, other, low, () -> Thread.sleep(plan.window())));
        beside.add(saturate(plan, other, low, () -> loaded.add(due(plan, urgent, high))));
      }
    }
    figures.figure("windows", plan.windows());
    figures.figure("high.samplesPerWindow", idle.getFirst().taken().length);
    tell("high.idle", idle, figures);
    tell("high.loaded", loaded, figures);
    double ratio =
        median(percentiles(loaded, Window::taken, 99))
            / median(percentiles(idle, Window::taken, 99));
    figures.decimal("high.p99.loadedOverIdle", ratio);
    double share = median(percentiles(idle, Window::taken, 50)) / plan.every().toNanos();
    double kept = median(beside) / (median(alone) * (1 - share));
    figures.decimal("low.alone.perSecond", median(alone));
    figures.decimal("low.beside.perSecond", median(beside));
    figures.decimal("high.shareOfTime", share);
    figures.decimal("low.keptOfWhatHighLeaves", kept);
    if (isBound) {
      figures.promise(
          "99 of 100 high ones take at most "
              + plan.most()
              + " times as long as on the idle device",
          ratio <= plan.most());
    }
    if (isBound && median(alone) * plan.window().toMillis() / 1e3 >= ENOUGH) {
      figures.promise(
          "low ones keep " + LEAST_KEPT + " of what high ones leave", kept >= LEAST_KEPT);
    }
  }

  private void warmUp(Plan plan, Workload workload, Compilation compilation) {
    long end = System.nanoTime() + plan.window().toNanos();
    for (int i = 0; System.nanoTime() - end < 0; i++) {
      execute(workload, compilation, i);
    }
  }

  private Workload.Answer execute(Workload workload, Compilation compilation, int request) {
    Workload.Answer answer = workload.run(compilation, request);
    if (!answer.report().isSuccess()) {
      failed.incrementAndGet();
    } else if (!answer.isRight()) {
      wrong.incrementAndGet();
    }
    return answer;
  }

  private Window due(Plan plan, Workload workload, Compilation compilation) {
    int count = Math.toIntExact(plan.window().dividedBy(plan.every()));
    Window times = Window.of(count);
    long start = System.nanoTime();
    for (int i = 0; i < count; i++) {
      long due = start + i * plan.every().toNanos();
      for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
      long begin = System.nanoTime();
      long off = offNanos();
      long called = System.nanoTime();
      Workload.Answer answer = execute(workload, compilation, i);
      times.taken()[i] = System.nanoTime() - called;
      times.off()[i] = offNanos() - off;
      times.late()[i] = begin - due;
      times.run()[i] = nanos(plan, answer);
    }
    return times;
  }

  /**
   * Returns for how long this thread was ready to go on and had no processor, as Linux counts it; 0
   * where that is not known.
   */
  private static long offNanos() {
    try {
      return Long.parseLong(Files.readString(SCHEDULED).split(" ")[1]);
    } catch (IOException e) {
      return 0;
    }
  }

  /** Work during which others keep the device busy. */
  @FunctionalInterface
  private interface Work {
    void run() throws Exception;
  }

  /** Returns how many executions a second many threads did meanwhile. */
  private double saturate(Plan plan, Workload workload, Compilation compilation, Work meanwhile)
      throws Exception {
    LongAdder done = new LongAdder();
    long start = System.nanoTime();
    try (Threads threads = new Threads()) {
      for (int i = 0; i < plan.threads(); i++) {
        threads.repeat(
            request -> {
              execute(workload, compilation, request);
              done.increment();
            });
      }
      meanwhile.run();
      return done.sum() * 1e9 / (System.nanoTime() - start);
    }
  }

  /** Two clients of this application, of which one floods the device at high priority. */
  private void fairness(Plan plan, Workload workload, boolean isTimed, Figures figures)
      throws Exception {
    LongAdder flooding = new LongAdder();
    LongAdder modest = new LongAdder();
    try (Compilation flood = workload.compile(options(plan, Priority.HIGH).withClient("flooding"));
        Compilation few = workload.compile(options(plan, Priority.LOW).withClient("modest"));
        Threads threads = new Threads()) {
      for (int i = 0; i < plan.threads(); i++) {
        threads.repeat(request -> flooding.add(nanos(plan, execute(workload, flood, request))));
        if (i < plan.threads() / 2) {
          threads.repeat(request -> modest.add(nanos(plan, execute(workload, few, request))));
        }
      }
      Thread.sleep(plan.window());
      flooding.reset();
      modest.reset();
      Thread.sleep(plan.window().multipliedBy(plan.windows()));
    }
    double share = modest.sum() / (double) Math.max(1, modest.sum() + flooding.sum());
    figures.decimal("fair.shareOfLowClient", share);
    if (isTimed) {
      figures.promise(
          "a client at low priority gets half of a device that another one floods",
          share >= LEAST_SHARE && share <= MOST_SHARE);
    }
  }

  /** Returns how long a device worked for an execution. */
  private static long nanos(Plan plan, Workload.Answer answer) {
    return answer.report().steps().stream()
        .filter(step -> step.device().equals(plan.device()))
        .map(StepReport::duration)
        .mapToLong(Duration::toNanos)
        .sum();
  }

  private static void tell(String name, List<Window> windows, Figures figures) {
    tell(name + ".late", windows, Window::late, figures);
    for (Part part : Part.values()) {
      tell(name + part.suffix, windows, part.of, figures);
    }
    slowest(name, windows, figures);
  }

  private static void tell(
      String name, List<Window> windows, Function<Window, long[]> times, Figures figures) {
    for (int percent : new int[] {50, 90, 99}) {
      List<Double> all = percentiles(windows, times, percent);
      figures.decimal(name + ".p" + percent + ".medianMicros", median(all) / PER_MICRO);
      figures.decimal(
          name + ".p" + percent + ".worstMicros",
          all.stream().mapToDouble(Double::doubleValue).max().orElse(0) / PER_MICRO);
    }
  }

  /** Tells what the slowest two of a hundred took their time for, in the mean. */
  private static void slowest(String name, List<Window> windows, Figures figures) {
    long[] sums = new long[Part.values().length];
    int count = 0;
    for (Window window : windows) {
      List<Integer> order =
          IntStream.range(0, window.taken().length)
              .boxed()
              .sorted(Comparator.comparingLong(i -> -window.taken()[i]))
              .limit(Math.ceilDiv(window.taken().length, SLOWEST))
              .toList();
      for (int i : order) {
        for (Part part : Part.values()) {
          sums[part.ordinal()] += part.of.apply(window)[i];
        }
      }
      count += order.size();
    }
    for (Part part : Part.values()) {
      figures.decimal(
          name + ".slowest" + part.suffix + ".meanMicros",
          sums[part.ordinal()] / PER_MICRO / count);
    }
  }

  /** Returns a percentile of each window. */
  private static List<Double> percentiles(
      List<Window> windows, Function<Window, long[]> times, int percent) {
    return windows.stream()
        .map(
            window -> {
              long[] sorted = LongStream.of(times.apply(window)).sorted().toArray();
              return (double) sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
            })
        .toList();
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    return sorted.get(sorted.size() / 2);
  }

  /** Threads that repeat something until they are closed. Used by one thread. */
  private static final class Threads implements AutoCloseable {
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isOver;

    void repeat(IntConsumer work) {
      threads.add(
          Thread.ofPlatform()
              .name("proof-priorities-" + threads.size())
              .start(
                  () -> {
                    for (int request = 0; !isOver; request++) {
                      work.accept(request);
                    }
                  }));
    }

    @Override
    public void close() {
      isOver = true;
      try {
        for (Thread thread : threads) {
          thread.join();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
