// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.DeviceDescription.State;
import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.integration.device.Gate;
import io.thalamus.integration.device.SpareActivator;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.integration.proof.Workload;
import io.thalamus.model.DeviceType;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;

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

  private DeviceDescription description(String id) {
    return context.getService(reference).devices().stream()
        .filter(device -> device.id().equals(id))
        .findFirst()
        .orElseThrow();
  }

  private ServiceRegistration<BooleanSupplier> gate(String device, BooleanSupplier passes) {
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put(Gate.DEVICE, device);
    return context.registerService(BooleanSupplier.class, passes, properties);
  }

  private void failAndGo(Compilation compilation) throws Exception {
    Bundle spare = SpareBundle.named("failing").install(context);
    awaitThatItRunsOn("failing", compilation);
    ServiceRegistration<BooleanSupplier> shut = gate("failing", () -> false);
    Await.that(
        "it is in quarantine",
        () -> {
          assertTrue(digits.run(compilation, 0).isRight());
          return description("failing").state() == State.QUARANTINED;
        });
    shut.unregister();
    bundles.uninstall(spare);
    assertTrue(digits.run(compilation, 0).isRight());
  }

  @Test
  void aDeviceInQuarantineLeavesNothing() throws Exception {
    try (Compilation compilation = digits.compile(CompilationOptions.DEFAULT)) {
      for (int i = 0; i < 2; i++) {
        failAndGo(compilation);
      }
      assertEquals(List.of(), bundles.leftLoaders());
      assertEquals(List.of(), Bundles.threads("failing-"));
    }
  }

  /** A driver that loops, whatever interrupts it. */
  private void loopAndGo(Compilation compilation, CountDownLatch open) throws Exception {
    Bundle spare = SpareBundle.named("looping").withType(DeviceType.ACCELERATOR).install(context);
    awaitThatItRunsOn("looping", compilation);
    CountDownLatch inside = new CountDownLatch(1);
    ServiceRegistration<BooleanSupplier> shut =
        gate(
            "looping",
            () -> {
              inside.countDown();
              while (open.getCount() > 0) {
                Thread.onSpinWait();
              }
              return true;
            });
    CompletableFuture<Workload.Answer> request = new CompletableFuture<>();
    Thread.ofPlatform().start(() -> request.complete(digits.run(compilation, 0)));
    assertTrue(inside.await(20, TimeUnit.SECONDS));
    bundles.uninstall(spare);
    Workload.Answer answer = request.get(20, TimeUnit.SECONDS);
    assertTrue(answer.isRight(), () -> answer.report().toString());
    assertFalse(answer.ranOn("looping"));
    shut.unregister();
  }

  @Test
  void aThreadThatLoopsIsShownWithItsLoaderUntilItEnds() throws Exception {
    CountDownLatch open = new CountDownLatch(1);
    try (Compilation compilation = digits.compile(CompilationOptions.DEFAULT)) {
      loopAndGo(compilation, open);
      DeviceDescription shown = description("looping");
      assertEquals(State.LEAKED, shown.state());
      StuckCall stuck = shown.health().stuckCalls().getFirst();
      assertTrue(stuck.thread().startsWith("thalamus-call-"), stuck.thread());
      assertTrue(stuck.classLoader().contains("looping 1.0.0 ["), stuck.classLoader());
      assertEquals(1, bundles.leftLoaders(Duration.ofMillis(300)).size());
    } finally {
      open.countDown();
    }
    Await.that(
        "it is gone",
        () ->
            context.getService(reference).devices().stream()
                .noneMatch(device -> device.id().equals("looping")));
    assertEquals(List.of(), bundles.leftLoaders());
    assertEquals(List.of(), Bundles.threads("looping-"));
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
    return bundles
        .find("io.thalamus.simd")
        .orElseThrow(() -> new AssertionError("io.thalamus.simd is not here"));
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
