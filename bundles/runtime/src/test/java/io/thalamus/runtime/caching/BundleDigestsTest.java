// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.thalamus.cache.CacheEngine;
import io.thalamus.cache.FileCacheEngine;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarOutputStream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkEvent;
import org.osgi.framework.launch.Framework;
import org.osgi.framework.launch.FrameworkFactory;
import org.osgi.framework.wiring.FrameworkWiring;

/** The digest of the code of a device, over bundles of a framework. */
class BundleDigestsTest {
  @TempDir Path folder;

  private final TestRuntime runtime = TestRuntime.of();
  private Framework framework;
  private Bundle home;
  private BundleDigests digests;

  @BeforeEach
  void start() throws Exception {
    start(Map.of());
  }

  private void start(Map<String, String> more) throws Exception {
    Map<String, String> configuration = new HashMap<>(more);
    configuration.put(
        Constants.FRAMEWORK_STORAGE, folder.resolve("framework" + more.hashCode()).toString());
    // Other tests of this process have URLs, too.
    configuration.put("felix.service.urlhandlers", "false");
    framework =
        ServiceLoader.load(FrameworkFactory.class)
            .findFirst()
            .orElseThrow()
            .newFramework(configuration);
    framework.start();
    home = install("home", Jar.named("home"));
    digests = new BundleDigests(home.getBundleContext());
  }

  @AfterEach
  void stop() throws Exception {
    runtime.close();
    framework.stop();
    framework.waitForStop(TimeUnit.SECONDS.toMillis(30));
  }

  /** A bundle's file in the making: its headers, and its entries in order. */
  private record Jar(Map<String, String> headers, Map<String, byte[]> entries, List<String> order) {
    static Jar named(String name) {
      return new Jar(
          Map.of(Constants.BUNDLE_MANIFESTVERSION, "2", Constants.BUNDLE_SYMBOLICNAME, name),
          Map.of(),
          List.of());
    }

    Jar header(String name, String value) {
      Map<String, String> more = new HashMap<>(headers);
      more.put(name, value);
      return new Jar(more, entries, order);
    }

    Jar entry(String name, byte[] content) {
      Map<String, byte[]> more = new HashMap<>(entries);
      more.put(name, content);
      List<String> last = new ArrayList<>(order);
      last.remove(name);
      last.add(name);
      return new Jar(headers, more, last);
    }

    Jar entry(String name, String content) {
      return entry(name, content.getBytes(StandardCharsets.UTF_8));
    }

    byte[] manifest() {
      StringBuilder text = new StringBuilder("Manifest-Version: 1.0\n");
      headers.keySet().stream()
          .sorted()
          .forEach(name -> text.append(name + ": " + headers.get(name) + "\n"));
      return text.append('\n').toString().getBytes(StandardCharsets.UTF_8);
    }

    byte[] bytes() throws IOException {
      return bytes(0, Deflater.BEST_COMPRESSION);
    }

    byte[] bytes(long time, int level) throws IOException {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (JarOutputStream jar = new JarOutputStream(bytes)) {
        jar.setLevel(level);
        write(jar, "META-INF/MANIFEST.MF", manifest(), time);
        for (String name : order) {
          write(jar, name, entries.get(name), time);
        }
      }
      return bytes.toByteArray();
    }

    private static void write(JarOutputStream jar, String name, byte[] content, long time)
        throws IOException {
      ZipEntry entry = new ZipEntry(name);
      entry.setTime(time);
      jar.putNextEntry(entry);
      jar.write(content);
    }
  }

  private Bundle install(String location, Jar jar) throws Exception {
    return install(location, jar.bytes());
  }

  private Bundle install(String location, byte[] jar) throws Exception {
    Bundle bundle =
        framework
            .getBundleContext()
            .installBundle("test:" + location, new ByteArrayInputStream(jar));
    if (bundle.getHeaders().get(Constants.FRAGMENT_HOST) == null) {
      bundle.start();
    }
    return bundle;
  }

  private void refresh(Bundle... bundles) throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    framework
        .adapt(FrameworkWiring.class)
        .refreshBundles(
            List.of(bundles),
            event -> {
              if (event.getType() == FrameworkEvent.PACKAGES_REFRESHED) {
                done.countDown();
              }
            });
    assertTrue(done.await(30, TimeUnit.SECONDS), "the framework does not refresh");
  }

  private static void update(Bundle bundle, Jar jar) throws BundleException, IOException {
    bundle.update(new ByteArrayInputStream(jar.bytes()));
  }

  private String digest(Bundle bundle) throws IOException {
    return digest(digests, bundle);
  }

  private String digest(BundleDigests by, Bundle bundle) throws IOException {
    LimitedDevice device = LimitedDevice.all("a", 0.5);
    runtime.registry.addDevice(device, Map.of("service.bundleid", bundle.getBundleId()));
    try {
      byte[] digest = by.of(runtime.registry.devices().getFirst());
      assertEquals(32, digest.length);
      return HexFormat.of().formatHex(digest);
    } finally {
      runtime.remove(device);
    }
  }

  /** The digest of a bundle that comes and goes. */
  private String digest(String location, byte[] jar) throws Exception {
    Bundle bundle = install(location, jar);
    String digest = digest(bundle);
    bundle.uninstall();
    refresh(bundle);
    return digest;
  }

  private static Jar driver() {
    return Jar.named("driver")
        .header(Constants.BUNDLE_VERSION, "1.0.0")
        .entry("a/Driver.class", new byte[] {1, 2, 3, 4})
        .entry("a/b/c/table.bin", new byte[1 << 16])
        .entry("empty", new byte[0]);
  }

  @Test
  void whateverABundleContainsCounts() throws Exception {
    byte[] table = new byte[1 << 16];
    table[table.length - 1] = 1;
    List<Jar> all =
        List.of(
            driver(),
            driver().entry("a/Driver.class", new byte[] {1, 2, 3, 5}),
            driver().entry("a/Driver.class", new byte[] {1, 2, 3}),
            driver().entry("a/b/c/table.bin", table),
            driver().entry("empty", new byte[1]),
            driver().entry("more", new byte[0]),
            driver().entry("META-INF/services/x", "y"),
            driver().header("Some-Header", "some value"),
            driver().header("Some-Header", "another value"),
            // The same letters, parted otherwise into names and contents: paths begin with "/".
            driver().entry("x", "ab").entry("y", "c"),
            driver().entry("x", "a").entry("y", "bc"),
            driver().entry("xa", "b").entry("y", "c"),
            driver().entry("x", "c").entry("y", "ab"),
            driver().entry("x", "1").entry("y", "1"),
            driver().entry("x", "1").entry("z", "1"),
            driver().entry("x", "1\0\0\0\2/y1"),
            // A file within is a file, whatever it holds in turn.
            embedding(Jar.named("library").entry("l/Library.class", "one")),
            embedding(Jar.named("library").entry("l/Library.class", "two")));
    Set<String> different = new HashSet<>();
    for (Jar jar : all) {
      different.add(digest("driver", jar.bytes()));
    }
    assertEquals(all.size(), different.size());
    assertEquals(digest("driver", driver().bytes()), digest("driver", driver().bytes()));
  }

  private static Jar embedding(Jar library) throws IOException {
    return driver().header("Bundle-ClassPath", ".,lib/l.jar").entry("lib/l.jar", library.bytes());
  }

  @Test
  void whereAndHowItWasPackedDoesNotCount() throws Exception {
    String digest = digest("driver", driver().bytes());
    install("in between", Jar.named("stranger"));
    assertEquals(digest, digest("elsewhere", driver().bytes()));
    assertEquals(digest, digest("driver", driver().bytes(1_000_000_000_000L, Deflater.BEST_SPEED)));
    Jar turned = Jar.named("driver").header(Constants.BUNDLE_VERSION, "1.0.0");
    for (String name : driver().order().reversed()) {
      turned = turned.entry(name, driver().entries().get(name));
    }
    assertEquals(digest, digest("driver", turned.bytes()));
    assertEquals(digest, digest("driver", turned.entry("a/", new byte[0]).bytes()));
  }

  /** Felix confuses an entry's name with the beginning of its own UUID. */
  @Test
  void entriesNamedLikeTheBeginningOfTheFrameworksUuidAreRead() throws Exception {
    Jar jar = driver();
    for (char name : "0123456789abcdefxyz".toCharArray()) {
      jar = jar.entry(String.valueOf(name), "one");
    }
    String digest = digest("driver", jar.bytes());
    for (char name : "0123456789abcdefxyz".toCharArray()) {
      String other = digest("driver", jar.entry(String.valueOf(name), "two").bytes());
      assertNotEquals(digest, other, "an entry that does not count: " + name);
    }
  }

  @Test
  void attachedFragmentsCount() throws Exception {
    Bundle driver = install("driver", driver());
    String alone = digest(driver);
    Jar extra = Jar.named("extra").header(Constants.FRAGMENT_HOST, "driver").entry("e", "one");
    Bundle fragment = install("fragment", extra);
    refresh(driver);
    String first = digest(driver);
    fragment.uninstall();
    refresh(driver);
    assertEquals(alone, digest(driver));
    // Not updated: Felix may attach the old contents once more, by the order in which it refreshes.
    install("other fragment", extra.entry("e", "two"));
    refresh(driver);
    String second = digest(driver);
    assertEquals(3, new HashSet<>(List.of(alone, first, second)).size());
  }

  @Test
  void bundlesThatItIsWiredToCountAsTheyAreInUse() throws Exception {
    Jar deep = Jar.named("deep").header("Export-Package", "deep").entry("deep/a", "one");
    Jar near =
        Jar.named("near")
            .header("Export-Package", "near")
            .header("Import-Package", "deep")
            .entry("near/a", "one");
    Bundle deepBundle = install("deep", deep);
    Bundle nearBundle = install("near", near);
    Bundle stranger = install("stranger", Jar.named("stranger").entry("a", "one"));
    Bundle driver = install("driver", driver().header("Import-Package", "near"));
    final String before = digest(driver);

    update(stranger, Jar.named("stranger").entry("a", "two"));
    refresh(stranger);
    assertEquals(before, digest(driver));

    update(nearBundle, near.entry("near/a", "two"));
    assertEquals(before, digest(driver), "it still runs with the old one");
    refresh(nearBundle);
    final String other = digest(driver);
    assertNotEquals(before, other);

    update(deepBundle, deep.entry("deep/a", "two"));
    refresh(deepBundle);
    assertNotEquals(other, digest(driver));

    update(deepBundle, deep);
    update(nearBundle, near);
    refresh(deepBundle, nearBundle);
    assertEquals(before, digest(driver));
  }

  /** Old code is never taken for new code: what it stored would be given to that one. */
  @Test
  void codeThatWasReplacedBeforeItWasReadHasNoDigest() throws Exception {
    Jar near = Jar.named("near").header("Export-Package", "near").entry("near/a", "one");
    Bundle nearBundle = install("near", near);
    Bundle driver = install("driver", driver().header("Import-Package", "near"));
    update(nearBundle, near.entry("near/a", "two"));
    assertEquals(
        "near was updated, and others still use it as it was: refresh it",
        assertThrows(IOException.class, () -> digest(driver)).getMessage());
    refresh(nearBundle);
    final String other = digest(driver);
    update(nearBundle, near);
    assertEquals(other, digest(driver), "known from before");
    refresh(nearBundle);
    assertNotEquals(other, digest(driver));
  }

  @Test
  void theRuntimeAndWhatItIsWiredToCount() throws Exception {
    Jar rules = Jar.named("rules").header("Export-Package", "rules").entry("rules/a", "one");
    Bundle rulesBundle = install("rules", rules);
    Jar cutter = Jar.named("cutter").header("Import-Package", "rules");
    Bundle driver = install("driver", driver());
    Bundle own = install("cutter", cutter);
    Set<String> different = new HashSet<>();
    different.add(digest(driver));
    different.add(digest(new BundleDigests(own.getBundleContext()), driver));
    update(own, cutter.entry("more", "code"));
    refresh(own);
    different.add(digest(new BundleDigests(own.getBundleContext()), driver));
    update(rulesBundle, rules.entry("rules/a", "two"));
    refresh(rulesBundle);
    different.add(digest(new BundleDigests(own.getBundleContext()), driver));
    assertEquals(4, different.size());
  }

  /** Over a folder, whose files can change where a framework does not expect it. */
  @Test
  void aBundleIsReadOnceForEachTimeItIsResolved() throws Exception {
    Path open = Files.createDirectories(folder.resolve("open/META-INF")).getParent();
    Files.write(open.resolve("META-INF/MANIFEST.MF"), Jar.named("open").manifest());
    Path code = Files.writeString(open.resolve("code"), "one");
    Bundle driver = framework.getBundleContext().installBundle("reference:" + open.toUri().toURL());
    driver.start();
    final String first = digest(driver);
    Files.writeString(code, "two");
    assertEquals(first, digest(driver));
    assertNotEquals(first, digest(new BundleDigests(home.getBundleContext()), driver));
    refresh(driver);
    assertNotEquals(first, digest(driver));
    Files.writeString(code, "one");
    refresh(driver);
    assertEquals(first, digest(driver));
  }

  /** Digests as a process has them that begins then, with what earlier ones kept. */
  private BundleDigests inProcess(CacheEngine engine, Instant begin) {
    return new BundleDigests(home.getBundleContext(), () -> begin, engine);
  }

  /** Puts a wrong digest in the place of each that is kept, so that its use is seen. */
  private static void damage(CacheEngine engine) {
    byte[] blob = StoredDigests.blobs(engine).get(StoredDigests.NAME).orElseThrow();
    for (int at = 32; at < blob.length; at += 64) {
      blob[at]++;
    }
    StoredDigests.blobs(engine).set(StoredDigests.NAME, blob);
  }

  @Test
  void whatAnUnchangedFileHoldsIsKnownToTheNextProcess() throws Exception {
    Path file = Files.write(folder.resolve("driver.jar"), driver().bytes());
    Bundle driver = framework.getBundleContext().installBundle("reference:" + file.toUri());
    driver.start();
    assumeTrue(Files.getFileStore(file).supportsFileAttributeView("unix"));
    Instant later = Instant.now().plusSeconds(3_600);
    final String right = digest(driver);
    try (FileCacheEngine engine = new FileCacheEngine(folder.resolve("engine"), "test")) {
      assertEquals(right, digest(inProcess(engine, later), driver));
      assertEquals(right, digest(inProcess(engine, later), driver));
      damage(engine);
      assertNotEquals(right, digest(inProcess(engine, later), driver));
      // It may have been another one when the framework opened it.
      assertEquals(right, digest(inProcess(engine, Instant.now()), driver));

      Files.write(file, driver().entry("more", "code").bytes());
      driver.update();
      refresh(driver);
      String changed = digest(driver);
      assertNotEquals(right, changed);
      assertEquals(changed, digest(inProcess(engine, later), driver));
    }
  }

  @Test
  void anUpdateFromElsewhereIsReadThoughTheFileIsAsItWas() throws Exception {
    Path file = Files.write(folder.resolve("driver.jar"), driver().bytes());
    Bundle driver = framework.getBundleContext().installBundle("reference:" + file.toUri());
    driver.start();
    Instant later = Instant.now().plusSeconds(3_600);
    try (FileCacheEngine engine = new FileCacheEngine(folder.resolve("engine"), "test")) {
      final String first = digest(inProcess(engine, later), driver);
      Thread.sleep(2);
      update(driver, driver().entry("more", "code"));
      refresh(driver);
      final String second = digest(driver);
      assertNotEquals(first, second);
      assertEquals(second, digest(inProcess(engine, later), driver));
      assertEquals(second, digest(inProcess(engine, later), driver));
    }
  }

  @Test
  void codeThatIsNotThereIsSaidToBe() throws Exception {
    Bundle driver = install("driver", driver());
    driver.uninstall();
    assertEquals(
        "the bundle of a has left",
        assertThrows(IOException.class, () -> digest(driver)).getMessage());
    Bundle needed = install("needed", Jar.named("needed").header("Export-Package", "needed"));
    Bundle asking = install("asking", driver().header("Import-Package", "needed"));
    needed.uninstall();
    refresh(needed);
    assertThrows(IOException.class, () -> digest(asking));
  }
}
