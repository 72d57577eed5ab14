// SPDX-License-Identifier: Apache-2.0
package io.thalamus.launcher;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleEvent;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkEvent;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.SynchronousBundleListener;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;
import org.osgi.framework.namespace.NativeNamespace;
import org.osgi.framework.startlevel.BundleStartLevel;
import org.osgi.framework.startlevel.FrameworkStartLevel;
import org.osgi.framework.wiring.BundleRequirement;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.framework.wiring.BundleWire;
import org.osgi.framework.wiring.BundleWiring;
import org.osgi.framework.wiring.FrameworkWiring;

/**
 * One framework over the bundles of a distribution. Owns the framework from {@link #start} to the
 * end of the process. Used by one thread.
 */
final class Container {
  private static final String HOST = "io.thalamus.isolation";
  private static final String BATCH = "(thalamus.batch=true)";
  private static final Pattern PACKAGE = Pattern.compile("osgi\\.wiring\\.package=([\\w.]+)");

  private final Framework framework;
  private final Slot slot;
  private final String id;
  private final int level;
  private final boolean isNew;
  private final List<String> problems = new ArrayList<>();

  private Container(Framework framework, Slot slot, String id, int level, boolean isNew) {
    this.framework = framework;
    this.slot = slot;
    this.id = id;
    this.level = level;
    this.isNew = isNew;
  }

  /**
   * A framework over the bundle cache of a slot, as the last run of the same distribution left it
   * or else empty; nothing is started.
   *
   * @param id the distribution's
   * @param properties framework properties, visible to all bundles
   * @param level the start level up to which bundles are to be started
   */
  static Container create(Slot slot, String id, Map<String, String> properties, int level)
      throws IOException, BundleException {
    boolean isNew = !slot.isFilledFrom(id);
    if (isNew) {
      slot.clear();
      slot.prune();
    }
    Map<String, String> configuration = new HashMap<>(properties);
    configuration.put(Constants.FRAMEWORK_STORAGE, slot.cache().toString());
    configuration.put(Constants.FRAMEWORK_BEGINNING_STARTLEVEL, Integer.toString(level));
    // JLine reaches for signals through the first, so that Ctrl-C ends a command and not the
    // container; the JDK's Flight Recorder adds calls of the second to the code of each event.
    configuration.put(Constants.FRAMEWORK_BOOTDELEGATION, "sun.misc,jdk.jfr.internal.event");
    FrameworkFactory factory = ServiceLoader.load(FrameworkFactory.class).iterator().next();
    Framework framework = factory.newFramework(configuration);
    try {
      framework.init();
    } catch (BundleException e) {
      // A cache that cannot be read is as good as none.
      slot.clear();
      framework = factory.newFramework(configuration);
      framework.init();
    }
    return new Container(framework, slot, id, level, isNew);
  }

  /** Installs what is missing, removes what is not wanted, and marks everything to be started. */
  void install(List<Distribution.Item> wanted) throws IOException, BundleException {
    BundleContext context = framework.getBundleContext();
    Map<String, Bundle> present = new HashMap<>();
    for (Bundle bundle : context.getBundles()) {
      if (bundle.getBundleId() != Constants.SYSTEM_BUNDLE_ID) {
        present.put(bundle.getLocation(), bundle);
      }
    }
    List<Distribution.Item> missing = new ArrayList<>();
    for (Distribution.Item item : wanted) {
      if (present.remove(item.location()) == null) {
        missing.add(item);
      }
    }
    // First, since of one name and version there can only be one.
    for (Bundle left : present.values()) {
      left.uninstall();
    }
    for (Distribution.Item item : missing) {
      Bundle bundle = context.installBundle(item.location());
      bundle.adapt(BundleStartLevel.class).setStartLevel(item.level());
      bundle.start(Bundle.START_ACTIVATION_POLICY);
    }
    slot.markFilledFrom(id);
    context.addBundleListener((SynchronousBundleListener) this::changed);
  }

  /**
   * Starts a device bundle, the host that serves it to another container, and of all others only
   * those that these two are wired to.
   */
  void isolate(List<Distribution.Item> others, Distribution.Item device) throws BundleException {
    BundleContext context = framework.getBundleContext();
    List<Bundle> wanted = new ArrayList<>();
    for (Distribution.Item item : others) {
      Bundle bundle = context.installBundle(item.location());
      if (HOST.equals(bundle.getSymbolicName())) {
        wanted.add(bundle);
      }
    }
    wanted.add(context.installBundle(device.location()));
    framework.start();
    framework.adapt(FrameworkWiring.class).resolveBundles(wanted);
    Set<Bundle> started = new HashSet<>();
    for (Bundle bundle : wanted) {
      startWired(bundle, started);
    }
  }

  private static void startWired(Bundle bundle, Set<Bundle> started) throws BundleException {
    if (!started.add(bundle) || bundle.getBundleId() == Constants.SYSTEM_BUNDLE_ID) {
      return;
    }
    BundleWiring wiring = bundle.adapt(BundleWiring.class);
    List<BundleWire> wires = wiring == null ? List.of() : wiring.getRequiredWires(null);
    for (BundleWire wire : wires) {
      startWired(wire.getProvider().getBundle(), started);
    }
    // A bundle that is not resolved says why when it is started.
    bundle.start(Bundle.START_TRANSIENT);
  }

  /**
   * Remembers that bundles were changed, which counts for this process only: the next one would
   * find a bundle cache that is no longer the distribution's.
   */
  private void changed(BundleEvent event) {
    int type = event.getType();
    boolean lasting =
        type == BundleEvent.INSTALLED
            || type == BundleEvent.UPDATED
            || type == BundleEvent.STOPPED
            || type == BundleEvent.UNINSTALLED;
    if (lasting && framework.getState() == Bundle.ACTIVE) {
      slot.markChanged();
    }
  }

  /**
   * Starts the framework and waits until its bundles are started.
   *
   * @param areNamed whether somebody asked for these devices, and not for those that can run here
   */
  void start(boolean areNamed) throws BundleException {
    framework.start();
    awaitStartLevel();
    collectProblems(areNamed);
  }

  private void awaitStartLevel() throws BundleException {
    FrameworkStartLevel levels = framework.adapt(FrameworkStartLevel.class);
    CountDownLatch reached = new CountDownLatch(1);
    if (levels.getStartLevel() >= level) {
      return; // the usual case: Felix raises the level before start returns
    }
    framework
        .getBundleContext()
        .addFrameworkListener(
            event -> {
              if (event.getType() == FrameworkEvent.STARTLEVEL_CHANGED
                  || event.getType() == FrameworkEvent.STARTED) {
                reached.countDown();
              }
            });
    try {
      if (levels.getStartLevel() < level && !reached.await(30, TimeUnit.SECONDS)) {
        throw new BundleException("the bundles did not start within 30 seconds");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BundleException("interrupted while the bundles started", e);
    }
  }

  private void collectProblems(boolean areNamed) {
    for (Bundle bundle : framework.getBundleContext().getBundles()) {
      boolean due = bundle.adapt(BundleStartLevel.class).getStartLevel() <= level;
      if (due && bundle.getState() != Bundle.ACTIVE && (areNamed || !isForeign(bundle))) {
        try {
          bundle.start(Bundle.START_TRANSIENT);
        } catch (BundleException e) {
          problems.add(bundle.getSymbolicName() + " does not start: " + reason(bundle, e));
        }
      }
    }
  }

  /** Returns true if a bundle is made for other systems or processors. */
  private boolean isForeign(Bundle bundle) {
    FrameworkWiring wiring = framework.adapt(FrameworkWiring.class);
    return bundle
        .adapt(BundleRevision.class)
        .getDeclaredRequirements(NativeNamespace.NATIVE_NAMESPACE)
        .stream()
        .anyMatch(requirement -> wiring.findProviders(requirement).isEmpty());
  }

  /** The package that is missing where that is the reason, since Felix's own text is long. */
  private String reason(Bundle bundle, BundleException e) {
    FrameworkWiring wiring = framework.adapt(FrameworkWiring.class);
    for (BundleRequirement requirement :
        bundle
            .adapt(BundleRevision.class)
            .getDeclaredRequirements(BundleRevision.PACKAGE_NAMESPACE)) {
      Map<String, String> directives = requirement.getDirectives();
      boolean optional = "optional".equals(directives.get(Constants.RESOLUTION_DIRECTIVE));
      Matcher name = PACKAGE.matcher(directives.getOrDefault(Constants.FILTER_DIRECTIVE, ""));
      if (!optional && name.find() && wiring.findProviders(requirement).isEmpty()) {
        String help = name.group(1).startsWith("jdk.") ? "; the JVM wants --add-modules=" : "";
        return "nothing here has the package "
            + name.group(1)
            + (help.isEmpty() ? "" : help + name.group(1));
      }
    }
    return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
  }

  /**
   * Returns true if the bundle cache is of this run: an orderly end leaves more to the next one.
   */
  boolean isNew() {
    return isNew;
  }

  /** One line for each bundle that did not start. */
  List<String> problems() {
    return List.copyOf(problems);
  }

  /**
   * Runs one request through the shell's batch service, which is a {@code ToIntFunction} from a map
   * of JDK values to the exit status.
   *
   * @throws IllegalStateException where the shell is not there
   */
  int run(Map<String, Object> request) {
    BundleContext context = framework.getBundleContext();
    try {
      for (ServiceReference<?> reference :
          context.getServiceReferences(ToIntFunction.class, BATCH)) {
        @SuppressWarnings("unchecked")
        ToIntFunction<Map<String, Object>> batch =
            (ToIntFunction<Map<String, Object>>) context.getService(reference);
        if (batch != null) {
          return batch.applyAsInt(request);
        }
      }
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
    throw new IllegalStateException("the shell did not start; see ./thalamus -c lb");
  }

  /** Stops the framework in order. */
  void stop() throws BundleException, InterruptedException {
    framework.stop();
    framework.waitForStop(0);
  }

  /** Waits until somebody stops the framework from inside. */
  void waitForStop() throws InterruptedException {
    framework.waitForStop(0);
  }
}
