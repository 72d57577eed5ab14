// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstInfo;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * One burst executes frame after frame on a device and the CPU device while the device is updated
 * again and again: no frame may fail or be wrong, what servers have read must be what was sent,
 * each step that was not sent must have a reason, and nothing of the old bundles may be left.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=bursts")
public final class BurstsProof extends FrameworkProof {
  private static final long LOOK_MILLIS = 5;

  private final BundleContext context;
  private final NeuralNetworks networks;

  @Activate
  public BurstsProof(BundleContext context, @Reference NeuralNetworks networks) {
    this.context = context;
    this.networks = networks;
  }

  private record Plan(String device, Path jar, int frames, int updates, int depth) {}

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    String device = settings.text("device", "npu");
    String home = String.valueOf(context.getProperty("thalamus.home"));
    Plan plan =
        new Plan(
            device,
            Path.of(settings.text("jar", home + "/devices/io.thalamus." + device + ".jar")),
            Math.toIntExact(settings.number("frames", 10_000)),
            Math.toIntExact(settings.number("updates", 20)),
            Math.toIntExact(settings.number("depth", 2)));
    String folder = settings.text("dir", ConformanceData.models().map(Path::toString).orElse(""));
    String name = settings.text("model", "kws_dscnn_int8");
    settings.end();
    try (Workload workload = Workloads.of(networks, context, name, folder, figures).getFirst()) {
      prove(plan, workload, figures);
    }
  }

  private void prove(Plan plan, Workload workload, Figures figures) throws Exception {
    Bundles bundles = new Bundles(context);
    long start = System.nanoTime();
    Bundle bundle =
        bundles.install("proof:" + plan.device() + ":bursts", Files.newInputStream(plan.jar()));
    CompilationOptions options =
        CompilationOptions.DEFAULT.withDevices(List.of("cpu", plan.device()));
    try (Compilation compilation = workload.compile(options);
        Burst burst = compilation.createBurst(BurstOptions.DEFAULT.withDepth(plan.depth()))) {
      Frames frames = new Frames(workload, compilation, burst, plan);
      try (frames) {
        frames.start();
        for (int update = 1; update <= plan.updates(); update++) {
          frames.await((int) ((long) plan.frames() * update / (plan.updates() + 1)));
          bundles.update(bundle, Files.newInputStream(plan.jar()));
        }
        frames.await(plan.frames());
      }
      figures.decimal("seconds", (System.nanoTime() - start) / 1e9);
      frames.tell(figures);
    }
    bundles.uninstall(bundle);
    new Leftovers(context).tell(List.of(plan.device()), bundles, figures);
  }

  /** The frames, by as many threads as the burst is deep. Owns the threads. */
  private static final class Frames implements AutoCloseable {
    private final Workload workload;
    private final Compilation compilation;
    private final Burst burst;
    private final Plan plan;
    private final List<Thread> threads = new ArrayList<>();
    private final AtomicInteger next = new AtomicInteger();
    private final AtomicInteger done = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();
    private final AtomicInteger wrong = new AtomicInteger();
    private final AtomicInteger onDevice = new AtomicInteger();
    private volatile String failure = "";

    Frames(Workload workload, Compilation compilation, Burst burst, Plan plan) {
      this.workload = workload;
      this.compilation = compilation;
      this.burst = burst;
      this.plan = plan;
    }

    void start() {
      for (int i = 0; i < plan.depth(); i++) {
        threads.add(Thread.ofPlatform().name("proof-frames-" + i).start(this::execute));
      }
    }

    private void execute() {
      for (int frame = next.getAndIncrement();
          frame < plan.frames() && !Thread.currentThread().isInterrupted();
          frame = next.getAndIncrement()) {
        List<byte[]> outputs = workload.buffers();
        ExecutionReport report =
            workload.execution(compilation, workload.input(frame), outputs).burstCompute(burst);
        if (!report.isSuccess()) {
          failed.incrementAndGet();
          failure = report.code() + " " + report.message();
        } else if (!workload.isRight(frame, outputs)) {
          wrong.incrementAndGet();
        }
        if (report.steps().stream().anyMatch(step -> step.device().equals(plan.device()))) {
          onDevice.incrementAndGet();
        }
        done.incrementAndGet();
      }
    }

    void await(int frames) throws InterruptedException {
      while (done.get() < frames) {
        Thread.sleep(LOOK_MILLIS);
      }
    }

    void tell(Figures figures) {
      BurstInfo info = burst.describe();
      figures.figure("frames", done.get());
      figures.figure("updates", plan.updates());
      figures.figure("failed", failed.get() + (failure.isEmpty() ? "" : ": " + failure));
      figures.figure("wrong", wrong.get());
      figures.decimal("share." + plan.device(), (double) onDevice.get() / done.get());
      figures.figure("sent", info.sent());
      figures.figure("readByServers", info.received());
      figures.figure("fallbacks", info.fallbackCount());
      info.fallbacks().forEach((reason, count) -> figures.figure("fallbacks." + reason, count));
      figures.promise("no frame failed", failed.get() == 0);
      figures.promise("no frame was wrong", wrong.get() == 0);
      figures.promise("frames ran on " + plan.device(), onDevice.get() > 0);
      figures.promise("every frame was executed by the burst", info.executions() == plan.frames());
      figures.promise("servers have read no more than was sent", info.received() <= info.sent());
      figures.promise(
          "each step that was not sent has a reason",
          info.fallbacks().keySet().stream().noneMatch(String::isBlank));
    }

    @Override
    public void close() {
      threads.forEach(Thread::interrupt);
      for (Thread thread : threads) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }
}
