// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.update;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.felix.framework.FrameworkFactory;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.wiring.BundleWiring;
import org.osgi.framework.wiring.FrameworkWiring;

/** Installs, uses and updates one engine in a framework of this process. Used by one thread. */
final class Exercise {
  private static final int COLLECTIONS = 10;
  private static final long PAUSE_MILLIS = 50;

  private final PeerBundle peer;
  private final Framework framework;
  private final Path folder;
  private final List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
  private int failed;

  private Exercise(PeerBundle peer, Framework framework, Path folder) {
    this.peer = peer;
    this.framework = framework;
    this.folder = folder;
  }

  /**
   * Prints what happens at the first start and at each update.
   *
   * @return how many starts failed
   */
  static int run(PeerBundle peer, int updates, Path folder) throws Exception {
    Framework framework =
        new FrameworkFactory()
            .newFramework(
                Map.of(
                    Constants.FRAMEWORK_STORAGE,
                    folder.resolve("cache").toString(),
                    Constants.FRAMEWORK_BOOTDELEGATION,
                    "javax.*,sun.*,jdk.*,org.w3c.*,org.xml.*"));
    framework.start();
    Exercise exercise = new Exercise(peer, framework, folder);
    try {
      exercise.run(updates);
    } finally {
      framework.stop();
      framework.waitForStop(0);
    }
    return exercise.failed;
  }

  private void run(int updates) throws Exception {
    Bundle bundle = null;
    for (int round = 0; round <= updates; round++) {
      Path file = folder.resolve("peer-" + round + ".jar");
      peer.write(file, round + 1);
      if (bundle == null) {
        bundle = framework.getBundleContext().installBundle(file.toUri().toString());
      } else {
        bundle.stop(); // an update of an active bundle would start it at once
        try (InputStream stream = Files.newInputStream(file)) {
          bundle.update(stream);
        }
        refresh(bundle);
      }
      String key = peer.name() + (round == 0 ? ".installed" : ".update" + round);
      use(bundle, key);
      report(key);
      Files.delete(file);
    }
  }

  private void use(Bundle bundle, String key) {
    try {
      bundle.start();
      System.out.println(key + ".works = true");
    } catch (BundleException e) {
      failed++;
      Throwable cause = e;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      System.out.println(key + ".works = false");
      System.out.println(key + ".because = " + cause.toString().lines().findFirst().orElse(""));
    }
    loaders.add(new WeakReference<>(bundle.adapt(BundleWiring.class).getClassLoader()));
  }

  private void refresh(Bundle bundle) throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    framework
        .adapt(FrameworkWiring.class)
        .refreshBundles(List.of(bundle), event -> done.countDown());
    done.await();
  }

  private void report(String key) throws IOException, InterruptedException {
    for (int i = 0; i < COLLECTIONS; i++) {
      System.gc();
      Thread.sleep(
          PAUSE_MILLIS); // for the collector's own clean-up, which nothing tells the end of
    }
    long left = loaders.stream().filter(loader -> loader.get() != null).count();
    MappedLibraries mapped = MappedLibraries.now(peer.natives());
    System.out.println(key + ".classLoaders = " + left);
    System.out.println(key + ".mappedLibraries = " + mapped.count());
    System.out.println(key + ".mappedBytes = " + mapped.bytes());
  }
}
