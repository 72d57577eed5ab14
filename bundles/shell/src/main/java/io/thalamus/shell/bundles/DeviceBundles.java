// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import io.thalamus.api.DeviceDescription;
import io.thalamus.console.CommandException;
import io.thalamus.console.Reasons;
import io.thalamus.hal.DeviceDriver;
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkEvent;
import org.osgi.framework.wiring.BundleCapability;
import org.osgi.framework.wiring.BundleRevision;
import org.osgi.framework.wiring.FrameworkWiring;

/**
 * The bundles that bring devices. Works through the framework's own context, so that what is
 * installed does not go with this bundle. Stateless.
 */
public final class DeviceBundles {
  private static final String PREFIX = "io.thalamus.";
  private static final String REFERENCE = "reference:";
  private static final long PATIENCE_SECONDS = 10;

  private final BundleContext framework;
  private final Optional<Path> home;

  /**
   * Works in the framework of a context.
   *
   * @param context of any bundle of it
   */
  public DeviceBundles(BundleContext context) {
    this.framework = context.getBundle(Constants.SYSTEM_BUNDLE_LOCATION).getBundleContext();
    this.home = Optional.ofNullable(context.getProperty("thalamus.home")).map(Path::of);
  }

  /** The bundles here that bring a device. */
  public List<Bundle> here() {
    return Arrays.stream(framework.getBundles())
        .filter(bundle -> !devices(bundle).isEmpty())
        .toList();
  }

  /** The short names of the devices that a bundle says it brings. */
  public static List<String> devices(Bundle bundle) {
    BundleRevision revision = bundle.adapt(BundleRevision.class);
    return revision == null
        ? List.of()
        : revision.getDeclaredCapabilities(DeviceDriver.NAMESPACE).stream()
            .map(BundleCapability::getAttributes)
            .map(attributes -> String.valueOf(attributes.get(DeviceDriver.NAMESPACE)))
            .toList();
  }

  /** The short names of the device bundles of the distribution. */
  public List<String> available() {
    List<String> names = new ArrayList<>();
    Path folder = home.map(path -> path.resolve("devices")).orElse(null);
    if (folder == null || !Files.isDirectory(folder)) {
      return names;
    }
    try (Stream<Path> files = Files.list(folder)) {
      files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.startsWith(PREFIX) && name.endsWith(".jar"))
          .sorted()
          .forEach(name -> names.add(name.substring(PREFIX.length(), name.length() - 4)));
    } catch (IOException unreadable) {
      return names; // then only files can be installed
    }
    return names;
  }

  /**
   * Installs and starts a bundle.
   *
   * @param word the short name of a device bundle of the distribution, or else a file
   * @param file the word as a file
   * @param isIsolated whether its driver runs in a process of its own
   * @throws CommandException where there is none, it runs already, or it does not start; then
   *     nothing is left of what was not here before
   */
  public Bundle install(String word, Path file, boolean isIsolated) {
    boolean named = available().contains(word);
    Path jar = named ? jar(word) : file;
    if (Files.isDirectory(jar)) {
      throw new CommandException(jar + " is a directory, not a bundle's jar");
    }
    if (!Files.isRegularFile(jar)) {
      throw new CommandException(
          "there is no file %s, and no device bundle of that name; there are: %s"
              .formatted(file, String.join(", ", available())));
    }
    String name = symbolicName(jar);
    for (Bundle bundle : framework.getBundles()) {
      if (name.equals(bundle.getSymbolicName())) {
        if (bundle.getState() == Bundle.ACTIVE) {
          throw new CommandException(
              name + " is installed already, as bundle " + bundle.getBundleId() + "; nn:update it");
        }
        if (isIsolated != bundle.getLocation().startsWith(DeviceDriver.ISOLATED_LOCATION)) {
          throw new CommandException(
              name + " is installed in another way, and stopped; nn:uninstall it first");
        }
        return start(bundle);
      }
    }
    if (isIsolated) {
      return installFrom(jar, name, DeviceDriver.ISOLATED_LOCATION);
    }
    // The launcher refers to bundles of the distribution in the same way.
    return install(name, (named ? REFERENCE : "") + jar.toUri(), null);
  }

  private Path jar(String word) {
    return home.orElseThrow().resolve("devices/" + PREFIX + word + ".jar");
  }

  /**
   * Installs and starts a bundle of the distribution whose device is only looked at.
   *
   * @throws CommandException where there is none, it is installed, or it does not start
   */
  Bundle tryOut(String word) {
    if (!available().contains(word)) {
      throw new CommandException(
          "no device "
              + word
              + " is here, and the distribution has no bundle of that name; it has: "
              + String.join(", ", available()));
    }
    String name = PREFIX + word;
    for (Bundle bundle : framework.getBundles()) {
      if (name.equals(bundle.getSymbolicName())) {
        throw new CommandException(
            name + " is installed, but its device does not serve; nn:devices says why");
      }
    }
    return installFrom(jar(word), name, DeviceDescription.TRIAL_LOCATION);
  }

  /** Installs a jar under a location that says what becomes of its device. */
  private Bundle installFrom(Path jar, String name, String prefix) {
    try (InputStream in = new BufferedInputStream(Files.newInputStream(jar))) {
      return install(name, prefix + jar.toUri(), in);
    } catch (IOException e) {
      throw new CommandException("cannot read " + jar + ": " + Reasons.of(e), e);
    }
  }

  private Bundle install(String name, String location, InputStream contents) {
    Bundle bundle = null;
    try {
      bundle = framework.installBundle(location, contents);
      requireDevice(bundle);
      bundle.start();
      return bundle;
    } catch (BundleException e) {
      if (bundle == null) {
        throw new CommandException(reason(name, e), e);
      }
      CommandException failure = new CommandException(reason(bundle, e), e);
      remove(bundle, failure);
      throw failure;
    }
  }

  private static void requireDevice(Bundle bundle) throws BundleException {
    if (devices(bundle).isEmpty()) {
      throw new BundleException(
          "it brings no device: it lacks the capability " + DeviceDriver.NAMESPACE);
    }
  }

  /** One that was installed before and does not run. */
  private Bundle start(Bundle bundle) {
    try {
      bundle.start();
      return bundle;
    } catch (BundleException e) {
      throw new CommandException(reason(bundle, e), e);
    }
  }

  private static void remove(Bundle bundle, CommandException failure) {
    try {
      bundle.uninstall();
    } catch (BundleException e) {
      failure.addSuppressed(e);
    }
  }

  /**
   * Replaces a bundle by its file as that is now, or by another one, and lets go of the old
   * classes. One that ran is back where the new one does not start.
   *
   * @throws CommandException where there is no such device bundle, or the new one does not start
   */
  public Bundle update(String word, Optional<Path> file) throws InterruptedException {
    Bundle bundle = find(word);
    Optional<byte[]> before = contents(bundle, file.isPresent());
    try {
      if (file.isPresent()) {
        String name = symbolicName(file.get());
        if (!name.equals(bundle.getSymbolicName())) {
          throw new CommandException(
              file.get() + " holds " + name + ", not " + bundle.getSymbolicName());
        }
        update(bundle, file.get());
      } else if (bundle.getLocation().startsWith(DeviceDriver.ISOLATED_LOCATION)) {
        String source = bundle.getLocation().substring(DeviceDriver.ISOLATED_LOCATION.length());
        update(bundle, Path.of(URI.create(source)));
      } else {
        bundle.update();
      }
      restart(bundle);
      return bundle;
    } catch (BundleException e) {
      String reason = reason(bundle, e);
      if (before.isEmpty()) {
        throw new CommandException(reason, e);
      }
      throw takenBack(bundle, before.get(), reason, e);
    }
  }

  /**
   * Returns the contents of a bundle that runs, if its own file is not the one that was changed.
   */
  private static Optional<byte[]> contents(Bundle bundle, boolean hasFile) {
    boolean isRead = hasFile || !bundle.getLocation().startsWith(REFERENCE);
    if (bundle.getState() != Bundle.ACTIVE || !isRead) {
      return Optional.empty();
    }
    try {
      return Optional.of(BundleContents.of(bundle));
    } catch (IOException unreadable) {
      return Optional.empty(); // then an update is as good as the new bundle
    }
  }

  /** Brings back what a bundle was; returns why the other one did not stay. */
  private CommandException takenBack(
      Bundle bundle, byte[] before, String reason, BundleException cause)
      throws InterruptedException {
    try {
      bundle.update(new ByteArrayInputStream(before));
      restart(bundle);
      return new CommandException(
          reason + "; version " + bundle.getVersion() + ", which was here, serves again", cause);
    } catch (BundleException e) {
      cause.addSuppressed(e);
      return new CommandException(reason, cause);
    }
  }

  private void restart(Bundle bundle) throws BundleException, InterruptedException {
    refresh(bundle);
    requireDevice(bundle);
    if (bundle.getState() != Bundle.ACTIVE) {
      bundle.start();
    }
  }

  private static void update(Bundle bundle, Path file) throws BundleException {
    try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
      bundle.update(in);
    } catch (IOException e) {
      throw new CommandException("cannot read " + file + ": " + Reasons.of(e), e);
    }
  }

  /**
   * Stops and removes a bundle, and lets go of its classes.
   *
   * @return its symbolic name
   * @throws CommandException where there is no such device bundle, or it does not stop
   */
  public String uninstall(String word) throws InterruptedException {
    Bundle bundle = find(word);
    remove(bundle);
    return bundle.getSymbolicName();
  }

  /** Stops and removes a bundle, and lets go of its classes. */
  void remove(Bundle bundle) throws InterruptedException {
    try {
      bundle.uninstall();
    } catch (BundleException e) {
      throw new CommandException(reason(bundle.getSymbolicName(), e), e);
    }
    refresh(bundle);
  }

  private Bundle find(String word) {
    for (Bundle bundle : here()) {
      if (word.equals(Long.toString(bundle.getBundleId()))
          || word.equals(bundle.getSymbolicName())
          || (PREFIX + word).equals(bundle.getSymbolicName())
          || devices(bundle).contains(word)) {
        return bundle;
      }
    }
    for (Bundle bundle : framework.getBundles()) {
      if (word.equals(Long.toString(bundle.getBundleId()))
          || word.equals(bundle.getSymbolicName())
          || (PREFIX + word).equals(bundle.getSymbolicName())) {
        throw new CommandException(
            bundle.getSymbolicName()
                + " brings no device; Felix's own update and uninstall do that to any bundle");
      }
    }
    throw CommandException.missing("no device bundle " + word + " is installed", names(here()));
  }

  private static List<String> names(List<Bundle> bundles) {
    return bundles.stream().flatMap(bundle -> devices(bundle).stream()).sorted().toList();
  }

  /** Without it the old class loader would live on, and the old classes with it. */
  private void refresh(Bundle bundle) throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    framework
        .getBundle()
        .adapt(FrameworkWiring.class)
        .refreshBundles(
            List.of(bundle),
            event -> {
              if (event.getType() == FrameworkEvent.PACKAGES_REFRESHED) {
                done.countDown();
              }
            });
    if (!done.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new CommandException(
          "the framework did not let go of %s within %s s"
              .formatted(bundle.getSymbolicName(), PATIENCE_SECONDS));
    }
  }

  /**
   * The symbolic name that a jar's manifest gives.
   *
   * @throws CommandException where the file is no bundle; the message begins with the file
   */
  static String symbolicName(Path jar) {
    try (JarFile file = new JarFile(jar.toFile())) {
      String header =
          file.getManifest() == null
              ? null
              : file.getManifest().getMainAttributes().getValue(Constants.BUNDLE_SYMBOLICNAME);
      if (header == null) {
        throw new CommandException(jar + " is no bundle: it has no symbolic name");
      }
      return header.split(";")[0].strip();
    } catch (NoSuchFileException e) {
      throw new CommandException("there is no file " + jar, e);
    } catch (IOException e) {
      throw new CommandException(jar + " is no bundle: " + Reasons.of(e), e);
    }
  }

  /** Describes what a bundle lacks to be resolved; empty if it lacks nothing of that kind. */
  public Optional<String> missing(Bundle bundle) {
    return Missing.of(bundle, framework);
  }

  /** Felix's long text only where neither a package nor a JDK is missing. */
  private String reason(Bundle bundle, BundleException e) {
    boolean unresolved = bundle.getState() == Bundle.INSTALLED;
    return (unresolved ? missing(bundle) : Optional.<String>empty())
        .map(missing -> bundle.getSymbolicName() + " cannot be resolved: " + missing)
        .orElseGet(() -> reason(bundle.getSymbolicName(), e));
  }

  private static String reason(String name, BundleException e) {
    Throwable cause = e.getCause();
    String end =
        cause == null || cause.getMessage() == null
            ? String.valueOf(e.getMessage())
            : cause.getMessage();
    return name + " does not start: " + end.strip().lines().findFirst().orElse("");
  }
}
