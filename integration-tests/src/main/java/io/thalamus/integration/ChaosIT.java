// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.integration.proof.Workload;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

/** The simulated accelerator is hurt by its command while an application uses it. */
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

  private String chaos(String arguments) throws Exception {
    Object result = session.execute("nn:chaos npu " + arguments + " --json");
    return session.format(result, Converter.INSPECT).toString();
  }

  private boolean isListed() {
    return networks.devices().stream().anyMatch(device -> device.id().equals("npu"));
  }

  private Workload.Answer run(Compilation compilation) {
    return digits.run(compilation, 0);
  }

  @Test
  void theCommandComesAndGoesWithItsBundle() throws Exception {
    assertThrows(Exception.class, () -> chaos("status"));
    Bundle npu = install();
    Await.that("the command is there", () -> commands().contains("nn:chaos"));
    assertTrue(chaos("status").contains("\"state\":\"serving\""));
    Exception cpu = assertThrows(Exception.class, () -> session.execute("nn:chaos cpu hang"));
    assertEquals("cpu cannot be hurt; of the devices here npu can", cpu.getMessage());
    bundles.uninstall(npu);
    assertThrows(Exception.class, () -> chaos("status"));
  }

  private String commands() {
    return String.valueOf(session.get(".commands"));
  }

  @Test
  void crashesAreCountedAndRepeatedElsewhere() throws Exception {
    install();
    Await.that("the device is here", this::isListed);
    try (Compilation compilation = digits.compile(ON_NPU)) {
      assertTrue(run(compilation).ranOn("npu"));
      chaos("crash --once");
      assertTrue(run(compilation).isRight());
      assertTrue(chaos("status").contains("\"crash\":1"));
    }
  }

  @Test
  void wrongAnswersReachTheApplicationWhereNobodyLooks() throws Exception {
    install();
    Await.that("the device is here", this::isListed);
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
    install();
    Await.that("the device is here", this::isListed);
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
    Bundle npu = install();
    Await.that("the device is here", this::isListed);
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
