// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.engine;

import io.thalamus.hal.Device;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.apache.felix.framework.FrameworkFactory;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.launch.Framework;
import org.osgi.util.tracker.ServiceTracker;

/**
 * The product's bundles in a framework of this process. The contracts are not installed: the
 * framework exports them from the class path, so that code outside uses the same types.
 * Thread-safe.
 */
public final class Container implements AutoCloseable {
  private static final int INTERACTIVE_LEVEL = 20;
  private static final long PATIENCE_MILLIS = 60_000;

  /** The bundles of the contracts. */
  private static final Set<String> SHARED =
      Set.of("io.thalamus.memory", "io.thalamus.model", "io.thalamus.api", "io.thalamus.hal");

  private final Framework framework;
  private final Path storage;

  private Container(Framework framework, Path storage) {
    this.framework = framework;
    this.storage = storage;
  }

  /**
   * Starts the bundles of a distribution.
   *
   * @param home the distribution's folder
   * @param devices names of the device bundles to start, without {@code io.thalamus.}
   * @param isolated those of them that get a process of their own
   * @param threads how many a device that has threads of its own may use, unless it is isolated
   * @throws BundleException where a bundle does not start, which says why
   */
  public static Container start(Path home, Set<String> devices, Set<String> isolated, int threads)
      throws IOException, BundleException {
    Path storage = Files.createTempDirectory("thalamus-benchmarks");
    Map<String, String> configuration = new TreeMap<>();
    configuration.put(Constants.FRAMEWORK_STORAGE, storage.resolve("cache").toString());
    configuration.put("felix.cm.dir", storage.resolve("configuration").toString());
    configuration.put(Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA, shared(home));
    for (String device : devices) {
      configure(storage.resolve("configuration"), device, "threads=I\"" + threads + "\"");
    }
    if (!isolated.isEmpty()) {
      configure(
          storage.resolve("configuration"),
          "isolation",
          "devices=[\"" + String.join("\",\"", isolated) + "\"]");
    }
    Framework framework = new FrameworkFactory().newFramework(configuration);
    Container container = new Container(framework, storage);
    framework.start();
    container.install(home, devices);
    return container;
  }

  /** Returns the packages of the contracts in the versions that their bundles have. */
  private static String shared(Path home) throws IOException {
    List<String> exports = new ArrayList<>();
    for (String line : Files.readAllLines(home.resolve("bin/bundles"))) {
      String[] words = line.split(" ");
      if (SHARED.contains(words[2])) {
        try (JarFile jar = new JarFile(home.resolve(words[1]).toFile())) {
          String header = jar.getManifest().getMainAttributes().getValue(Constants.EXPORT_PACKAGE);
          exports.add(header.replaceAll(";uses:=\"[^\"]*\"", ""));
        }
      }
    }
    return String.join(",", exports);
  }

  /** As ConfigAdmin keeps it: it is there before the component is, which starts only once then. */
  private static void configure(Path folder, String name, String setting) throws IOException {
    Path file = folder.resolve("io/thalamus/" + name + ".config");
    Files.createDirectories(file.getParent());
    Files.writeString(file, "service.pid=\"io.thalamus." + name + "\"\n" + setting + "\n");
  }

  private void install(Path home, Set<String> devices) throws IOException, BundleException {
    BundleContext context = framework.getBundleContext();
    for (String line : Files.readAllLines(home.resolve("bin/bundles"))) {
      String[] words = line.split(" ");
      String name = words[2].substring(words[2].lastIndexOf('.') + 1);
      boolean unwanted =
          Integer.parseInt(words[0]) >= INTERACTIVE_LEVEL
              || SHARED.contains(words[2])
              || words[1].startsWith("devices/") && !devices.contains(name);
      if (!unwanted) {
        context.installBundle("reference:" + home.resolve(words[1]).toUri());
      }
    }
    // The component runtime first: what isolates devices is to hide them from it in time.
    for (boolean isOwn : new boolean[] {false, true}) {
      for (Bundle bundle : context.getBundles()) {
        if (bundle.getSymbolicName().startsWith("io.thalamus.") == isOwn
            && bundle.getHeaders().get(Constants.FRAGMENT_HOST) == null) {
          bundle.start();
        }
      }
    }
  }

  /**
   * The service of a type.
   *
   * @param filter in OSGi's language
   * @throws IllegalStateException where there is none within a minute
   */
  public <T> T service(Class<T> type, String filter) throws Exception {
    BundleContext context = framework.getBundleContext();
    ServiceTracker<T, T> tracker =
        new ServiceTracker<>(
            context,
            context.createFilter(
                "(&(" + Constants.OBJECTCLASS + "=" + type.getName() + ")" + filter + ")"),
            null);
    tracker.open();
    T service = tracker.waitForService(PATIENCE_MILLIS);
    if (service == null) {
      throw new IllegalStateException("no service " + type.getName() + " " + filter);
    }
    return service;
  }

  /** Adds a device of this process, until the container is closed. */
  public void register(Device device, String name) {
    framework
        .getBundleContext()
        .registerService(
            Device.class, device, FrameworkUtil.asDictionary(Map.of("thalamus.device", name)));
  }

  @Override
  public void close() {
    try {
      framework.stop();
      framework.waitForStop(0);
    } catch (BundleException e) {
      throw new IllegalStateException("the framework does not stop", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    try (Stream<Path> files = Files.walk(storage)) {
      files.sorted(Comparator.reverseOrder()).forEach(Container::delete);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void delete(Path file) {
    try {
      Files.delete(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
