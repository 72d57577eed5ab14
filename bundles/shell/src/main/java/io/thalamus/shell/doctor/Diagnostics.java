// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.doctor;

import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationCache.Trouble;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.text.Units;
import io.thalamus.memory.EventFlag;
import io.thalamus.memory.SharedMemory;
import io.thalamus.shell.bundles.DeviceBundles;
import io.thalamus.shell.bundles.IsolatedProcess;
import io.thalamus.shell.results.DevicesResult;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.startlevel.BundleStartLevel;
import org.osgi.framework.startlevel.FrameworkStartLevel;

/** The examination of JVM, bundles, devices and storage. Used by one thread. */
public final class Diagnostics {
  private static final String VECTOR = "jdk.incubator.vector";
  private static final long LITTLE_MEMORY = 512L << 20;

  private final NeuralNetworks networks;
  private final CompilationCache cache;
  private final BundleContext context;
  private final Jvm jvm = new Jvm();
  private final List<Finding> findings = new ArrayList<>();

  /** The state of something that was examined. */
  public enum Verdict {
    GOOD,
    SLOW,
    MISSING,
    BROKEN
  }

  /**
   * Something that was examined.
   *
   * @param remedy what to do; empty where all is well
   */
  public record Finding(String subject, Verdict verdict, String observation, String remedy) {}

  /** Diagnostics of the framework of a bundle. */
  public Diagnostics(NeuralNetworks networks, CompilationCache cache, BundleContext context) {
    this.networks = networks;
    this.cache = cache;
    this.context = context;
  }

  /** Looks at everything. */
  public List<Finding> findings() {
    jdk();
    compiler();
    vectors();
    machine();
    findings.add(SharedMemoryCheck.of(SharedMemory.directories()));
    findings.add(WakeUpCheck.of(EventFlag.implementation()));
    simd();
    findings.add(MachineCodeCheck.of(networks, context));
    devices();
    isolated();
    bundles();
    storage();
    caches();
    return List.copyOf(findings);
  }

  private void good(String subject, String observation) {
    findings.add(new Finding(subject, Verdict.GOOD, observation, ""));
  }

  private void add(Verdict verdict, String subject, String observation, String remedy) {
    findings.add(new Finding(subject, verdict, observation, remedy));
  }

  private void jdk() {
    good(
        "JDK",
        System.getProperty("java.vendor")
            + " "
            + Runtime.version()
            + ", "
            + System.getProperty("java.home"));
  }

  /** Finds options that make every kernel slow, the plain ones too. */
  private void compiler() {
    List<String> slow = jvm.brakes();
    if (slow.isEmpty()) {
      good("compiler", System.getProperty("java.vm.info", "") + ", nothing holds it back");
    } else {
      add(
          Verdict.SLOW,
          "compiler",
          "held back by " + String.join(", ", slow),
          "start the JVM without (THALAMUS_JAVA_OPTIONS, JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS)");
    }
    jvm.debugger()
        .ifPresent(
            agent ->
                add(
                    Verdict.SLOW,
                    "debugger",
                    "the JVM listens for one, by " + agent,
                    "start it without to measure anything"));
  }

  private void vectors() {
    int used = jvm.vectorBits();
    OptionalInt possible = Machine.vectorBits();
    if (used > 0 && jvm.isVectorSizeGiven() && possible.orElse(used) > used) {
      add(
          Verdict.SLOW,
          "vectors",
          used + " bits, as an option of the JVM says; this processor has " + possible.getAsInt(),
          "start the JVM without MaxVectorSize and UseAVX");
    } else if (used > 0) {
      good("vectors", used + " bits");
    }
  }

  private void machine() {
    int processors = Runtime.getRuntime().availableProcessors();
    long memory = Runtime.getRuntime().maxMemory();
    String text = Units.plural(processors, "processor") + ", heap up to " + Units.bytes(memory);
    int present = Machine.processors().orElse(processors);
    if (present > processors) {
      add(
          Verdict.SLOW,
          "machine",
          text + "; " + present + " are there",
          "look at ActiveProcessorCount, taskset and the container's limits");
    } else if (memory < LITTLE_MEMORY) {
      add(Verdict.SLOW, "machine", text, "give more with THALAMUS_JAVA_OPTIONS=-Xmx2g");
    } else {
      good("machine", text);
    }
  }

  private void simd() {
    boolean module = ModuleLayer.boot().findModule(VECTOR).isPresent();
    boolean here = networks.devices().stream().anyMatch(device -> device.id().equals("simd"));
    if (here) {
      good("SIMD", "the device simd serves, module " + VECTOR + " is there");
      return;
    }
    boolean offered = new DeviceBundles(context).available().contains("simd");
    if (!module) {
      add(
          Verdict.MISSING,
          "SIMD",
          "the module " + VECTOR + " is not there, so the device simd cannot run",
          offered
              ? "start with THALAMUS_JAVA_OPTIONS=--add-modules=" + VECTOR
              : "the distribution has no device simd either");
    } else {
      add(
          Verdict.MISSING,
          "SIMD",
          "the device simd is not here",
          offered ? "nn:install simd" : "the distribution has none");
    }
  }

  private void devices() {
    List<DeviceDescription> devices = networks.devices();
    if (devices.isEmpty()) {
      add(Verdict.MISSING, "devices", "none is here", "nn:install cpu");
      return;
    }
    good(
        "devices",
        devices.stream()
            .filter(device -> device.state() == DeviceDescription.State.AVAILABLE)
            .map(device -> device.id() + " " + device.info().version())
            .collect(Collectors.joining(", ")));
    for (DeviceDescription device : devices) {
      if (device.state() == DeviceDescription.State.REFUSED) {
        add(
            Verdict.BROKEN,
            "device " + device.id(),
            "it is refused: " + device.reason(),
            "update or uninstall it");
      } else if (device.state() == DeviceDescription.State.QUARANTINED) {
        add(
            Verdict.BROKEN,
            "device " + device.id(),
            "it is in quarantine: " + device.reason(),
            "it comes back when a probe passes; where it does not, update or uninstall it");
      }
      if (device.health().mismatches() > 0) {
        add(
            Verdict.BROKEN,
            "device " + device.id(),
            device.health().mismatches()
                + " of "
                + Units.plural(device.health().samples(), "sampled result")
                + " differ from the reference",
            "nn:certify " + device.id() + " says more");
      }
      device
          .health()
          .stuckCalls()
          .forEach(
              call ->
                  add(
                      Verdict.BROKEN,
                      "device " + device.id(),
                      DevicesResult.threadState(device) + " " + DevicesResult.describe(call),
                      "Java cannot end it: update the device, and start this process anew"));
    }
  }

  private void isolated() {
    IsolatedProcess.all(context)
        .forEach(
            (device, process) ->
                good(
                    "isolated " + device,
                    "process " + process.pid() + " maps memory " + process.memory()));
  }

  private void bundles() {
    Map<String, String> idle = new LinkedHashMap<>();
    DeviceBundles reasons = new DeviceBundles(context);
    int level =
        context
            .getBundle(Constants.SYSTEM_BUNDLE_LOCATION)
            .adapt(FrameworkStartLevel.class)
            .getStartLevel();
    for (Bundle bundle : context.getBundles()) {
      boolean fragment = bundle.getHeaders("").get(Constants.FRAGMENT_HOST) != null;
      // One-shot commands leave the bundles of the interactive shell alone.
      boolean due = bundle.adapt(BundleStartLevel.class).getStartLevel() <= level;
      if (bundle.getState() == Bundle.INSTALLED
          && due
          && !fragment
          && !MachineCodeCheck.isForeign(bundle, context)) {
        idle.put(
            bundle.getSymbolicName(),
            reasons.missing(bundle).orElse("Felix's start " + bundle.getBundleId() + " says why"));
      }
    }
    if (idle.isEmpty()) {
      good("bundles", "all that are due are resolved");
    }
    idle.forEach(
        (bundle, missing) ->
            add(Verdict.BROKEN, "bundles", bundle + " cannot be resolved", missing));
  }

  private void storage() {
    String storage = context.getProperty("thalamus.storage");
    if (storage == null) {
      add(
          Verdict.MISSING,
          "storage",
          "no folder was named",
          "start with --storage DIR to keep compilations");
      return;
    }
    Optional<String> obstacle = cache.obstacle(Path.of(storage));
    if (obstacle.isEmpty()) {
      good("storage", storage + " can be written");
    } else {
      add(
          Verdict.SLOW,
          "storage",
          storage + " cannot be written, so that nothing is stored between runs: " + obstacle.get(),
          "make it writable, make room, or start with --storage DIR");
    }
  }

  private void caches() {
    for (Trouble trouble : cache.troubles()) {
      add(
          Verdict.SLOW,
          "cache",
          "compilations are not stored in " + trouble.directory() + ": " + trouble.cause(),
          "make it writable, make room (nn:cache gc), or name another --cache DIR");
    }
  }
}
