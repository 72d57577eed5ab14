// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.NeuralNetworks;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import org.apache.felix.service.command.CommandProcessor;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * A state that stays on a device from one execution to the next: while the device's bundle is
 * updated, it moves, and no bit of it changes; when the device has faults, it is right, or said to
 * be unavailable by name, and never anything else. Between the two many threads send requests with
 * guarded arguments.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=memory")
public final class MemoryProof extends FrameworkProof {
  private static final long PATIENCE_MILLIS = 30_000;
  private static final int STEPS_PER_FAULT = 4;
  private static final long MOST_GROWTH = 2 << 20;

  private final BundleContext context;
  private final NeuralNetworks networks;
  private final CommandProcessor gogo;

  @Activate
  public MemoryProof(
      BundleContext context, @Reference NeuralNetworks networks, @Reference CommandProcessor gogo) {
    this.context = context;
    this.networks = networks;
    this.gogo = gogo;
  }

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    String device = settings.text("device", "npu");
    String home = String.valueOf(context.getProperty("thalamus.home"));
    Path jar = Path.of(settings.text("jar", home + "/devices/io.thalamus." + device + ".jar"));
    int executions = Math.toIntExact(settings.number("executions", 1000));
    int updates = Math.toIntExact(settings.number("updates", 20));
    int faults = Math.toIntExact(settings.number("faults", device.equals("npu") ? 100 : 0));
    long seed = settings.number("seed", 1);
    long requests = settings.number("requests", 100_000);
    int threads = Math.toIntExact(settings.number("threads", 8));
    long millis = settings.number("millis", 0);
    settings.end();
    Bundles bundles = new Bundles(context);
    Bundle bundle = install(bundles, device, jar);
    awaitServing(device);
    figures.figure("seed", seed);
    try {
      updated(bundles, bundle, jar, device, executions, updates, seed, figures);
      guarded(device, threads, requests, millis, seed, figures);
      if (faults > 0) {
        withFaults(device, faults, seed, figures);
      }
    } finally {
      bundles.uninstall(bundle);
    }
    figures.promise("no memory is left", networks.memories().isEmpty());
    bundle = null; // or it would hold its class loader
    new Leftovers(context).tell(List.of(device), bundles, figures);
  }

  /** Installs a device, in place of the one that the framework may have started. */
  private static Bundle install(Bundles bundles, String device, Path jar) throws Exception {
    Optional<Bundle> started = bundles.find("io.thalamus." + device);
    if (started.isPresent()) {
      bundles.uninstall(started.get());
    }
    return bundles.install("proof:" + device, Files.newInputStream(jar));
  }

  private void updated(
      Bundles bundles,
      Bundle bundle,
      Path jar,
      String device,
      int executions,
      int updates,
      long seed,
      Figures figures)
      throws Exception {
    try (StatefulRun run = new StatefulRun(networks, List.of(device, "cpu"), seed)) {
      int every = Math.max(1, executions / (updates + 1));
      for (int i = 1; i <= executions; i++) {
        run.step();
        if (i % every == 0 && i / every <= updates) {
          bundles.update(bundle, Files.newInputStream(jar));
          awaitServing(device);
          awaitPlanned(run);
        }
      }
      figures.figure("updates", updates);
      figures.figure("updated.executions", run.executions());
      figures.figure("updated.stateOnDeviceOnly", run.onDevice());
      figures.figure("updated.failed", run.failed());
      figures.figure("updated.dead", run.dead());
      figures.figure("updated.wrong", run.wrong());
      figures.promise("no execution failed: " + run.lastMessage(), run.failed() + run.dead() == 0);
      figures.promise("all bits are those of the CPU device", run.wrong() == 0);
      figures.promise("the state is that of the CPU device", run.isStateRight());
      figures.promise("the state stayed on the device", run.onDevice() >= executions / 2);
    }
  }

  private void withFaults(String device, int count, long seed, Figures figures) throws Exception {
    Faults faults = new Faults(gogo, device, seed);
    faults.takeOver();
    awaitServing(device);
    try (StatefulRun run = new StatefulRun(networks, List.of(device, "cpu"), seed + 1)) {
      for (int i = 0; i < count; i++) {
        faults.strike();
        for (int step = 0; step < STEPS_PER_FAULT; step++) {
          run.step();
        }
        awaitServing(device);
        awaitPlanned(run);
        run.step();
      }
      figures.figure("faults", faults.done());
      figures.figure("faults.executions", run.executions());
      figures.figure("faults.stateOnDeviceOnly", run.onDevice());
      figures.figure("faults.failed", run.failed());
      figures.figure("faults.dead", run.dead());
      figures.figure("faults.wrong", run.wrong());
      figures.figure("lastMessage", run.lastMessage());
      figures.promise("nothing but state is lost: " + run.lastMessage(), run.failed() == 0);
      figures.promise("state that is unavailable is named", run.nameless() == 0);
      figures.promise("all bits are those of the CPU device", run.wrong() == 0);
      figures.promise("some state was lost", run.dead() > 0);
    }
  }

  /**
   * Half of the requests, then the other half, behind which nothing more is held, but for a thread
   * for each caller that waits for the device.
   */
  private void guarded(
      String device, int threads, long requests, long millis, long seed, Figures figures)
      throws Exception {
    awaitServing(device);
    try (GuardedRequests run = new GuardedRequests(networks, List.of(device, "cpu"), seed)) {
      run.run(threads, requests / 2, millis / 2);
      Held before = Held.now();
      run.run(threads, requests - requests / 2, millis / 2);
      Held after = Held.now();
      run.tell(figures);
      figures.figure("guarded.before", before);
      figures.figure("guarded.after", after);
      figures.promise(
          "memory is flat",
          after.heapBytes() - before.heapBytes() < MOST_GROWTH
              && after.nativeBytes() - before.nativeBytes() < MOST_GROWTH
              && after.threads() <= before.threads() + threads);
    }
  }

  private void awaitServing(String device) throws InterruptedException {
    // One in quarantine is listed too, and comes back by itself; until then the CPU device serves.
    await(() -> networks.devices().stream().anyMatch(each -> each.id().equals(device)));
  }

  private static void awaitPlanned(StatefulRun run) throws InterruptedException {
    await(() -> !run.isReplanning());
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + PATIENCE_MILLIS * 1_000_000;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException("the device did not come back, or nothing was planned");
      }
      Thread.sleep(5);
    }
  }
}
