// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.management.JMException;
import org.osgi.framework.BundleContext;

/** Looks for what is left of device bundles that have gone. Stateless. */
final class Leftovers {
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final long PAUSE_MILLIS = 200;

  private final BundleContext context;

  Leftovers(BundleContext context) {
    this.context = context;
  }

  /** Tells class loaders, classes and threads that are left, and promises that none is. */
  void tell(List<String> devices, Bundles bundles, Figures figures) throws Exception {
    List<ClassLoader> left = bundles.leftLoaders();
    figures.figure("loadersDeparted", bundles.departed());
    figures.figure("loadersLeft", left.size());
    figures.promise("no class loader of an old bundle is left", left.isEmpty());
    figures.promise("no thread holds an old bundle", bundles.threadsOfLeftLoaders().isEmpty());
    Heap heap = settled(devices);
    for (String device : devices) {
      List<String> threads = Bundles.threads("thalamus-" + device);
      String classes = heap.classes().get(device);
      figures.figure("threadsLeft." + device, threads);
      figures.figure("classesLeft." + device, classes == null ? "none" : classes);
      figures.promise("no thread of " + device + " is left", threads.isEmpty());
      figures.promise("no class of " + device + " is loaded", classes == null);
    }
    figures.figure("bundleLoadersOnHeap", heap.loaders());
    figures.figure("bundlesWithLoader", heap.bundles());
    figures.promise(
        "the heap has no more bundle class loaders than there are bundles",
        heap.loaders() <= heap.bundles());
  }

  /**
   * The contents of the heap.
   *
   * @param loaders of bundles
   * @param bundles that have one
   * @param classes by device, one that is still loaded
   */
  private record Heap(long loaders, long bundles, Map<String, String> classes) {
    boolean isClean() {
      return loaders <= bundles && classes.isEmpty();
    }
  }

  /**
   * The heap as soon as nothing is left, or as it is in the end. A compiler of the JVM holds the
   * class loader of the method that it is at, also of a framework that this process had before.
   */
  private Heap settled(List<String> devices) throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    Heap heap = look(devices);
    while (!heap.isClean() && System.nanoTime() - end < 0) {
      Thread.sleep(PAUSE_MILLIS);
      heap = look(devices);
    }
    return heap;
  }

  private Heap look(List<String> devices) throws JMException {
    HeapCheck check = new HeapCheck(context);
    Map<String, String> classes = new HashMap<>();
    for (String device : devices) {
      check
          .classesLoaded("io.thalamus." + device + ".")
          .ifPresent(loaded -> classes.put(device, loaded));
    }
    return new Heap(check.loadersOnHeap(), check.bundlesWithLoader(), classes);
  }
}
