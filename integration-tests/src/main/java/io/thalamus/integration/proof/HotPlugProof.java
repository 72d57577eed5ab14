// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.ToDoubleFunction;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Several threads execute models all the time while a device bundle is installed, updated and
 * uninstalled again and again: none may fail, none may be wrong, and nothing of the old bundles may
 * be left.
 */
@Component(service = BiFunction.class, property = FrameworkProof.NAME + "=hotplug")
public final class HotPlugProof extends FrameworkProof {
  /** How long after an install the device must serve. */
  private static final long SERVED_MILLIS = 2000;

  /** The share of the requests that must run on the device by their own reports. */
  private static final double SHARE = 1.0 / 3;

  private final BundleContext context;
  private final NeuralNetworks networks;

  @Activate
  public HotPlugProof(BundleContext context, @Reference NeuralNetworks networks) {
    this.context = context;
    this.networks = networks;
  }

  private record Plan(
      String device,
      Path jar,
      long requests,
      int threads,
      int cycles,
      long serveMillis,
      long absentMillis,
      boolean timed) {}

  @Override
  protected void run(Settings settings, Figures figures) throws Exception {
    String device = settings.text("device", "simd");
    String home = String.valueOf(context.getProperty("thalamus.home"));
    Plan plan =
        new Plan(
            device,
            Path.of(settings.text("jar", home + "/devices/io.thalamus." + device + ".jar")),
            settings.number("requests", 1000),
            Math.toIntExact(settings.number("threads", 4)),
            Math.toIntExact(settings.number("cycles", 20)),
            settings.number("serve", 800),
            settings.number("absent", 300),
            settings.number("timed", 1) != 0);
    String folder = settings.text("dir", ConformanceData.models().map(Path::toString).orElse(""));
    String names = settings.text("models", Workloads.USUAL);
    Path recording = Path.of(settings.text("recording", "")).toAbsolutePath();
    settings.end();
    List<Workload> workloads = new ArrayList<>();
    try (Recording events = new Recording(Configuration.getConfiguration("default"))) {
      events.start();
      workloads.addAll(Workloads.of(networks, context, names, folder, figures));
      prove(plan, workloads, figures);
      events.stop();
      Path file =
          Files.isDirectory(recording) ? Files.createTempFile("hotplug", ".jfr") : recording;
      events.dump(file);
      figures.figure("recordingBytes", Files.size(file));
      if (Files.isDirectory(recording)) {
        Files.delete(file);
      }
    } finally {
      workloads.forEach(Workload::close);
    }
  }

  private void prove(Plan plan, List<Workload> workloads, Figures figures) throws Exception {
    Bundles bundles = new Bundles(context);
    HeapCheck heap = new HeapCheck(context);
    long start = System.nanoTime();
    Load load = new Load(workloads, CompilationOptions.DEFAULT, plan.device());
    List<Load.Served> afterInstall = new ArrayList<>();
    List<Load.Served> afterUpdate = new ArrayList<>();
    try (load) {
      load.start(plan.threads());
      for (int cycle = 0; cycle < plan.cycles(); cycle++) {
        cycle(plan, bundles, load, cycle, afterInstall, afterUpdate);
      }
      load.awaitRequests(plan.requests());
    }
    figures.figure("cycles", plan.cycles());
    figures.figure("threads", plan.threads());
    figures.decimal("seconds", (System.nanoTime() - start) / 1e9);
    tell(plan, load, figures);
    tell("servedAfterInstall", afterInstall, figures);
    tell("servedAfterUpdate", afterUpdate, figures);
    boolean inTime =
        afterInstall.stream().allMatch(served -> served.firstMillis() <= SERVED_MILLIS);
    figures.promise(
        "the device serves within " + SERVED_MILLIS + " ms after each install",
        inTime || !plan.timed());
    tell(plan, bundles, heap, figures);
  }

  private static void cycle(
      Plan plan,
      Bundles bundles,
      Load load,
      int cycle,
      List<Load.Served> afterInstall,
      List<Load.Served> afterUpdate)
      throws Exception {
    Thread.sleep(plan.absentMillis());
    long before = System.nanoTime();
    Bundle bundle =
        bundles.install("proof:" + plan.device() + ":" + cycle, Files.newInputStream(plan.jar()));
    afterInstall.add(load.awaitServed(before));
    Thread.sleep(plan.serveMillis());
    before = System.nanoTime();
    bundles.update(bundle, Files.newInputStream(plan.jar()));
    afterUpdate.add(load.awaitServed(before));
    Thread.sleep(plan.serveMillis());
    bundles.uninstall(bundle);
  }

  private static void tell(Plan plan, Load load, Figures figures) {
    double share = (double) load.onDevice() / Math.max(1, load.requests());
    figures.figure("requests", load.requests());
    figures.figure("failed", load.failed());
    figures.figure("wrong", load.wrong());
    figures.figure("repeatedElsewhere", load.repeated());
    figures.figure("onDevice", load.onDevice());
    figures.decimal("shareOnDevice", share);
    load.firstTrouble().ifPresent(trouble -> figures.figure("firstTrouble", trouble));
    figures.promise("no request fails", load.failed() == 0);
    figures.promise("no request is answered wrongly", load.wrong() == 0);
    figures.promise("enough requests were made", load.requests() >= plan.requests());
    figures.promise("a third of the requests ran on the device", share >= SHARE || !plan.timed());
  }

  private static void tell(String name, List<Load.Served> served, Figures figures) {
    tell(name + ".planned", served, Load.Served::plannedMillis, figures);
    tell(name + ".firstRequest", served, Load.Served::firstMillis, figures);
    tell(name + ".allModels", served, Load.Served::allMillis, figures);
  }

  private static void tell(
      String name,
      List<Load.Served> served,
      ToDoubleFunction<Load.Served> millis,
      Figures figures) {
    double[] sorted = served.stream().mapToDouble(millis).sorted().toArray();
    if (sorted.length > 0) {
      figures.decimal(name + ".medianMillis", sorted[sorted.length / 2]);
      figures.decimal(name + ".maxMillis", sorted[sorted.length - 1]);
    }
  }

  private static void tell(Plan plan, Bundles bundles, HeapCheck heap, Figures figures)
      throws Exception {
    List<ClassLoader> left = bundles.leftLoaders();
    List<String> threads = Bundles.threads("thalamus-" + plan.device());
    Optional<String> classes = heap.classesLoaded("io.thalamus." + plan.device() + ".");
    Map<String, Long> loaders = heap.loaders();
    figures.figure("loadersDeparted", bundles.departed());
    figures.figure("loadersLeft", left.size());
    figures.figure("threadsLeft", threads);
    figures.figure("bundleLoadersOnHeap", loaders.get(HeapCheck.ON_HEAP));
    figures.figure("bundlesWithLoader", loaders.get(HeapCheck.EXPECTED));
    figures.figure("classesLeft", classes.orElse("none"));
    figures.promise("no class loader of an old bundle is left", left.isEmpty());
    figures.promise("no thread of an old bundle is left", threads.isEmpty());
    figures.promise("no thread holds an old bundle", bundles.threadsOfLeftLoaders().isEmpty());
    figures.promise(
        "the heap has no more bundle class loaders than there are bundles",
        loaders.get(HeapCheck.ON_HEAP) <= loaders.get(HeapCheck.EXPECTED));
    figures.promise("no class of the device is loaded", classes.isEmpty());
  }
}
