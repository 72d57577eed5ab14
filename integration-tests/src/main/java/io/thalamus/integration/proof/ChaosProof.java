// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.apache.felix.service.command.CommandProcessor;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Requests come at a steady rate while device bundles are installed, updated and uninstalled by
 * turns, so that they overlap and each is alone for a time, and one of the devices is made faulty
 * by a script: none may fail, none may be wrong, and afterwards nothing of the bundles may be left.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=chaos")
public final class ChaosProof extends FrameworkProof {
  /** The bytes that the JVM itself may allocate meanwhile for its own buffers. */
  private static final long SLACK_BYTES = 1 << 20;

  private static final double SHARE = 1.0 / 3;

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final long PAUSE_MILLIS = 200;

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
      Optional<String> faulty,
      long requests,
      double rate,
      int threads,
      int warmUp,
      int cycles,
      int faults,
      long serveMillis,
      boolean timed) {
    /** Returns the number of faults that are due once so many cycles are over. */
    int faultsAfter(int cycle) {
      return Math.toIntExact((long) faults * cycle / Math.max(1, cycles));
    }
  }

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    List<String> devices = List.of(settings.text("devices", "simd,npu").split(","));
    String faulty = settings.text("faulty", devices.contains("npu") ? "npu" : "");
    long seed = settings.number("seed", 1);
    Plan plan =
        new Plan(
            devices,
            Optional.of(faulty).filter(name -> !name.isEmpty()),
            settings.number("requests", 10_000),
            settings.number("rate", 12),
            Math.toIntExact(settings.number("threads", 4)),
            Math.toIntExact(settings.number("warm-up", 3)),
            Math.toIntExact(settings.number("cycles", 100)),
            Math.toIntExact(settings.number("faults", faulty.isEmpty() ? 0 : 200)),
            settings.number("serve", 1200),
            settings.number("timed", 1) != 0);
    String folder = settings.text("dir", ConformanceData.models().map(Path::toString).orElse(""));
    String names = settings.text("models", Workloads.USUAL);
    settings.end();
    figures.figure("seed", seed);
    List<Workload> workloads = Workloads.of(networks, context, names, folder, figures);
    try {
      prove(plan, workloads, new Faults(gogo, faulty, seed), figures);
    } finally {
      workloads.forEach(Workload::close);
    }
  }

  private void prove(Plan plan, List<Workload> workloads, Faults faults, Figures figures)
      throws Exception {
    Bundles bundles = new Bundles(context);
    NativeMemory before;
    try (Load load = new Load(workloads, CompilationOptions.DEFAULT, plan.rate())) {
      load.start(plan.threads());
      // What the runtime allocates once for all is allocated then.
      Course course = new Course(plan, bundles, load, faults);
      for (int cycle = 0; cycle < plan.warmUp(); cycle++) {
        course.cycle(0);
      }
    }
    before = settled(bundles);
    long start = System.nanoTime();
    try (Load load = new Load(workloads, CompilationOptions.DEFAULT, plan.rate())) {
      load.start(plan.threads());
      Course course = new Course(plan, bundles, load, faults);
      for (int cycle = 0; cycle < plan.cycles(); cycle++) {
        course.cycle(plan.faultsAfter(cycle + 1) - plan.faultsAfter(cycle));
      }
      load.awaitRequests(plan.requests());
      load.stop();
      figures.figure("cycles", plan.cycles());
      figures.figure("threads", plan.threads());
      figures.decimal("seconds", (System.nanoTime() - start) / 1e9);
      tell(plan, load, faults, figures);
      course.tell(figures);
      replay(plan, bundles, load.assignments(), figures);
    }
    NativeMemory after = settled(bundles);
    // Others in this virtual machine may have a file open for a moment.
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!after.openedSince(before).isEmpty() && System.nanoTime() - end < 0) {
      Thread.sleep(PAUSE_MILLIS);
      after = NativeMemory.now();
    }
    tell(before, after, figures);
    new Leftovers(context).tell(plan.devices(), bundles, figures);
  }

  private static NativeMemory settled(Bundles bundles) throws Exception {
    bundles.leftLoaders(); // until they are collected
    return NativeMemory.now();
  }

  /** The comings and goings of the devices, and the time until each serves. */
  private final class Course {
    private final Plan plan;
    private final Bundles bundles;
    private final Load load;
    private final Faults faults;
    private final Map<String, List<Served>> afterInstall = new TreeMap<>();
    private final Map<String, List<Served>> afterUpdate = new TreeMap<>();

    Course(Plan plan, Bundles bundles, Load load, Faults faults) {
      this.plan = plan;
      this.bundles = bundles;
      this.load = load;
      this.faults = faults;
    }

    /**
     * Each device comes while the one before still serves, and stays alone once it serves all
     * models; is updated, serves again, and stays until the next one serves. Each stay is as long:
     * what an install or an update takes is not counted against it.
     */
    void cycle(int due) throws Exception {
      Bundle before = null;
      for (String device : plan.devices()) {
        long moment = System.nanoTime();
        Bundle bundle = install(bundles, device);
        takeOver(device);
        await(afterInstall, device, moment);
        if (before != null) {
          bundles.uninstall(before);
        }
        int mine = plan.faulty().filter(device::equals).isPresent() ? due : 0;
        stay(mine / 2);
        moment = System.nanoTime();
        bundles.update(bundle, Files.newInputStream(jar(device)));
        takeOver(device);
        await(afterUpdate, device, moment);
        stay(mine - mine / 2);
        before = bundle;
      }
      if (before != null) {
        bundles.uninstall(before);
      }
    }

    private void await(Map<String, List<Served>> when, String device, long moment)
        throws InterruptedException {
      when.computeIfAbsent(device, name -> new ArrayList<>()).add(load.awaitServed(device, moment));
    }

    private void takeOver(String device) throws Exception {
      if (plan.faulty().filter(device::equals).isPresent()) {
        faults.takeOver();
      }
    }

    /** Lets a device serve, and injects faults meanwhile. */
    private void stay(int strikes) throws Exception {
      for (int i = 0; i < strikes; i++) {
        Thread.sleep(plan.serveMillis() / (strikes + 1));
        faults.strike();
      }
      Thread.sleep(plan.serveMillis() / (strikes + 1));
    }

    void tell(Figures figures) {
      afterInstall.forEach(
          (device, served) -> Served.tell("servedAfterInstall." + device, served, figures));
      afterUpdate.forEach(
          (device, served) -> Served.tell("servedAfterUpdate." + device, served, figures));
    }
  }

  private Bundle install(Bundles bundles, String device) throws Exception {
    return bundles.install("proof:" + device, Files.newInputStream(jar(device)));
  }

  private Path jar(String device) {
    Path home = Path.of(context.getProperty("thalamus.home"));
    return home.resolve("devices/io.thalamus." + device + ".jar");
  }

  private void replay(Plan plan, Bundles bundles, Assignments assignments, Figures figures)
      throws Exception {
    Map<String, Bundle> here = new LinkedHashMap<>();
    for (String device : plan.devices()) {
      here.put(device, install(bundles, device));
    }
    Assignments.Replays replays = assignments.replay();
    for (Bundle bundle : here.values()) {
      bundles.uninstall(bundle);
    }
    figures.figure("differing", assignments.differing());
    figures.figure("assignments", replays.same() + replays.different());
    figures.figure("replayedSame", replays.same());
    figures.figure("replayedDifferently", replays.different());
    figures.figure("notReplayable", replays.notReplayable());
    figures.promise("equal assignments give equal results", assignments.differing() == 0);
    figures.promise("each result equals its replay", replays.different() == 0);
    figures.promise("each assignment can be replayed", replays.notReplayable().isEmpty());
  }

  private static void tell(Plan plan, Load load, Faults faults, Figures figures) {
    Tally tally = load.tally();
    tally.tell(figures);
    double least = Math.min(SHARE, 1.0 / plan.devices().size());
    for (String device : plan.devices()) {
      double share = tally.share(device);
      figures.decimal("share." + device, share);
      figures.promise(
          "at least " + least + " of the requests ran on " + device,
          share >= least || !plan.timed());
    }
    figures.figure("faults", faults.done());
    figures.promise("enough requests were made", tally.requests() >= plan.requests());
    int struck = faults.done().values().stream().mapToInt(Integer::intValue).sum();
    figures.promise("all faults were made", struck == plan.faults());
  }

  private static void tell(NativeMemory before, NativeMemory after, Figures figures) {
    figures.figure("native.before", before);
    figures.figure("native.after", after);
    if (before.arenaBytes().isPresent()) {
      long grown = after.arenaBytes().getAsLong() - before.arenaBytes().getAsLong();
      figures.figure("arenaBytesGrown", grown);
      figures.promise("native memory is back where it was", grown <= SLACK_BYTES);
    }
    figures.figure("native.opened", after.openedSince(before));
    figures.promise("no file stays open", after.openedSince(before).isEmpty());
  }
}
