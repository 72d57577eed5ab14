// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CacheOutcome;
import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationCache;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.integration.proof.Workload;
import io.thalamus.model.CacheToken;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;

/**
 * The stored compilations of a device are its own: that of this code, under these settings,
 * wherever it lies.
 */
public class CachingIT {
  private static final String PID = "io.thalamus.npu";

  private final BundleContext context = FrameworkUtil.getBundle(CachingIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private final Path root = Path.of(context.getProperty("thalamus.root"));
  private final Path jar = root.resolve("launcher/target/thalamus/devices/io.thalamus.npu.jar");
  private ServiceReference<NeuralNetworks> reference;
  private ServiceReference<CompilationCache> cacheReference;
  private ServiceReference<ConfigurationAdmin> adminReference;
  private Path directory;
  private Workload digits;
  private Bundle npu;

  @BeforeEach
  void open() throws Exception {
    reference = context.getServiceReference(NeuralNetworks.class);
    cacheReference = context.getServiceReference(CompilationCache.class);
    adminReference = context.getServiceReference(ConfigurationAdmin.class);
    directory = Files.createTempDirectory(context.getDataFile("").toPath(), "cache");
    digits =
        new Workload(
            context.getService(reference),
            root.resolve("launcher/samples/digits/digits.tflite"),
            List.of());
    npu = bundles.install("test:npu", Files.newInputStream(jar));
    awaitThatItServes("(seed=1)");
  }

  @AfterEach
  void close() throws Exception {
    bundles.uninstall(npu);
    assertEquals(List.of(), Bundles.threads("thalamus-npu"));
    digits.close();
    context.ungetService(adminReference);
    context.ungetService(cacheReference);
    context.ungetService(reference);
  }

  private void awaitThatItServes(String settings) throws Exception {
    String filter = "(&(" + DeviceDriver.NAMESPACE + "=npu)" + settings + ")";
    Await.that(
        "a device " + filter + " serves",
        () ->
            !context.getServiceReferences(Device.class, filter).isEmpty()
                && context.getService(reference).devices().stream()
                    .anyMatch(
                        device ->
                            device.id().equals("npu")
                                && device.state() == DeviceDescription.State.AVAILABLE));
  }

  private void update(InputStream contents) throws Exception {
    bundles.update(npu, contents);
    awaitThatItServes("(seed=1)");
  }

  /** The device's bundle with one more file in it: all that a device says of itself is the same. */
  private InputStream otherBuild() throws IOException {
    return new ByteArrayInputStream(BundleFile.with(jar, "io/thalamus/npu/built.txt", "later"));
  }

  /** Compiles, computes, and says what became of the steps on the device. */
  private Set<Origin> compile() throws Exception {
    CompilationOptions options =
        CompilationOptions.DEFAULT
            .withDevices(List.of("npu", "cpu"))
            .with(new CacheOptions(directory, CacheToken.of(new byte[CacheToken.SIZE]), "digits"));
    try (Compilation compilation = digits.compile(options)) {
      Workload.Answer answer = digits.run(compilation, 0);
      assertTrue(answer.isRight() && answer.ranOn("npu"), () -> answer.report().toString());
      return compilation.caching().stream()
          .filter(step -> step.device().equals("npu"))
          .map(CacheOutcome::origin)
          .collect(Collectors.toSet());
    }
  }

  /** The cache files by name. */
  private Map<String, byte[]> files() throws IOException {
    Map<String, byte[]> contents = new TreeMap<>();
    try (Stream<Path> all = Files.list(directory)) {
      for (Path file : all.toList()) {
        if (file.getFileName().toString().matches("[A-P]{64}[12].*")) {
          contents.put(file.getFileName().toString(), Files.readAllBytes(file));
        }
      }
    }
    return contents;
  }

  /** Ends the device, so that no search of it writes any more. */
  private void restart() throws Exception {
    npu.stop();
    npu.start();
    awaitThatItServes("(seed=1)");
  }

  @Test
  void anUpdatedBundleGetsItsOwnFilesAndNoOthers() throws Exception {
    assertEquals(Set.of(Origin.STORED), compile());
    assertEquals(Set.of(Origin.RESTORED), compile());
    restart();
    assertEquals(Set.of(Origin.RESTORED), compile());
    final Map<String, byte[]> first = files();
    assertFalse(first.isEmpty());

    update(otherBuild());
    assertEquals(Set.of(Origin.STORED), compile());
    assertEquals(Set.of(Origin.RESTORED), compile());
    restart();
    assertEquals(Set.of(Origin.RESTORED), compile());
    final Map<String, byte[]> both = files();
    assertEquals(2 * first.size(), both.size());
    first.forEach((name, content) -> assertArrayEquals(content, both.get(name), name));

    update(Files.newInputStream(jar));
    assertEquals(Set.of(Origin.RESTORED), compile());
    update(otherBuild());
    assertEquals(Set.of(Origin.RESTORED), compile());
    assertEquals(both.keySet(), files().keySet());
  }

  @Test
  void theSameCodeElsewhereFindsWhatItStored() throws Exception {
    assertEquals(Set.of(Origin.STORED), compile());
    bundles.uninstall(npu);
    npu = bundles.install("test:npu:elsewhere", Files.newInputStream(jar));
    awaitThatItServes("(seed=1)");
    assertEquals(Set.of(Origin.RESTORED), compile());
  }

  @Test
  void otherSettingsAreAnotherEntry() throws Exception {
    assertEquals(Set.of(Origin.STORED), compile());
    final int files = files().size();
    Configuration configuration = context.getService(adminReference).getConfiguration(PID, "?");
    try {
      configuration.update(new Hashtable<>(Map.of("seed", 2L)));
      awaitThatItServes("(seed=2)");
      assertEquals(Set.of(Origin.STORED), compile());
      assertEquals(Set.of(Origin.RESTORED), compile());
      assertEquals(2 * files, files().size());
    } finally {
      configuration.delete();
    }
    awaitThatItServes("(seed=1)");
    assertEquals(Set.of(Origin.RESTORED), compile());
    assertEquals(2 * files, files().size());
  }

  /** The compiler of a device is more than its own bundle. */
  @Test
  void anAttachedFragmentMakesItAnotherBuild() throws Exception {
    assertEquals(Set.of(Origin.STORED), compile());
    Bundle fragment =
        context.installBundle(
            "test:fragment",
            BundleFile.of(
                "none",
                Map.of(
                    "Bundle-SymbolicName", "io.thalamus.integration.patch",
                    "Fragment-Host", "io.thalamus.npu")));
    update(Files.newInputStream(jar));
    assertEquals(Set.of(Origin.STORED), compile());
    bundles.uninstall(fragment);
    awaitThatItServes("(seed=1)");
    assertEquals(Set.of(Origin.RESTORED), compile());
  }

  @Test
  void aLoadedModelIsRestoredWhenItsDeviceComesBack() throws Exception {
    try (Commands commands = new Commands(context)) {
      Path model = root.resolve("launcher/samples/digits/digits.tflite").normalize();
      commands.text("nn:load '%s' --name kept --cache '%s'".formatted(model, directory));
      String run = "nn:run kept random:1 --device npu,cpu";
      String first = commands.text(run);
      assertTrue(first.contains("stored for the next time"), first);
      restart();
      Await.that("it is restored", () -> commands.text(run).contains("from the cache"));
      commands.text("nn:unload kept");
    }
  }

  @Test
  void whatNobodyWouldLookForIsToldByVerify() throws Exception {
    assertEquals(Set.of(Origin.STORED), compile());
    assertEquals(Map.of("", CompilationCache.Check.State.GOOD), checks());
    update(otherBuild());
    assertEquals(
        Map.of(
            "another build of the device, of the runtime, or of what they use",
            CompilationCache.Check.State.UNUSED),
        checks());
  }

  private Map<String, CompilationCache.Check.State> checks() throws Exception {
    return context.getService(cacheReference).verify(directory).stream()
        .collect(
            Collectors.toMap(
                CompilationCache.Check::reason,
                CompilationCache.Check::state,
                (one, other) -> one));
  }
}
