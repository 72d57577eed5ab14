// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.hal.Device;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.integration.proof.Workload;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.felix.service.command.CommandProcessor;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Converter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.hooks.service.EventListenerHook;
import org.osgi.framework.hooks.service.FindHook;

/** Faults are injected into devices while an application uses them. */
public class ChaosIT {
  private static final CompilationOptions ON_NPU =
      CompilationOptions.DEFAULT.withDevices(List.of("npu", "cpu"));

  private final BundleContext context = FrameworkUtil.getBundle(ChaosIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private final Path root = Path.of(context.getProperty("thalamus.root"));
  private ServiceReference<NeuralNetworks> reference;
  private ServiceReference<CommandProcessor> gogo;
  private NeuralNetworks networks;
  private CommandSession session;
  private Workload digits;

  @BeforeEach
  void open() throws Exception {
    reference = context.getServiceReference(NeuralNetworks.class);
    networks = context.getService(reference);
    gogo = context.getServiceReference(CommandProcessor.class);
    session =
        context
            .getService(gogo)
            .createSession(
                new ByteArrayInputStream(new byte[0]),
                new ByteArrayOutputStream(),
                new ByteArrayOutputStream());
    digits =
        new Workload(networks, root.resolve("launcher/samples/digits/digits.tflite"), List.of());
  }

  @AfterEach
  void close() throws Exception {
    for (Bundle bundle : context.getBundles()) {
      if (bundle.getSymbolicName().equals("io.thalamus.npu")) {
        bundles.uninstall(bundle);
      }
    }
    assertEquals(List.of(), Bundles.threads("thalamus-npu"));
    digits.close();
    session.close();
    context.ungetService(gogo);
    context.ungetService(reference);
  }

  private Bundle install() throws BundleException, IOException {
    Path jar = root.resolve("launcher/target/thalamus/devices/io.thalamus.npu.jar");
    return bundles.install("test:npu", Files.newInputStream(jar));
  }

  /** Installs the device and takes it over, so that it does not leave for its first fault. */
  private Bundle installWithFaults() throws Exception {
    Bundle npu = install();
    chaos("reset");
    Await.that("the device is here", this::isListed);
    return npu;
  }

  private String chaos(String arguments) throws Exception {
    return execute("nn:chaos npu " + arguments + " --json");
  }

  private String execute(String command) throws Exception {
    return session.format(session.execute(command), Converter.INSPECT).toString();
  }

  private boolean isListed() {
    return isListed("npu");
  }

  private boolean isListed(String id) {
    return networks.devices().stream().anyMatch(device -> device.id().equals(id));
  }

  private Workload.Answer run(Compilation compilation) {
    return digits.run(compilation, 0);
  }

  @Test
  void aDeviceIsTakenOverAndLeavesWithItsBundle() throws Exception {
    assertThrows(Exception.class, () -> chaos("status"));
    Bundle npu = install();
    Await.that("the device is here", this::isListed);
    // Hooks of a device that was taken over before stay until the command's bundle stops.
    int before = hooks();
    assertTrue(chaos("status").contains("\"state\":\"serving\""));
    assertEquals(before, hooks(), "a status takes nothing over");
    chaos("latency 1ms");
    assertEquals(2, hooks());
    Await.that("the device is here again", this::isListed);
    assertEquals(1, networks.devices().stream().filter(d -> d.id().equals("npu")).count());
    long owner =
        context
            .getServiceReferences(Device.class, "(thalamus.device=npu)")
            .iterator()
            .next()
            .getBundle()
            .getBundleId();
    assertEquals(npu.getBundleId(), owner, "its bundle says what code it is");
    npu = null;
    bundles.uninstall(npu());
    Await.that("the device has gone", () -> !isListed());
    assertThrows(Exception.class, () -> chaos("status"));
    assertEquals(List.of(), bundles.leftLoaders());
    assertEquals(List.of(), Bundles.threads("thalamus-chaos"));
  }

  private Bundle npu() {
    return Arrays.stream(context.getBundles())
        .filter(bundle -> bundle.getSymbolicName().equals("io.thalamus.npu"))
        .findFirst()
        .orElseThrow();
  }

  private int hooks() throws Exception {
    return context.getServiceReferences(FindHook.class, null).size()
        + context.getServiceReferences(EventListenerHook.class, null).size();
  }

  @Test
  void anyDeviceCanHaveFaultsAndIsItselfAgainWhenTheCommandsBundleStops() throws Exception {
    Bundle chaos =
        Arrays.stream(context.getBundles())
            .filter(bundle -> bundle.getSymbolicName().equals("io.thalamus.chaos"))
            .findFirst()
            .orElseThrow();
    session.execute("nn:chaos simd latency 1ms");
    try {
      Await.that("the device is here", () -> isListed("simd"));
      CompilationOptions onSimd = CompilationOptions.DEFAULT.withDevices(List.of("simd", "cpu"));
      try (Compilation compilation = digits.compile(onSimd)) {
        Workload.Answer answer = run(compilation);
        assertTrue(answer.isRight() && answer.ranOn("simd"));
        assertTrue(execute("nn:chaos simd --json").contains("\"latency\":"));
        assertFalse(execute("nn:chaos simd --json").contains("\"latency\":0"));
      }
    } finally {
      chaos.stop();
    }
    try {
      Await.that("the device is itself again", () -> isListed("simd"));
      assertEquals(0, hooks());
      assertEquals(List.of(), Bundles.threads("thalamus-chaos"));
      try (Compilation compilation =
          digits.compile(CompilationOptions.DEFAULT.withDevices(List.of("simd", "cpu")))) {
        assertTrue(run(compilation).ranOn("simd"));
      }
    } finally {
      chaos.start();
    }
  }

  @Test
  void crashesAreCountedAndRepeatedElsewhere() throws Exception {
    installWithFaults();
    try (Compilation compilation = digits.compile(ON_NPU)) {
      assertTrue(run(compilation).ranOn("npu"));
      chaos("crash --once");
      assertTrue(run(compilation).isRight());
      assertTrue(chaos("status").contains("\"crash\":1"));
    }
  }

  @Test
  void wrongAnswersReachTheApplicationWhereNobodyLooks() throws Exception {
    installWithFaults();
    try (Compilation compilation = digits.compile(ON_NPU)) {
      assertTrue(run(compilation).isRight());
      chaos("wrong --seed 3");
      Workload.Answer wrong = run(compilation);
      assertTrue(wrong.report().isSuccess());
      assertFalse(wrong.isRight());
      chaos("reset");
      assertTrue(run(compilation).isRight());
      assertTrue(chaos("status").contains("\"wrong\":1"));
    }
  }

  @Test
  void aLostDeviceComesBackWithItsCounts() throws Exception {
    installWithFaults();
    try (Compilation compilation = digits.compile(ON_NPU)) {
      assertTrue(run(compilation).ranOn("npu"));
      chaos("lose --for 300ms");
      Await.that("the device has gone", () -> !isListed());
      assertTrue(run(compilation).isRight());
      Await.that("the device is back", this::isListed);
      Await.that("it serves again", () -> run(compilation).ranOn("npu"));
      String status = chaos("status");
      assertTrue(status.contains("\"lose\":1") && status.contains("\"state\":\"serving\""), status);
    }
  }

  @Test
  void aHungDeviceLetsGoWhenItsBundleLeaves() throws Exception {
    Bundle npu = installWithFaults();
    try (Compilation compilation = digits.compile(ON_NPU)) {
      assertTrue(run(compilation).ranOn("npu"));
      chaos("hang");
      CompletableFuture<Workload.Answer> answer = new CompletableFuture<>();
      Thread.ofPlatform().name("test-caller").start(() -> answer.complete(run(compilation)));
      Await.that("the call stands still", () -> chaos("status").contains("\"hungCalls\":1"));
      bundles.uninstall(npu);
      assertTrue(answer.get(30, TimeUnit.SECONDS).isRight());
    }
  }
}
