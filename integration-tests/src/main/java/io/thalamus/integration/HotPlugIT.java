// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.DeviceDescription;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.integration.device.Gate;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.integration.proof.Workload;
import io.thalamus.model.DeviceType;
import java.nio.file.Path;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;

/** Device bundles arrive, serve, are updated and leave while an application runs a model. */
public class HotPlugIT {
  private static final CompilationOptions USUAL = CompilationOptions.DEFAULT;

  private final BundleContext context = FrameworkUtil.getBundle(HotPlugIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private ServiceReference<NeuralNetworks> reference;
  private NeuralNetworks networks;
  private Workload digits;
  private ServiceRegistration<BooleanSupplier> gate;

  @BeforeEach
  void load() throws Exception {
    reference = context.getServiceReference(NeuralNetworks.class);
    networks = context.getService(reference);
    Path root = Path.of(context.getProperty("thalamus.root"));
    digits =
        new Workload(networks, root.resolve("launcher/samples/digits/digits.tflite"), List.of());
  }

  @AfterEach
  void removeAll() throws Exception {
    if (gate != null) {
      gate.unregister();
    }
    for (Bundle bundle : context.getBundles()) {
      if (bundle.getSymbolicName().startsWith("io.thalamus.integration.")) {
        bundles.uninstall(bundle);
      }
    }
    digits.close();
    context.ungetService(reference);
  }

  private void gate(String device, BooleanSupplier passes) {
    Dictionary<String, Object> properties = new Hashtable<>();
    properties.put(Gate.DEVICE, device);
    gate = context.registerService(BooleanSupplier.class, passes, properties);
  }

  private static Workload.Answer right(Workload.Answer answer) {
    assertTrue(answer.isRight(), () -> "wrong or failed: " + answer.report());
    return answer;
  }

  private Workload.Answer run(Compilation compilation) {
    return right(digits.run(compilation, 0));
  }

  private void awaitThatItRunsOn(String device, Compilation compilation) throws Exception {
    Await.that(device + " serves", () -> run(compilation).ranOn(device));
  }

  @Test
  void aDeviceArrivesServesAndLeaves() throws Exception {
    try (Compilation compilation = digits.compile(USUAL)) {
      assertFalse(run(compilation).ranOn("spare"));
      Bundle spare = SpareBundle.named("spare").install(context);
      awaitThatItRunsOn("spare", compilation);
      assertEquals(1, compilation.plan().steps().size());
      bundles.uninstall(spare);
      for (int i = 0; i < 20; i++) {
        Workload.Answer answer = right(digits.run(compilation, i));
        assertFalse(answer.ranOn("spare"));
      }
    }
  }

  @Test
  void aDeviceOnTrialIsPlannedForAndNeverUsed() throws Exception {
    try (Compilation compilation = digits.compile(USUAL)) {
      Plan before = compilation.plan();
      Bundle spare =
          SpareBundle.named("spare").install(context, DeviceDescription.TRIAL_LOCATION + "spare");
      assertEquals(
          DeviceDescription.State.ON_TRIAL,
          networks.devices().stream()
              .filter(device -> device.id().equals("spare"))
              .findFirst()
              .orElseThrow()
              .state());
      CompilationOptions named = USUAL.withDevices(List.of("spare", "cpu"));
      Plan plan = networks.plan(digits.model(), named);
      assertEquals(
          List.of("spare"), plan.steps().stream().map(Plan.Step::device).distinct().toList());
      assertEquals(before, networks.plan(digits.model(), USUAL));
      assertEquals(
          ResultCode.BAD_DATA,
          assertThrows(NeuralNetworksException.class, () -> digits.compile(named)).code());
      assertFalse(compilation.isReplanning());
      assertFalse(run(compilation).ranOn("spare"));
      bundles.uninstall(spare);
      assertThrows(NeuralNetworksException.class, () -> networks.plan(digits.model(), named));
      assertEquals(before, compilation.plan());
    }
  }

  @Test
  void anUpdatedDeviceServesInItsNewVersion() throws Exception {
    Bundle spare = SpareBundle.named("spare").install(context);
    try (Compilation compilation = digits.compile(USUAL)) {
      assertTrue(run(compilation).ranOn("spare"));
      bundles.update(spare, SpareBundle.named("spare").withVersion("2.0.0").jar());
      assertEquals("2.0.0", description("spare").info().version());
      awaitThatItRunsOn("spare", compilation);
    }
  }

  private DeviceDescription description(String id) {
    return networks.devices().stream()
        .filter(device -> device.id().equals(id))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void withoutFallbackTheDepartureIsTold() throws Exception {
    Bundle spare = SpareBundle.named("spare").install(context);
    try (Compilation compilation = digits.compile(USUAL.with(Fallback.DENY))) {
      assertTrue(run(compilation).ranOn("spare"));
      bundles.uninstall(spare);
      ExecutionReport report = digits.run(compilation, 0).report();
      assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.code(), report::toString);
      assertTrue(report.message().contains("operation 0"), report::message);
      assertTrue(report.message().contains("spare"), report::message);
      SpareBundle.named("spare").install(context);
      awaitServed(compilation);
    }
  }

  private void awaitServed(Compilation compilation) throws Exception {
    Await.that("it serves again", () -> digits.run(compilation, 0).isRight());
  }

  @Test
  void withoutFallbackAFailureIsTold() throws Exception {
    SpareBundle.named("spare").install(context);
    AtomicBoolean passes = new AtomicBoolean(true);
    gate("spare", passes::get);
    try (Compilation denied = digits.compile(USUAL.with(Fallback.DENY));
        Compilation allowed = digits.compile(USUAL)) {
      run(denied);
      passes.set(false);
      ExecutionReport report = digits.run(denied, 0).report();
      assertEquals(ResultCode.OP_FAILED, report.code(), report::toString);
      assertTrue(report.message().contains("the gate of the test is shut"), report::message);
      Workload.Answer repeated = run(allowed);
      assertEquals("spare", repeated.report().steps().getFirst().device());
      assertEquals(ResultCode.OP_FAILED, repeated.report().steps().getFirst().code());
      assertFalse(repeated.ranOn("spare"));
    }
  }

  @Test
  void twoDevicesShareAModelUntilOneLeaves() throws Exception {
    Bundle first = SpareBundle.named("first").claiming("CONV_2D").install(context);
    SpareBundle.named("second")
        .claiming("MAX_POOL_2D", "FULLY_CONNECTED", "SOFTMAX", "DEPTHWISE_CONV_2D", "RESHAPE")
        .install(context);
    try (Compilation compilation = digits.compile(USUAL)) {
      Workload.Answer both = run(compilation);
      assertTrue(both.ranOn("first") && both.ranOn("second"), () -> both.report().toString());
      bundles.uninstall(first);
      Workload.Answer rest = run(compilation);
      assertFalse(rest.ranOn("first"));
      Await.that("the other one goes on", () -> run(compilation).ranOn("second"));
    }
  }

  @Test
  void aCompilationForOneDeviceOutlivesIt() throws Exception {
    Bundle spare = SpareBundle.named("spare").install(context);
    try (Compilation compilation = digits.compile(USUAL.withDevices(List.of("spare")))) {
      assertTrue(run(compilation).ranOn("spare"));
      bundles.uninstall(spare);
      ExecutionReport report = digits.run(compilation, 0).report();
      assertFalse(report.isSuccess());
      assertEquals(ResultCode.UNAVAILABLE_DEVICE, report.code(), report::toString);
      assertThrows(
          NeuralNetworksException.class, () -> digits.compile(USUAL.withDevices(List.of("spare"))));
      SpareBundle.named("spare").install(context);
      awaitServed(compilation);
      assertTrue(run(compilation).ranOn("spare"));
    }
  }

  @Test
  void aSecondDeviceOfTheSameNameWaitsForTheFirstToLeave() throws Exception {
    Bundle first = SpareBundle.named("spare").install(context);
    SpareBundle twin = SpareBundle.named("spare").withVersion("9.0.0");
    // Symbolic name and version make a bundle unique, so that a twin has another version.
    Bundle second = twin.install(context);
    List<DeviceDescription> spares =
        networks.devices().stream().filter(device -> device.id().equals("spare")).toList();
    assertEquals(2, spares.size());
    DeviceDescription refused =
        spares.stream()
            .filter(each -> each.info().version().equals("9.0.0"))
            .findFirst()
            .orElseThrow();
    assertEquals(DeviceDescription.State.REFUSED, refused.state());
    assertFalse(refused.reason().isBlank());
    bundles.uninstall(first);
    assertEquals(DeviceDescription.State.AVAILABLE, description("spare").state());
    bundles.uninstall(second);
  }

  @Test
  void aRequestInFlightFinishesOnTheDeviceThatLeaves() throws Exception {
    Bundle spare = SpareBundle.named("spare").install(context);
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch open = new CountDownLatch(1);
    gate("spare", () -> passes(inside, open));
    try (Compilation compilation = digits.compile(USUAL)) {
      CompletableFuture<Workload.Answer> request =
          CompletableFuture.supplyAsync(() -> digits.run(compilation, 0), task -> start(task));
      assertTrue(inside.await(10, TimeUnit.SECONDS));
      Thread leaving = Thread.ofPlatform().start(() -> uninstallUnchecked(spare));
      Await.that(
          "it is leaving", () -> description("spare").state() == DeviceDescription.State.LEAVING);
      assertFalse(run(compilation).ranOn("spare"));
      assertFalse(request.isDone());
      open.countDown();
      assertTrue(right(request.get(10, TimeUnit.SECONDS)).ranOn("spare"));
      leaving.join();
    }
  }

  /** An accelerator that hangs is left behind; what it wrote later must not reach the caller. */
  @Test
  void aRequestOfADeviceThatHangsIsRepeatedElsewhere() throws Exception {
    Bundle spare = SpareBundle.named("spare").withType(DeviceType.ACCELERATOR).install(context);
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch open = new CountDownLatch(1);
    gate("spare", () -> passes(inside, open));
    try (Compilation compilation = digits.compile(USUAL)) {
      CompletableFuture<Workload.Answer> request =
          CompletableFuture.supplyAsync(() -> digits.run(compilation, 0), task -> start(task));
      assertTrue(inside.await(10, TimeUnit.SECONDS));
      Thread leaving = Thread.ofPlatform().start(() -> uninstallUnchecked(spare));
      Workload.Answer answer = right(request.get(30, TimeUnit.SECONDS));
      assertFalse(answer.ranOn("spare"));
      assertEquals("spare", answer.report().steps().getFirst().device());
      open.countDown();
      leaving.join();
      run(compilation);
    }
  }

  private static boolean passes(CountDownLatch inside, CountDownLatch open) {
    inside.countDown();
    try {
      return open.await(30, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static void start(Runnable task) {
    Thread.ofPlatform().start(task);
  }

  private void uninstallUnchecked(Bundle bundle) {
    try {
      bundles.uninstall(bundle);
    } catch (BundleException e) {
      throw new IllegalStateException(e);
    }
  }
}
