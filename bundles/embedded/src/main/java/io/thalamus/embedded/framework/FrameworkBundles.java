// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.framework;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.burst.BurstService;
import io.thalamus.burst.QueueBurstService;
import io.thalamus.cache.CacheEngine;
import io.thalamus.embedded.container.Container;
import io.thalamus.embedded.container.DeviceBundles;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.operations.OperationExtension;
import io.thalamus.runtime.policy.PartitionPolicy;
import java.io.ByteArrayInputStream;
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
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.felix.framework.FrameworkFactory;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkEvent;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceFactory;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.wiring.BundleCapability;
import org.osgi.framework.wiring.BundleRequirement;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.framework.wiring.FrameworkWiring;
import org.osgi.util.tracker.ServiceTracker;

/**
 * A framework with bundles of devices, which takes what these need from the parts that are plain
 * classes, and gives them what these bring. Loaded with the framework's classes, by the loader of
 * it.
 */
public final class FrameworkBundles implements DeviceBundles {
  private static final long PATIENCE_SECONDS = 60;

  /** The bundles whose packages the framework takes from the program's classes. */
  private static final List<String> CONTRACTS =
      List.of("memory", "model", "api", "hal", "operations", "cache", "burst", "runtime");

  private static final String ADMIN = "org.osgi.service.cm.ConfigurationAdmin";
  private static final Pattern PACKAGE = Pattern.compile("osgi\\.wiring\\.package=([\\w.]+)");

  private final Framework framework;
  private final BundleContext context;

  /** The files that were installed, by the bundle: there before its devices are. */
  private final SortedMap<Long, Jar> jars = new ConcurrentSkipListMap<>();

  /** The contents of a file. */
  private record Jar(byte[] bytes, String digest) {
    static Jar of(byte[] bytes) {
      return new Jar(bytes, HexFormat.of().formatHex(Digests.sha256().digest(bytes)));
    }

    InputStream stream() {
      return new ByteArrayInputStream(bytes);
    }
  }

  /**
   * Starts a framework.
   *
   * @param parts what it is for
   * @param properties framework properties, visible to all bundles
   * @throws Exception if it does not start
   */
  public FrameworkBundles(Container parts, Map<String, String> properties) throws Exception {
    Map<String, String> configuration = new HashMap<>(properties);
    configuration.put(Constants.FRAMEWORK_SYSTEMPACKAGES_EXTRA, contracts());
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
      offer(CacheEngine.class, parts::engine);
      offer(BurstService.class, user -> new QueueBurstService());
      offer(NeuralNetworks.class, parts::networks);
      startBundles();
      track(Device.class, parts.registry()::addDevice, parts.registry()::removeDevice);
      track(ModelReader.class, drop(parts.loader()::addReader), parts.loader()::removeReader);
      track(
          PartitionPolicy.class, drop(parts.policies()::addPolicy), parts.policies()::removePolicy);
      track(
          OperationExtension.class,
          drop(parts.rules()::addExtension),
          parts.rules()::removeExtension);
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
      packages.add(
          Container.manifest(contract).getMainAttributes().getValue(Constants.EXPORT_PACKAGE));
    }
    return String.join(",", packages);
  }

  /** Offers a service of which each bundle has its own, named by the bundle. */
  private <T extends AutoCloseable> void offer(
      Class<? super T> type, Function<String, ? extends T> make) {
    context.registerService(
        type.getName(),
        new ServiceFactory<T>() {
          @Override
          public T getService(Bundle user, ServiceRegistration<T> registration) {
            return make.apply(user.getSymbolicName());
          }

          @Override
          public void ungetService(Bundle user, ServiceRegistration<T> registration, T service) {
            try {
              service.close();
            } catch (Exception e) {
              throw new IllegalStateException(user + " does not give back " + service, e);
            }
          }
        },
        null);
  }

  private static <T> BiConsumer<T, Map<String, Object>> drop(Consumer<T> taker) {
    return (service, properties) -> taker.accept(service);
  }

  /** Hands on the services of bundles, with their properties. */
  private <T> void track(Class<T> type, BiConsumer<T, Map<String, Object>> come, Consumer<T> go) {
    new ServiceTracker<T, T>(context, type, null) {
      @Override
      public T addingService(ServiceReference<T> reference) {
        T service = super.addingService(reference);
        if (service != null) {
          Map<String, Object> properties = new HashMap<>();
          for (String name : reference.getPropertyKeys()) {
            properties.put(name, reference.getProperty(name));
          }
          come.accept(service, properties);
        }
        return service;
      }

      @Override
      public void removedService(ServiceReference<T> reference, T service) {
        go.accept(service);
        super.removedService(reference, service);
      }
    }.open();
  }

  private void startBundles() throws IOException, BundleException {
    String names;
    try (InputStream stream = Container.open("bundles.txt")) {
      names = new String(stream.readAllBytes(), StandardCharsets.UTF_8).strip();
    }
    List<Bundle> bundles = new ArrayList<>();
    for (String name : names.split(",")) {
      try (InputStream stream = Container.open("bundles/" + name)) {
        bundles.add(context.installBundle(name, stream));
      }
    }
    for (Bundle bundle : bundles) {
      bundle.start();
    }
  }

  @Override
  public List<String> problems() {
    List<String> all = new ArrayList<>();
    try {
      ServiceReference<?>[] devices =
          context.getAllServiceReferences(null, "(" + DeviceDriver.UNAVAILABLE + "=*)");
      for (ServiceReference<?> device : devices == null ? new ServiceReference<?>[0] : devices) {
        all.add(String.valueOf(device.getProperty(DeviceDriver.UNAVAILABLE)));
      }
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
    return List.copyOf(all);
  }

  @Override
  public String digest() {
    return jars.values().stream().map(Jar::digest).collect(Collectors.joining(" "));
  }

  @Override
  public synchronized void install(String name, Path file) throws IOException {
    Jar jar = Jar.of(Files.readAllBytes(file));
    Bundle present = find(name);
    try {
      if (present == null) {
        start(context.installBundle(file.toUri().toString(), jar.stream()), jar);
      } else {
        update(present, jar, file);
      }
    } catch (BundleException e) {
      throw new IOException(file + " does not start: " + reason(present, e), e);
    }
  }

  private void start(Bundle bundle, Jar jar) throws IOException {
    jars.put(bundle.getBundleId(), jar);
    try {
      bundle.start();
    } catch (BundleException e) {
      String reason = reason(bundle, e);
      remove(bundle);
      throw new IOException(bundle.getSymbolicName() + " does not start: " + reason, e);
    }
  }

  private void update(Bundle bundle, Jar jar, Path file) throws BundleException, IOException {
    Jar before = jars.get(bundle.getBundleId());
    try {
      replace(bundle, jar);
    } catch (BundleException e) {
      if (before == null) {
        // One of the framework's own, which goes on.
        jars.remove(bundle.getBundleId());
        bundle.start();
        throw e;
      }
      String reason = reason(bundle, e);
      replace(bundle, before);
      throw new IOException(
          "%s does not start: %s; version %s, which was here, serves again"
              .formatted(file, reason, bundle.getVersion()),
          e);
    }
  }

  private void replace(Bundle bundle, Jar jar) throws BundleException, IOException {
    bundle.stop();
    jars.put(bundle.getBundleId(), jar);
    bundle.update(jar.stream());
    try {
      refresh(bundle);
    } finally {
      bundle.start();
    }
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
      for (BundleCapability capability : revision.getDeclaredCapabilities(DeviceDriver.NAMESPACE)) {
        if (device.equals(capability.getAttributes().get(DeviceDriver.NAMESPACE))) {
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
    jars.remove(bundle.getBundleId());
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
          if (isExported(missing)) {
            return "it takes another version of the package " + missing + " than is here";
          }
          return "nothing here has the package "
              + missing
              + (missing.startsWith("jdk.") ? "; the JVM wants --add-modules=" + missing : "");
        }
      }
    }
    return Objects.toString(e.getMessage(), "").lines().findFirst().orElse("");
  }

  private boolean isExported(String name) {
    return Arrays.stream(framework.getBundleContext().getBundles())
        .map(each -> each.adapt(BundleRevision.class))
        .filter(Objects::nonNull)
        .flatMap(each -> each.getDeclaredCapabilities(BundleRevision.PACKAGE_NAMESPACE).stream())
        .anyMatch(each -> name.equals(each.getAttributes().get(BundleRevision.PACKAGE_NAMESPACE)));
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
