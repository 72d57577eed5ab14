// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.container;

import io.thalamus.api.NeuralNetworks;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Dictionary;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.ZipException;
import org.apache.felix.framework.FrameworkFactory;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkEvent;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceEvent;
import org.osgi.framework.ServiceListener;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.namespace.NativeNamespace;
import org.osgi.framework.wiring.BundleCapability;
import org.osgi.framework.wiring.BundleRequirement;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.framework.wiring.FrameworkWiring;
import org.osgi.util.tracker.ServiceTracker;

/** A framework with its bundles. Loaded with the framework's classes, by the loader of it. */
public final class FrameworkContainer implements Container {
  private static final long PATIENCE_SECONDS = 60;
  private static final List<String> CONTRACTS = List.of("memory", "model", "api");
  private static final String ADMIN = "org.osgi.service.cm.ConfigurationAdmin";
  private static final String DEVICE = "thalamus.device";
  private static final Pattern PACKAGE = Pattern.compile("osgi\\.wiring\\.package=([\\w.]+)");

  /** The service that is there as long as a device serves, and its property with their ids. */
  private static final String READY = "(osgi.condition.id=thalamus.ready)";

  private static final String DEVICES = "thalamus.devices";

  /** The property of a service by which a device bundle says why it has no device here. */
  private static final String UNAVAILABLE = "thalamus.device.unavailable";

  private final Framework framework;
  private final BundleContext context;
  private final List<String> problems = new ArrayList<>();
  private final NeuralNetworks networks;

  /**
   * Starts a framework with the bundles of the jar.
   *
   * @param properties framework properties, visible to all bundles
   * @throws Exception if it does not start
   */
  public FrameworkContainer(Map<String, String> properties) throws Exception {
    Map<String, String> configuration = new HashMap<>(properties);
    configuration.put(Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA, contracts());
    // Of the contracts' classes the framework knows no contents, but stored compilations depend on
    // them.
    configuration.put("thalamus.digests", text("contracts.sha256"));
    // The JDK's Flight Recorder adds calls of it to the code of each event.
    configuration.put(Constants.FRAMEWORK_BOOTDELEGATION, "jdk.jfr.internal.event");
    // A JVM has one factory of URL handlers, and it is the program's.
    configuration.put("felix.service.urlhandlers", "false");
    // The threads of a pool would keep all classes for a minute after the end.
    configuration.put("felix.resolver.parallelism", "1");
    framework = new FrameworkFactory().newFramework(configuration);
    boolean isStarted = false;
    try {
      framework.start();
      context = framework.getBundleContext();
      startBundles();
      networks =
          await(NeuralNetworks.class, "(objectClass=" + NeuralNetworks.class.getName() + ")");
      await(Object.class, READY);
      isStarted = true;
    } finally {
      if (!isStarted) {
        close();
      }
    }
  }

  /** Returns the packages that the framework takes from the program, with their versions. */
  private static String contracts() throws IOException {
    List<String> packages = new ArrayList<>();
    for (String contract : CONTRACTS) {
      try (InputStream stream =
          Container.open("contracts/io.thalamus." + contract + "-jar/META-INF/MANIFEST.MF")) {
        packages.add(new Manifest(stream).getMainAttributes().getValue(Constants.EXPORT_PACKAGE));
      }
    }
    return String.join(",", packages);
  }

  private static String text(String name) throws IOException {
    try (InputStream stream = Container.open(name)) {
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8).strip();
    }
  }

  private void startBundles() throws IOException, BundleException {
    String names = text("bundles.txt");
    List<Bundle> bundles = new ArrayList<>();
    for (String name : names.split(",")) {
      try (InputStream stream = Container.open("bundles/" + name)) {
        bundles.add(context.installBundle(name, stream));
      }
    }
    for (Bundle bundle : bundles) {
      try {
        bundle.start();
      } catch (BundleException e) {
        if (!isForeign(bundle)) {
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

  private <T> T await(Class<T> type, String filter)
      throws InvalidSyntaxException, InterruptedException, BundleException {
    ServiceTracker<T, T> tracker =
        new ServiceTracker<>(context, context.createFilter(filter), null);
    tracker.open(true);
    T service = tracker.waitForService(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
    if (service == null) {
      throw new BundleException(
          "nothing provides " + type.getName() + " " + filter + "; " + String.join("; ", problems));
    }
    return service;
  }

  @Override
  public NeuralNetworks neuralNetworks() {
    return networks;
  }

  @Override
  public List<String> problems() {
    List<String> all = new ArrayList<>(problems);
    try {
      ServiceReference<?>[] devices =
          context.getAllServiceReferences(null, "(" + UNAVAILABLE + "=*)");
      for (ServiceReference<?> device : devices == null ? new ServiceReference<?>[0] : devices) {
        all.add(String.valueOf(device.getProperty(UNAVAILABLE)));
      }
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
    return List.copyOf(all);
  }

  private static List<String> devices(ServiceReference<?> ready) {
    return ready.getProperty(DEVICES) instanceof String[] ids ? List.of(ids) : List.of();
  }

  @Override
  public Runnable listen(Consumer<List<String>> listener) {
    ServiceListener services =
        event ->
            listener.accept(
                event.getType() == ServiceEvent.UNREGISTERING
                    ? List.of()
                    : devices(event.getServiceReference()));
    try {
      context.addServiceListener(services, READY);
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
    return () -> context.removeServiceListener(services);
  }

  @Override
  public synchronized void install(Path file) throws IOException {
    Bundle present = find(symbolicName(file));
    try (InputStream stream = Files.newInputStream(file)) {
      if (present == null) {
        start(context.installBundle(file.toUri().toString(), stream));
      } else {
        update(present, stream);
      }
    } catch (BundleException e) {
      throw new IOException(file + " does not start: " + reason(present, e), e);
    }
  }

  private void start(Bundle bundle) throws IOException {
    try {
      bundle.start();
    } catch (BundleException e) {
      String reason = reason(bundle, e);
      remove(bundle);
      throw new IOException(bundle.getSymbolicName() + " does not start: " + reason, e);
    }
  }

  private void update(Bundle bundle, InputStream stream) throws BundleException, IOException {
    bundle.stop();
    try {
      bundle.update(stream);
      refresh(bundle);
    } finally {
      // If the update failed, the old one goes on.
      bundle.start();
    }
  }

  private static String symbolicName(Path file) throws IOException {
    if (!Files.isRegularFile(file)) {
      throw new IOException("there is no file " + file);
    }
    try (JarFile jar = new JarFile(file.toFile())) {
      Manifest manifest = jar.getManifest();
      String name =
          manifest == null
              ? null
              : manifest.getMainAttributes().getValue(Constants.BUNDLE_SYMBOLICNAME);
      if (name != null) {
        return name.split(";")[0].strip();
      }
    } catch (ZipException e) {
      throw new IOException(file + " is no bundle: " + e.getMessage(), e);
    }
    throw new IOException(file + " is no bundle: its manifest has no Bundle-SymbolicName");
  }

  private Bundle find(String symbolicName) {
    return Arrays.stream(context.getBundles())
        .filter(bundle -> symbolicName.equals(bundle.getSymbolicName()))
        .findFirst()
        .orElse(null);
  }

  @Override
  public synchronized void uninstall(String device) throws IOException {
    for (Bundle bundle : context.getBundles()) {
      BundleRevision revision = bundle.adapt(BundleRevision.class);
      for (BundleCapability capability : revision.getDeclaredCapabilities(DEVICE)) {
        if (device.equals(capability.getAttributes().get(DEVICE))) {
          remove(bundle);
          return;
        }
      }
    }
    throw new IOException("no device " + device + " is installed");
  }

  private void remove(Bundle bundle) throws IOException {
    try {
      bundle.uninstall();
    } catch (BundleException e) {
      throw new IOException(reason(bundle, e), e);
    }
    refresh(bundle);
  }

  /** By reflection: the types are of a bundle, and this class is none of its classes. */
  @Override
  public void configure(String part, Map<String, ?> settings) throws IOException {
    try {
      ServiceReference<?>[] admins = context.getAllServiceReferences(ADMIN, null);
      if (admins == null) {
        throw new IOException("settings cannot be changed: there is no " + ADMIN);
      }
      Bundle bundle = admins[0].getBundle();
      Object configuration =
          bundle
              .loadClass(ADMIN)
              .getMethod("getConfiguration", String.class, String.class)
              .invoke(context.getService(admins[0]), part, null);
      Class<?> type = bundle.loadClass(ADMIN.replace("Admin", ""));
      if (settings.isEmpty()) {
        type.getMethod("delete").invoke(configuration);
      } else {
        type.getMethod("update", Dictionary.class).invoke(configuration, new Hashtable<>(settings));
      }
    } catch (InvocationTargetException e) {
      throw new IOException(part + " cannot take " + settings + ": " + e.getCause(), e);
    } catch (ReflectiveOperationException | InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Lets go of the old classes. */
  private void refresh(Bundle bundle) throws IOException {
    CountDownLatch done = new CountDownLatch(1);
    framework
        .adapt(FrameworkWiring.class)
        .refreshBundles(
            List.of(bundle),
            event -> {
              if (event.getType() == FrameworkEvent.PACKAGES_REFRESHED) {
                done.countDown();
              }
            });
    try {
      if (!done.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new IOException(bundle + " is still in use after " + PATIENCE_SECONDS + " s");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for " + bundle, e);
    }
  }

  /** Returns the package that is missing if that is the reason, since Felix's own text is long. */
  private String reason(Bundle bundle, BundleException e) {
    BundleRevision revision = bundle == null ? null : bundle.adapt(BundleRevision.class);
    FrameworkWiring wiring = framework.adapt(FrameworkWiring.class);
    if (revision != null) {
      for (BundleRequirement requirement :
          revision.getDeclaredRequirements(BundleRevision.PACKAGE_NAMESPACE)) {
        Map<String, String> directives = requirement.getDirectives();
        boolean isOptional = "optional".equals(directives.get(Constants.RESOLUTION_DIRECTIVE));
        Matcher name = PACKAGE.matcher(directives.getOrDefault(Constants.FILTER_DIRECTIVE, ""));
        if (!isOptional && name.find() && wiring.findProviders(requirement).isEmpty()) {
          String missing = name.group(1);
          return "nothing here has the package "
              + missing
              + (missing.startsWith("jdk.") ? "; the JVM wants --add-modules=" + missing : "");
        }
      }
    }
    return Objects.toString(e.getMessage(), "").lines().findFirst().orElse("");
  }

  @Override
  public void close() throws IOException {
    try {
      framework.stop();
      framework.waitForStop(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
    } catch (BundleException e) {
      throw new IOException("the framework does not stop: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
