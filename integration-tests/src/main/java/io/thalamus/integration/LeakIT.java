// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.integration.device.SpareActivator;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.integration.proof.Workload;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;

/** Nothing outlives a device bundle: no class loader, no thread. */
public class LeakIT {
  private final BundleContext context = FrameworkUtil.getBundle(LeakIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private ServiceReference<NeuralNetworks> reference;
  private Workload digits;

  @BeforeEach
  void load() throws Exception {
    reference = context.getServiceReference(NeuralNetworks.class);
    Path root = Path.of(context.getProperty("thalamus.root"));
    digits =
        new Workload(
            context.getService(reference),
            root.resolve("launcher/samples/digits/digits.tflite"),
            List.of());
  }

  @AfterEach
  void close() {
    digits.close();
    context.ungetService(reference);
  }

  private void awaitThatItRunsOn(String device, Compilation compilation) throws Exception {
    Await.that(
        device + " serves",
        () -> {
          Workload.Answer answer = digits.run(compilation, 0);
          assertTrue(answer.isRight(), () -> answer.report().toString());
          return answer.ranOn(device);
        });
  }

  /** In a method of its own, so that no variable of a frame that lives on holds the bundle. */
  private void comeServeAndGo(Compilation compilation) throws Exception {
    Bundle spare = SpareBundle.named("leaky").install(context);
    awaitThatItRunsOn("leaky", compilation);
    assertFalse(Bundles.threads("leaky-").isEmpty(), "the test's device has no threads");
    bundles.update(spare, SpareBundle.named("leaky").withVersion("1.1.0").jar());
    awaitThatItRunsOn("leaky", compilation);
    bundles.uninstall(spare);
    assertTrue(digits.run(compilation, 0).isRight());
  }

  @Test
  void loadersAndThreadsOfASpareDeviceGo() throws Exception {
    try (Compilation compilation = digits.compile(CompilationOptions.DEFAULT)) {
      for (int i = 0; i < 3; i++) {
        comeServeAndGo(compilation);
      }
      assertEquals(6, bundles.departed());
      assertEquals(List.of(), bundles.leftLoaders());
      assertEquals(List.of(), Bundles.threads("leaky-"));
    }
  }

  /** The check itself: it must see a class that somebody keeps, and that it is let go. */
  @Test
  void aLoaderThatIsHeldIsFound() throws Exception {
    List<Object> holder = new ArrayList<>();
    holdAndGo(holder);
    assertEquals(1, bundles.leftLoaders(Duration.ofMillis(300)).size());
    holder.clear();
    assertEquals(List.of(), bundles.leftLoaders());
  }

  private void holdAndGo(List<Object> holder) throws Exception {
    Bundle spare = SpareBundle.named("held").install(context);
    holder.add(spare.loadClass(SpareActivator.class.getName()));
    bundles.uninstall(spare);
  }

  private Bundle simd() {
    for (Bundle bundle : context.getBundles()) {
      if (bundle.getSymbolicName().equals("io.thalamus.simd")) {
        return bundle;
      }
    }
    throw new AssertionError("io.thalamus.simd is not here");
  }

  private static Path file(Bundle bundle) {
    return Path.of(URI.create(bundle.getLocation().replaceFirst("^reference:", "")));
  }

  private void serveUpdateAndGo(Compilation compilation, Path jar, String location)
      throws Exception {
    awaitThatItRunsOn("simd", compilation);
    bundles.update(simd(), Files.newInputStream(jar));
    awaitThatItRunsOn("simd", compilation);
    bundles.uninstall(simd());
    assertTrue(digits.run(compilation, 0).isRight());
    assertEquals(List.of(), Bundles.threads("thalamus-simd"));
    bundles.install(location, Files.newInputStream(jar));
  }

  @Test
  void loadersAndThreadsOfTheSimdDeviceGo() throws Exception {
    Path jar = file(simd());
    try (Compilation compilation = digits.compile(CompilationOptions.DEFAULT)) {
      for (int i = 0; i < 2; i++) {
        serveUpdateAndGo(compilation, jar, "test:simd:" + i);
      }
      awaitThatItRunsOn("simd", compilation);
      assertEquals(4, bundles.departed());
      assertEquals(List.of(), bundles.leftLoaders());
    }
  }
}
