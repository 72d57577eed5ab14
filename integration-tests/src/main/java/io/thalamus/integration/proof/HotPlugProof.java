// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.vectors.ConformanceData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
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
  /** The time after an install in which the device must serve. */
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
    long start = System.nanoTime();
    Load load = new Load(workloads, CompilationOptions.DEFAULT, Load.RESTLESS);
    List<Served> afterInstall = new ArrayList<>();
    List<Served> afterUpdate = new ArrayList<>();
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
    tell(plan, load.tally(), figures);
    Served.tell("servedAfterInstall", afterInstall, figures);
    Served.tell("servedAfterUpdate", afterUpdate, figures);
    boolean inTime =
        afterInstall.stream().allMatch(served -> served.firstMillis() <= SERVED_MILLIS);
    figures.promise(
        "the device serves within " + SERVED_MILLIS + " ms after each install",
        inTime || !plan.timed());
    new Leftovers(context).tell(List.of(plan.device()), bundles, figures);
  }

  private static void cycle(
      Plan plan,
      Bundles bundles,
      Load load,
      int cycle,
      List<Served> afterInstall,
      List<Served> afterUpdate)
      throws Exception {
    Thread.sleep(plan.absentMillis());
    long before = System.nanoTime();
    Bundle bundle =
        bundles.install("proof:" + plan.device() + ":" + cycle, Files.newInputStream(plan.jar()));
    afterInstall.add(load.awaitServed(plan.device(), before));
    Thread.sleep(plan.serveMillis());
    before = System.nanoTime();
    bundles.update(bundle, Files.newInputStream(plan.jar()));
    afterUpdate.add(load.awaitServed(plan.device(), before));
    Thread.sleep(plan.serveMillis());
    bundles.uninstall(bundle);
  }

  private static void tell(Plan plan, Tally tally, Figures figures) {
    double share = tally.share(plan.device());
    tally.tell(figures);
    figures.decimal("share." + plan.device(), share);
    figures.promise("enough requests were made", tally.requests() >= plan.requests());
    figures.promise("a third of the requests ran on the device", share >= SHARE || !plan.timed());
  }
}
