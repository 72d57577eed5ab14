// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkEvent;
import org.osgi.framework.wiring.BundleWiring;
import org.osgi.framework.wiring.FrameworkWiring;

/**
 * Updates and removes bundles, each with the refresh that belongs to it, and keeps an eye on the
 * class loaders that must go. Not thread-safe. Callers must not keep the bundles in variables while
 * they ask what is left.
 */
public final class Bundles {
  private static final long PATIENCE_SECONDS = 20;
  private static final long PAUSE_MILLIS = 50;

  private final BundleContext framework;
  private final List<WeakReference<ClassLoader>> gone = new ArrayList<>();

  /** Works in the framework of a context. */
  public Bundles(BundleContext context) {
    // Its own context: what is installed through another one is tracked with that.
    framework = context.getBundle(Constants.SYSTEM_BUNDLE_LOCATION).getBundleContext();
  }

  /** Returns the bundle of a symbolic name; empty if there is none. */
  public Optional<Bundle> find(String symbolicName) {
    return Arrays.stream(framework.getBundles())
        .filter(bundle -> symbolicName.equals(bundle.getSymbolicName()))
        .findFirst();
  }

  /** Installs and starts a bundle. */
  public Bundle install(String location, InputStream jar) throws BundleException, IOException {
    try (jar) {
      Bundle bundle = framework.installBundle(location, jar);
      bundle.start();
      return bundle;
    }
  }

  /** Replaces a running bundle's content; it runs again when this returns. */
  public void update(Bundle bundle, InputStream jar) throws BundleException, IOException {
    remember(bundle);
    try (jar) {
      bundle.update(jar);
    }
    refresh(bundle);
    bundle.start();
  }

  /** Removes a bundle. */
  public void uninstall(Bundle bundle) throws BundleException {
    remember(bundle);
    bundle.uninstall();
    refresh(bundle);
  }

  private void remember(Bundle bundle) {
    BundleWiring wiring = bundle.adapt(BundleWiring.class);
    if (wiring != null) {
      gone.add(new WeakReference<>(wiring.getClassLoader()));
    }
  }

  private void refresh(Bundle bundle) throws BundleException {
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
    try {
      if (!done.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new BundleException("the framework does not let go of " + bundle);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BundleException("interrupted while the framework refreshed", e);
    }
  }

  /** Returns the number of class loaders that should be gone: one for each update and removal. */
  public int departed() {
    return gone.size();
  }

  /** Those of them that still live, after the collector had some time. */
  public List<ClassLoader> leftLoaders() throws InterruptedException {
    return leftLoaders(Duration.ofSeconds(PATIENCE_SECONDS));
  }

  /** Those of them that still live, after the collector had so much time. */
  public List<ClassLoader> leftLoaders(Duration patience) throws InterruptedException {
    long end = System.nanoTime() + patience.toNanos();
    List<ClassLoader> left = living();
    while (!left.isEmpty() && System.nanoTime() < end) {
      left = List.of(); // or this list would hold them
      System.gc();
      Thread.sleep(PAUSE_MILLIS);
      left = living();
    }
    return left;
  }

  private List<ClassLoader> living() {
    List<ClassLoader> living = new ArrayList<>();
    for (WeakReference<ClassLoader> each : gone) {
      ClassLoader loader = each.get();
      if (loader != null) {
        living.add(loader);
      }
    }
    return living;
  }

  /** Names of living threads that begin so. */
  public static List<String> threads(String prefix) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(Thread::isAlive)
        .map(Thread::getName)
        .filter(name -> name.startsWith(prefix))
        .sorted()
        .toList();
  }

  /** Threads that would run code of, or hold, what is gone. */
  public List<String> threadsOfLeftLoaders() {
    List<ClassLoader> left = living();
    return Thread.getAllStackTraces().keySet().stream()
        .filter(
            thread ->
                left.contains(thread.getContextClassLoader())
                    || left.contains(thread.getClass().getClassLoader()))
        .map(Thread::getName)
        .sorted()
        .toList();
  }
}
