// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.integration.CrashBundle;
import io.thalamus.vectors.ConformanceData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Several threads execute models all the time while the process of an isolated device is killed
 * again and again: no request may fail or be wrong, and nothing of the processes may be left. Then
 * a device whose code makes its process crash, which must cost as little.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=isolation")
public final class IsolationProof extends FrameworkProof {
  private static final long PATIENCE_SECONDS = 60;
  private static final long PAUSE_MILLIS = 1;

  /** The time after a kill in which the container must have noticed it. */
  private static final double NOTICED_MILLIS = 100;

  private final BundleContext context;
  private final NeuralNetworks networks;
  private final ConfigurationAdmin configurations;

  /** Called by the component runtime. */
  @Activate
  public IsolationProof(
      BundleContext context,
      @Reference NeuralNetworks networks,
      @Reference ConfigurationAdmin configurations) {
    this.context = context;
    this.networks = networks;
    this.configurations = configurations;
  }

  private record Plan(
      String device, int kills, int threads, int crashes, long serveMillis, boolean timed) {}

  /** The effects of the kills. */
  private record Kills(
      List<Double> noticedMillis, List<Double> pauseMillis, List<Double> backMillis) {}

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    Plan plan =
        new Plan(
            settings.text("device", "simd"),
            Math.toIntExact(settings.number("kills", 100)),
            Math.toIntExact(settings.number("threads", 4)),
            Math.toIntExact(settings.number("crashes", 3)),
            settings.number("serve", 100),
            settings.number("timed", 1) != 0);
    String folder = settings.text("dir", ConformanceData.models().map(Path::toString).orElse(""));
    String names = settings.text("models", Workloads.USUAL);
    settings.end();
    Configuration configuration = configurations.getConfiguration("io.thalamus.isolation", "?");
    Hashtable<String, Object> values = new Hashtable<>();
    values.put("restartMillis", 10);
    values.put("longestRestartMillis", 200);
    configuration.update(values);
    List<Workload> workloads = new ArrayList<>();
    Set<Path> folders = new HashSet<>();
    long mappings = mappings();
    NativeMemory before = NativeMemory.now();
    try {
      workloads.addAll(Workloads.of(networks, context, names, folder, figures));
      prove(plan, workloads, folders, figures);
    } finally {
      // Loaded models are shared too, until they are closed.
      workloads.forEach(Workload::close);
      configuration.delete();
    }
    leftovers(folders, mappings, before, figures);
  }

  private void prove(Plan plan, List<Workload> workloads, Set<Path> folders, Figures figures)
      throws Exception {
    Bundles bundles = new Bundles(context);
    figures.figure("kills", plan.kills());
    long start = System.nanoTime();
    try (Load load = new Load(workloads, CompilationOptions.DEFAULT, Load.RESTLESS)) {
      load.start(plan.threads());
      Bundle bundle =
          bundles.install(
              DeviceDriver.ISOLATED_LOCATION + plan.device(), Files.newInputStream(jar(plan)));
      Kills kills = new Kills(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
      load.awaitServed(plan.device(), start);
      for (int i = 0; i < plan.kills(); i++) {
        Thread.sleep(plan.serveMillis());
        kill(plan, load, folders, kills);
      }
      bundles.uninstall(bundle);
      tell("noticed", kills.noticedMillis(), figures);
      tell("pause", kills.pauseMillis(), figures);
      tell("servedAgain", kills.backMillis(), figures);
      figures.promise(
          "each kill is noticed within " + NOTICED_MILLIS + " ms",
          !plan.timed()
              || kills.noticedMillis().stream().allMatch(millis -> millis <= NOTICED_MILLIS));
      figures.decimal("share." + plan.device(), load.tally().share(plan.device()));
      if (plan.crashes() > 0) {
        crash(plan, bundles, load, folders, figures);
      }
      load.stop();
      load.tally().tell(figures);
    }
    figures.decimal("seconds", (System.nanoTime() - start) / 1e9);
  }

  private Path jar(Plan plan) {
    String home = String.valueOf(context.getProperty("thalamus.home"));
    return Path.of(home, "devices", "io.thalamus." + plan.device() + ".jar");
  }

  private void kill(Plan plan, Load load, Set<Path> folders, Kills kills) throws Exception {
    ProcessHandle process = process(plan.device());
    remember(process, folders);
    long answered = load.tally().requests();
    long moment = System.nanoTime();
    process.destroyForcibly();
    await("the device leaves", () -> !isOffered(plan.device(), process.pid()));
    kills.noticedMillis().add(millisSince(moment));
    // By then every thread has had an answer to what it asked before or after the kill.
    await("requests go on", () -> load.tally().requests() >= answered + plan.threads());
    kills.pauseMillis().add(millisSince(moment));
    kills.backMillis().add(load.awaitServed(plan.device(), System.nanoTime()).firstMillis());
  }

  /** Has a device crash with the first request that it gets, several times. */
  private void crash(Plan plan, Bundles bundles, Load load, Set<Path> folders, Figures figures)
      throws Exception {
    long answered = load.tally().requests();
    Bundle bundle = bundles.install(DeviceDriver.ISOLATED_LOCATION + "crash", CrashBundle.jar());
    int crashes = 0;
    for (long last = 0; crashes < plan.crashes(); crashes++) {
      long known = last;
      await(
          "the crashing device comes", () -> pid("crash").filter(pid -> pid != known).isPresent());
      ProcessHandle process = process("crash");
      last = process.pid();
      remember(process, folders);
      await("it crashes", () -> !process.isAlive());
    }
    figures.figure("crashes", crashes);
    bundles.uninstall(bundle);
    long after = load.tally().requests();
    load.awaitRequests(after + plan.threads());
    figures.figure("requestsDuringCrashes", after - answered);
  }

  private void leftovers(Set<Path> folders, long mappings, NativeMemory before, Figures figures)
      throws Exception {
    List<String> processes =
        ProcessHandle.current()
            .children()
            .filter(IsolationProof::isOfDevice)
            .filter(ProcessHandle::isAlive)
            .map(String::valueOf)
            .toList();
    List<Path> left = folders.stream().filter(Files::exists).toList();
    List<String> threads = Bundles.threads("thalamus-isolated");
    long mapped = mappings();
    NativeMemory after = NativeMemory.now();
    figures.figure("processesSeen", folders.size());
    figures.figure("processesLeft", processes);
    figures.figure("foldersLeft", left);
    figures.figure("threadsLeft", threads);
    figures.figure("mappings", mappings + " before, " + mapped + " after");
    figures.figure("native.before", before);
    figures.figure("native.after", after);
    figures.promise("no process is left", processes.isEmpty());
    figures.promise("no file of a process is left", left.isEmpty());
    figures.promise("no thread of a process is left", threads.isEmpty());
    List<String> openFiles =
        after.openedSince(before).stream()
            .filter(file -> file.contains("/thalamus-"))
            // The caching engine's lock stays open from its first use on.
            .filter(file -> !file.contains("/cache-engine/"))
            .toList();
    figures.figure("openFiles", openFiles);
    figures.promise("no mapping is left", mapped <= mappings);
    figures.promise("no shared file stays open", openFiles.isEmpty());
  }

  /** Returns how many pieces of shared memory are mapped; 0 where the system does not tell. */
  private static long mappings() throws IOException {
    Path maps = Path.of("/proc/self/maps");
    if (!Files.exists(maps)) {
      return 0;
    }
    try (Stream<String> lines = Files.lines(maps)) {
      return lines.filter(line -> line.contains("/thalamus-")).count();
    }
  }

  /** Returns whether a process is one of a device: other tests start processes too. */
  private static boolean isOfDevice(ProcessHandle process) {
    return process
        .info()
        .arguments()
        .map(arguments -> List.of(arguments).contains("--isolated"))
        .orElse(false);
  }

  /** Remembers the folder of a process, which is where its jar lies. */
  private static void remember(ProcessHandle process, Set<Path> folders) {
    process
        .info()
        .arguments()
        .map(arguments -> Path.of(arguments[arguments.length - 1]).getParent())
        .ifPresent(folders::add);
  }

  private ProcessHandle process(String device) throws Exception {
    await("the device comes", () -> pid(device).flatMap(ProcessHandle::of).isPresent());
    return pid(device).flatMap(ProcessHandle::of).orElseThrow();
  }

  private Optional<Long> pid(String device) {
    try {
      for (ServiceReference<Device> reference :
          context.getServiceReferences(
              Device.class, "(" + DeviceDriver.NAMESPACE + "=" + device + ")")) {
        if (reference.getProperty(DeviceDriver.PROCESS) instanceof Long pid) {
          return Optional.of(pid);
        }
      }
      return Optional.empty();
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private boolean isOffered(String device, long process) {
    return pid(device).filter(pid -> pid == process).isPresent();
  }

  /** A question that is asked until the answer is yes. */
  @FunctionalInterface
  private interface Question {
    boolean ask() throws Exception;
  }

  private static void await(String what, Question question) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (!question.ask()) {
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException("not within " + PATIENCE_SECONDS + " s: " + what);
      }
      Thread.sleep(PAUSE_MILLIS);
    }
  }

  private static double millisSince(long moment) {
    return (System.nanoTime() - moment) / 1e6;
  }

  private static void tell(String name, List<Double> millis, Figures figures) {
    double[] sorted = millis.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    if (sorted.length > 0) {
      figures.decimal(name + ".medianMillis", sorted[sorted.length / 2]);
      figures.decimal(name + ".maxMillis", Arrays.stream(sorted).max().orElseThrow());
    }
  }
}
