// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.model.Subgraph;
import io.thalamus.npu.NpuActivity;
import io.thalamus.npu.NpuConfig;
import io.thalamus.npu.NpuDevice;
import io.thalamus.npu.NpuPreparedModel;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ConformanceData;
import io.thalamus.vectors.ModelDirectory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.FutureTask;

/**
 * The accelerator while threads keep it busy with a large model of low priority and a small one of
 * high priority comes at a steady rate, beside the same on the idle accelerator, in windows that
 * take turns. All times are those of the device's own clock: from the arrival of an execution at
 * the device to its end. By the clock of the host, which simulates both models, they say nothing.
 */
final class NpuPreemption implements Proof {
  private static final int TILINGS = 16;
  private static final double MOST = 1.5;
  private static final double LEAST_KEPT = 0.8;
  private static final int RARE = 99;

  private record Plan(int windows, int samples, Duration every, int threads, boolean isTimed) {}

  @Override
  public String name() {
    return "npu-priorities";
  }

  @Override
  public String purpose() {
    return "a model of high priority on the saturated accelerator, by its own clock (--dir DIR"
        + " --high kws_dscnn_int8 --low mobilenet_v2_100_224_uint8 --threads 8 --every 20"
        + " --windows 5 --samples 150 --seed 1 --timed 1)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    String directory = settings.text("dir", "");
    String high = settings.text("high", "kws_dscnn_int8");
    String low = settings.text("low", "mobilenet_v2_100_224_uint8");
    Plan plan =
        new Plan(
            Math.toIntExact(settings.number("windows", 5)),
            Math.toIntExact(settings.number("samples", 150)),
            Duration.ofMillis(settings.number("every", 20)),
            Math.toIntExact(settings.number("threads", 8)),
            settings.number("timed", 1) != 0);
    long seed = settings.number("seed", 1);
    settings.end();
    Optional<Path> folder =
        directory.isEmpty() ? ConformanceData.models() : Optional.of(Path.of(directory));
    if (folder.isEmpty()) {
      figures.figure("npu-priorities", "skipped, since there is no folder shared/models");
      return;
    }
    NpuConfig config = NpuConfig.standard().withSearch(TILINGS, true, seed);
    try (NpuDevice device = new NpuDevice("0.1.0", config);
        Loaded urgent = load(device, folder.get().resolve(high), Priority.HIGH, seed);
        Loaded other = load(device, folder.get().resolve(low), Priority.LOW, seed)) {
      run(plan, device, urgent, other, figures);
    }
  }

  private static void run(Plan plan, NpuDevice device, Loaded urgent, Loaded other, Figures figures)
      throws Exception {
    List<Long> usual = new ArrayList<>();
    List<Long> idle = new ArrayList<>();
    List<Long> loaded = new ArrayList<>();
    long executions = 0;
    long useful = 0;
    long left = 0;
    for (int window = 0; window < plan.windows(); window++) {
      List<Long> undisturbed = due(plan, urgent);
      usual.add(median(undisturbed));
      idle.add(rare(undisturbed));
      NpuActivity before = device.activity();
      try (Background background = new Background(plan.threads(), other)) {
        loaded.add(rare(due(plan, urgent)));
        executions += background.stop();
      }
      NpuActivity after = device.activity();
      // The rest of the clock is the urgent model's.
      long forLow =
          after.workedNanos()
              - before.workedNanos()
              - plan.samples() * urgent.prepared.report().nanos();
      left += forLow;
      useful +=
          forLow
              - (after.contextNanos() - before.contextNanos())
              - (after.lostNanos() - before.lostNanos());
    }
    NpuActivity activity = device.activity();
    figures.figure("windows", plan.windows());
    figures.figure("high.samplesPerWindow", plan.samples());
    // An idle device raises its supply first, which a busy one has done already.
    figures.decimal("high.work.micros", urgent.prepared.report().nanos() / 1e3);
    figures.decimal("high.idle.p50.medianMicros", median(usual) / 1e3);
    figures.decimal("high.idle.p99.medianMicros", median(idle) / 1e3);
    figures.decimal("high.loaded.p99.medianMicros", median(loaded) / 1e3);
    // Rare ones on the idle device, whose clock goes with the host's, tell of the host.
    double ratio = median(loaded) / (double) median(usual);
    figures.decimal("high.p99.loadedOverUsualIdle", ratio);
    figures.figure("low.executions", executions);
    double kept = useful / (double) left;
    figures.decimal("low.keptOfWhatHighLeaves", kept);
    figures.figure("resumed", activity.resumed());
    figures.figure("restarted", activity.restarted());
    figures.decimal("context.micros", activity.contextNanos() / 1e3);
    figures.decimal("lost.micros", activity.lostNanos() / 1e3);
    if (plan.isTimed()) {
      figures.promise(
          "99 of 100 high ones take at most "
              + MOST
              + " times as long as is usual on the idle device",
          ratio <= MOST);
      figures.promise(
          "low ones keep " + LEAST_KEPT + " of what high ones leave", kept >= LEAST_KEPT);
    }
    figures.promise("high ones put low ones aside", activity.resumed() + activity.restarted() > 0);
  }

  /** Executions at a steady rate of the host's clock, in nanoseconds of the device's. */
  private static List<Long> due(Plan plan, Loaded urgent) throws InterruptedException {
    List<Long> taken = new ArrayList<>();
    try (TestRequest request = urgent.request()) {
      for (int i = 0; i < plan.samples(); i++) {
        Thread.sleep(plan.every());
        urgent.execute(request, ExecutionControl.NONE);
        taken.add(urgent.prepared.latestNanos());
      }
    }
    return taken;
  }

  private static long rare(List<Long> times) {
    return times.stream().sorted().toList().get(times.size() * RARE / 100);
  }

  private static long median(List<Long> times) {
    return times.stream().sorted().toList().get(times.size() / 2);
  }

  private static Loaded load(NpuDevice device, Path directory, Priority priority, long seed)
      throws Exception {
    try (SharedMemory file = SharedMemory.map(ModelDirectory.read(directory).model())) {
      Model model = new TfliteReader().read(file).model();
      byte[] input = new byte[Math.toIntExact(model.main().input(0).byteSize())];
      new Random(seed).nextBytes(input);
      Loaded loaded =
          new Loaded(
              (NpuPreparedModel) device.prepare(model, PrepareConfig.DEFAULT.with(priority)),
              model.main(),
              input,
              new ArrayList<>());
      try (TestRequest request = loaded.request()) {
        loaded.execute(request, ExecutionControl.NONE);
        loaded.expected.addAll(request.results());
      }
      return loaded;
    }
  }

  /** A prepared model, the graph that its requests name, its input, and the outputs for that. */
  private record Loaded(
      NpuPreparedModel prepared, Subgraph graph, byte[] input, List<byte[]> expected)
      implements AutoCloseable {
    TestRequest request() {
      return TestRequest.of(graph, input);
    }

    /** Executes, and returns false if the control ended that. */
    boolean execute(TestRequest request, ExecutionControl control) {
      if (!(prepared.execute(request.request(), ExecutionConfig.DEFAULT.with(control))
          instanceof Completed)) {
        if (control.status() != Signal.CONTINUE) {
          return false;
        }
        throw new IllegalStateException("an execution failed");
      }
      for (int i = 0; i < expected.size(); i++) {
        if (!Arrays.equals(expected.get(i), request.output(i))) {
          throw new IllegalStateException("an execution that was put aside is wrong");
        }
      }
      return true;
    }

    @Override
    public void close() {
      prepared.close();
    }
  }

  /** Threads that execute a model over and over until they are stopped. */
  private static final class Background implements AutoCloseable {
    private final List<FutureTask<Integer>> tasks = new ArrayList<>();
    private volatile boolean isOver;

    Background(int threads, Loaded model) {
      ExecutionControl control = () -> isOver ? Signal.CANCELLED : Signal.CONTINUE;
      for (int i = 0; i < threads; i++) {
        FutureTask<Integer> task = new FutureTask<>(() -> repeat(model, control));
        tasks.add(task);
        Thread.ofPlatform().name("proof-low-" + i).start(task);
      }
    }

    private static int repeat(Loaded model, ExecutionControl control) {
      int executions = 0;
      try (TestRequest request = model.request()) {
        while (model.execute(request, control)) {
          executions++;
        }
      }
      return executions;
    }

    /** Ends the threads, and returns how many executions they finished. */
    int stop() throws Exception {
      isOver = true;
      int executions = 0;
      for (FutureTask<Integer> task : tasks) {
        executions += task.get();
      }
      return executions;
    }

    @Override
    public void close() {
      isOver = true;
    }
  }
}
