// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.osgi.framework.BundleContext;

/** Looks for what is left of device bundles that have gone. Stateless. */
final class Leftovers {
  private final BundleContext context;

  Leftovers(BundleContext context) {
    this.context = context;
  }

  /** Tells class loaders, classes and threads that are left, and promises that none is. */
  void tell(List<String> devices, Bundles bundles, Figures figures) throws Exception {
    HeapCheck heap = new HeapCheck(context);
    List<ClassLoader> left = bundles.leftLoaders();
    figures.figure("loadersDeparted", bundles.departed());
    figures.figure("loadersLeft", left.size());
    figures.promise("no class loader of an old bundle is left", left.isEmpty());
    figures.promise("no thread holds an old bundle", bundles.threadsOfLeftLoaders().isEmpty());
    for (String device : devices) {
      List<String> threads = Bundles.threads("thalamus-" + device);
      Optional<String> classes = heap.classesLoaded("io.thalamus." + device + ".");
      figures.figure("threadsLeft." + device, threads);
      figures.figure("classesLeft." + device, classes.orElse("none"));
      figures.promise("no thread of " + device + " is left", threads.isEmpty());
      figures.promise("no class of " + device + " is loaded", classes.isEmpty());
    }
    Map<String, Long> loaders = heap.loaders();
    figures.figure("bundleLoadersOnHeap", loaders.get(HeapCheck.ON_HEAP));
    figures.figure("bundlesWithLoader", loaders.get(HeapCheck.EXPECTED));
    figures.promise(
        "the heap has no more bundle class loaders than there are bundles",
        loaders.get(HeapCheck.ON_HEAP) <= loaders.get(HeapCheck.EXPECTED));
  }
}
