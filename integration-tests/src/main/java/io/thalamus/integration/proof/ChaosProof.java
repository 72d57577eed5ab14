// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import org.apache.felix.service.command.CommandProcessor;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Requests come at a steady rate while device bundles are installed, updated and uninstalled by
 * turns, so that they overlap and each is alone for a time, and one of the devices is hurt by a
 * script: none may fail, none may be wrong, and afterwards nothing of the bundles may be left.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=chaos")
public final class ChaosProof extends FrameworkProof {
  /** What the JVM itself may allocate meanwhile for its own buffers. */
  private static final long SLACK_BYTES = 1 << 20;

  private static final double SHARE = 1.0 / 3;

  private final BundleContext context;
  private final NeuralNetworks networks;
  private final CommandProcessor gogo;

  @Activate
  public ChaosProof(
      BundleContext context, @Reference NeuralNetworks networks, @Reference CommandProcessor gogo) {
    this.context = context;
    this.networks = networks;
    this.gogo = gogo;
  }

  private record Plan(
      List<String> devices,
      Optional<String> hurt,
      long requests,
      double rate,
      int threads,
      int warmUp,
      int cycles,
      int faults,
      long serveMillis,
      boolean timed) {
    /** How many faults are due once so many cycles are over. */
    int faultsAfter(int cycle) {
      return Math.toIntExact((long) faults * cycle / Math.max(1, cycles));
    }
  }

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    List<String> devices = List.of(settings.text("devices", "simd,npu").split(","));
    String hurt = settings.text("hurt", devices.contains("npu") ? "npu" : "");
    long seed = settings.number("seed", 1);
    Plan plan =
        new Plan(
            devices,
            Optional.of(hurt).filter(name -> !name.isEmpty()),
            settings.number("requests", 10_000),
            settings.number("rate", 25),
            Math.toIntExact(settings.number("threads", 4)),
            Math.toIntExact(settings.number("warm-up", 3)),
            Math.toIntExact(settings.number("cycles", 100)),
            Math.toIntExact(settings.number("faults", hurt.isEmpty() ? 0 : 200)),
            settings.number("serve", 600),
            settings.number("timed", 1) != 0);
    String folder = settings.text("dir", ConformanceData.models().map(Path::toString).orElse(""));
    String names = settings.text("models", Workloads.USUAL);
    settings.end();
    figures.figure("seed", seed);
    List<Workload> workloads = Workloads.of(networks, context, names, folder, figures);
    try {
      prove(plan, workloads, new Faults(gogo, hurt, seed), figures);
    } finally {
      workloads.forEach(Workload::close);
    }
  }

  private void prove(Plan plan, List<Workload> workloads, Faults faults, Figures figures)
      throws Exception {
    Bundles bundles = new Bundles(context);
    NativeMemory before;
    try (SteadyLoad load = new SteadyLoad(workloads, CompilationOptions.DEFAULT, plan.rate())) {
      load.start(plan.threads());
      // What the runtime allocates once for all is allocated then.
      for (int cycle = 0; cycle < plan.warmUp(); cycle++) {
        cycle(plan, bundles, faults, 0);
      }
    }
    before = settled(bundles);
    long start = System.nanoTime();
    try (SteadyLoad load = new SteadyLoad(workloads, CompilationOptions.DEFAULT, plan.rate())) {
      load.start(plan.threads());
      for (int cycle = 0; cycle < plan.cycles(); cycle++) {
        int due = plan.faultsAfter(cycle + 1) - plan.faultsAfter(cycle);
        cycle(plan, bundles, faults, due);
      }
      load.awaitRequests(plan.requests());
      load.stop();
      figures.figure("cycles", plan.cycles());
      figures.figure("threads", plan.threads());
      figures.decimal("seconds", (System.nanoTime() - start) / 1e9);
      tell(plan, load, faults, figures);
      replay(plan, bundles, load, figures);
    }
    NativeMemory after = settled(bundles);
    tell(before, after, figures);
    tellLeft(plan, bundles, figures);
  }

  private static NativeMemory settled(Bundles bundles) throws Exception {
    bundles.leftLoaders(); // until they are collected
    return NativeMemory.now();
  }

  /** Each device comes while the one before still serves, is updated, and leaves the next alone. */
  private void cycle(Plan plan, Bundles bundles, Faults faults, int due) throws Exception {
    Bundle before = null;
    int left = due;
    for (String device : plan.devices()) {
      Bundle bundle = install(bundles, device);
      if (before != null) {
        Thread.sleep(plan.serveMillis() / 4);
        bundles.uninstall(before);
      }
      boolean isHurt = plan.hurt().filter(device::equals).isPresent();
      for (int part = 0; part < 2; part++) {
        Thread.sleep(plan.serveMillis() / 2);
        int now = isHurt ? (part == 0 ? left / 2 : left) : 0;
        for (int i = 0; i < now; i++) {
          faults.strike();
        }
        left -= now;
        Thread.sleep(plan.serveMillis() / 2);
        if (part == 0) {
          bundles.update(bundle, Files.newInputStream(jar(device)));
        }
      }
      before = bundle;
    }
    if (before != null) {
      bundles.uninstall(before);
    }
  }

  private Bundle install(Bundles bundles, String device) throws Exception {
    return bundles.install("proof:" + device, Files.newInputStream(jar(device)));
  }

  private Path jar(String device) {
    Path home = Path.of(context.getProperty("thalamus.home"));
    return home.resolve("devices/io.thalamus." + device + ".jar");
  }

  private void replay(Plan plan, Bundles bundles, SteadyLoad load, Figures figures)
      throws Exception {
    Map<String, Bundle> here = new LinkedHashMap<>();
    for (String device : plan.devices()) {
      here.put(device, install(bundles, device));
    }
    SteadyLoad.Replays replays = load.replay();
    for (Bundle bundle : here.values()) {
      bundles.uninstall(bundle);
    }
    figures.figure("assignments", replays.same() + replays.different());
    figures.figure("replayedSame", replays.same());
    figures.figure("replayedDifferently", replays.different());
    figures.figure("notReplayable", replays.notReplayable());
    figures.promise("each result equals its replay", replays.different() == 0);
    figures.promise("each assignment can be replayed", replays.notReplayable().isEmpty());
  }

  private static void tell(Plan plan, SteadyLoad load, Faults faults, Figures figures) {
    figures.figure("requests", load.requests());
    figures.figure("failed", load.failed());
    figures.figure("wrong", load.wrong());
    figures.figure("differing", load.differing());
    figures.figure("repeatedElsewhere", load.repeated());
    Map<String, Long> on = load.onDevices();
    List<String> tooLittle = new ArrayList<>();
    on.forEach((device, count) -> figures.figure("on." + device, count));
    for (String device : plan.devices()) {
      double share = (double) on.getOrDefault(device, 0L) / Math.max(1, load.requests());
      figures.decimal("share." + device, share);
      if (share < SHARE) {
        tooLittle.add(device);
      }
    }
    figures.figure("faults", faults.done());
    figures.decimal("longestRequestMillis", load.longestMillis());
    figures.decimal("longestPauseMillis", load.longestPauseMillis());
    load.firstTrouble().ifPresent(trouble -> figures.figure("firstTrouble", trouble));
    figures.promise("no request fails", load.failed() == 0);
    figures.promise("no request is answered wrongly", load.wrong() == 0);
    figures.promise("equal assignments give equal results", load.differing() == 0);
    figures.promise("enough requests were made", load.requests() >= plan.requests());
    int struck = faults.done().values().stream().mapToInt(Integer::intValue).sum();
    figures.promise("all faults were made", struck == plan.faults());
    double least = Math.min(SHARE, 1.0 / plan.devices().size());
    figures.promise(
        "at least " + least + " of the requests ran on each device, not so on " + tooLittle,
        tooLittle.isEmpty() || !plan.timed());
  }

  private static void tell(NativeMemory before, NativeMemory after, Figures figures) {
    figures.figure("native.before", before);
    figures.figure("native.after", after);
    if (before.arenaBytes().isPresent()) {
      long grown = after.arenaBytes().getAsLong() - before.arenaBytes().getAsLong();
      figures.figure("arenaBytesGrown", grown);
      figures.promise("native memory is back where it was", grown <= SLACK_BYTES);
    }
    figures.promise("no file stays open", after.openFiles() <= before.openFiles());
  }

  private void tellLeft(Plan plan, Bundles bundles, Figures figures) throws Exception {
    HeapCheck heap = new HeapCheck(context);
    List<ClassLoader> left = bundles.leftLoaders();
    figures.figure("loadersDeparted", bundles.departed());
    figures.figure("loadersLeft", left.size());
    figures.promise("no class loader of an old bundle is left", left.isEmpty());
    for (String device : plan.devices()) {
      List<String> threads = Bundles.threads("thalamus-" + device);
      Optional<String> classes = heap.classesLoaded("io.thalamus." + device + ".");
      figures.figure("threadsLeft." + device, threads);
      figures.figure("classesLeft." + device, classes.orElse("none"));
      figures.promise("no thread of " + device + " is left", threads.isEmpty());
      figures.promise("no class of " + device + " is loaded", classes.isEmpty());
    }
    Map<String, Long> loaders = heap.loaders();
    figures.figure("bundleLoadersOnHeap", loaders.get(HeapCheck.ON_HEAP));
    figures.figure("bundlesWithLoader", loaders.get(HeapCheck.EXPECTED));
    figures.promise(
        "the heap has no more bundle class loaders than there are bundles",
        loaders.get(HeapCheck.ON_HEAP) <= loaders.get(HeapCheck.EXPECTED));
  }
}
