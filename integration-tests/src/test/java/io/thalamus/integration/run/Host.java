// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.FrameworkProof;
import io.thalamus.integration.proof.HeapCheck;
import io.thalamus.integration.proof.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;

/**
 * A framework with the product's bundles, as the distribution has them, and the bundle of the
 * proofs. Used by one thread.
 */
final class Host implements AutoCloseable {
  private static final int INTERACTIVE_LEVEL = 20;
  private static final int SERVER_LEVEL = 25;
  private static final long PATIENCE_MILLIS = 10_000;
  private static final long PAUSE_MILLIS = 20;
  private static final String LOG = "org.osgi.service.log.LogReaderService";
  private static final String FELIX_LOG = "org.apache.felix.log";

  private static final int LOOKS = 10;
  private static final int LOOK_MILLIS = 500;

  private final Framework framework;
  private final Path storage;

  private Host(Framework framework, Path storage) {
    this.framework = framework;
    this.storage = storage;
  }

  /**
   * Starts it.
   *
   * @param root the project's folder
   * @param without names of device bundles that stay out, without {@code io.thalamus.}
   */
  static Host start(Path root, List<String> without) throws Exception {
    // A console handler keeps the stream that it finds first, which must not be one of Gogo's.
    Logger.getLogger("").getHandlers();
    Path home = root.resolve("launcher/target/thalamus");
    Path storage = Files.createTempDirectory("thalamus-proof");
    Map<String, String> configuration = new HashMap<>();
    configuration.put(Constants.FRAMEWORK_STORAGE, storage.resolve("cache").toString());
    configuration.put("thalamus.home", home.toString());
    configuration.put("thalamus.storage", storage.toString());
    configuration.put("thalamus.root", root.toString());
    configuration.put(HeapCheck.LEFT_BEFORE, Long.toString(loadersLeft()));
    Framework framework =
        java.util.ServiceLoader.load(FrameworkFactory.class)
            .findFirst()
            .orElseThrow()
            .newFramework(configuration);
    Host host = new Host(framework, storage);
    boolean isUp = false;
    try {
      framework.start();
      host.install(jars(root, without, hasLog(framework)));
      isUp = true;
    } finally {
      if (!isUp) {
        host.close(); // or its threads would keep the process
      }
    }
    return host;
  }

  /**
   * Returns how many class loaders of frameworks that have ended are still on the heap, for
   * whatever reason of the JVM, such as a method that is being compiled. Waits a little for them to
   * go.
   */
  private static long loadersLeft() throws Exception {
    long left = HeapCheck.loaders();
    for (int i = 0; left > 0 && i < LOOKS; i++) {
      Thread.sleep(LOOK_MILLIS);
      left = HeapCheck.loaders();
    }
    return left;
  }

  /** Equinox has a log of its own; beside it, Felix's keeps class loaders of departed bundles. */
  private static boolean hasLog(Framework framework) {
    return framework.getBundleContext().getServiceReference(LOG) != null;
  }

  private static List<Path> jars(Path root, List<String> without, boolean hasLog)
      throws IOException {
    Path home = root.resolve("launcher/target/thalamus");
    List<Path> jars = new ArrayList<>();
    for (String line : Files.readAllLines(home.resolve("bin/bundles"))) {
      String[] words = line.split(" ");
      boolean isDevice = words[1].startsWith("devices/");
      String name = words[2].substring(words[2].lastIndexOf('.') + 1);
      int level = Integer.parseInt(words[0]);
      // Of the interactive container, proofs need what applications call, and no terminal.
      boolean isForTerminals =
          level >= INTERACTIVE_LEVEL && !words[2].matches("(io\\.thalamus|org\\.osgi)\\..*");
      boolean isLog = hasLog && words[2].equals(FELIX_LOG);
      if (level < SERVER_LEVEL
          && !isForTerminals
          && !isLog
          && (!isDevice || isStarted(name, without))) {
        jars.add(home.resolve(words[1]));
      }
    }
    jars.add(proofs(root));
    return jars;
  }

  /** Other devices than those that the container starts by itself come when a proof asks. */
  private static boolean isStarted(String device, List<String> without) {
    return (device.equals("cpu") || device.equals("simd")) && !without.contains(device);
  }

  private static Path proofs(Path root) throws IOException {
    try (Stream<Path> files = Files.list(root.resolve("integration-tests/target"))) {
      return files
          .filter(file -> file.getFileName().toString().matches("io\\.thalamus\\..*\\.jar"))
          .findFirst()
          .orElseThrow(() -> new IOException("integration-tests is not built: ./mvnw package"));
    }
  }

  private void install(List<Path> jars) throws BundleException {
    BundleContext context = framework.getBundleContext();
    List<Bundle> bundles = new ArrayList<>();
    for (Path jar : jars) {
      bundles.add(context.installBundle("reference:" + jar.toUri()));
    }
    for (Bundle bundle : bundles) {
      if (bundle.getHeaders().get(Constants.FRAGMENT_HOST) == null) {
        bundle.start();
      }
    }
  }

  /**
   * Calls a proof, which tells its own figures.
   *
   * @throws Settings.UnknownOptionException where it does not take the options
   */
  void call(String proof, List<String> options, Figures figures) throws Exception {
    BundleContext context = framework.getBundleContext();
    long end = System.nanoTime() + PATIENCE_MILLIS * 1_000_000;
    while (System.nanoTime() < end) {
      for (ServiceReference<?> reference :
          context.getServiceReferences(
              BiFunction.class, "(" + FrameworkProof.NAME + "=" + proof + ")")) {
        @SuppressWarnings("unchecked") // what FrameworkProof says it is
        BiFunction<List<String>, Consumer<String>, Integer> service =
            (BiFunction<List<String>, Consumer<String>, Integer>) context.getService(reference);
        if (service.apply(options, figures::line) == FrameworkProof.WRONG_USAGE) {
          throw new Settings.UnknownOptionException("see above");
        }
        return;
      }
      Thread.sleep(PAUSE_MILLIS);
    }
    throw new IllegalStateException("the framework has no proof " + proof);
  }

  @Override
  public void close() throws IOException {
    try {
      framework.stop();
      framework.waitForStop(PATIENCE_MILLIS);
    } catch (BundleException e) {
      throw new IOException("the framework does not stop", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    try (Stream<Path> files = Files.walk(storage)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
