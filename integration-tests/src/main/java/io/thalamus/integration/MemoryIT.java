// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.ResultCode;
import io.thalamus.integration.proof.Bundles;
import io.thalamus.integration.proof.StatefulRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;

/** A state that stays on the simulated accelerator, which is updated and has faults. */
public class MemoryIT {
  private static final long SEED = Long.getLong("thalamus.seed", 1);

  private final BundleContext context = FrameworkUtil.getBundle(MemoryIT.class).getBundleContext();
  private final Bundles bundles = new Bundles(context);
  private final Path jar =
      Path.of(context.getProperty("thalamus.root"))
          .resolve("launcher/target/thalamus/devices/io.thalamus.npu.jar");
  private ServiceReference<NeuralNetworks> reference;
  private NeuralNetworks networks;
  private Commands commands;
  private Bundle npu;

  @BeforeEach
  void open() throws Exception {
    reference = context.getServiceReference(NeuralNetworks.class);
    networks = context.getService(reference);
    commands = new Commands(context);
    npu = bundles.install("test:npu", Files.newInputStream(jar));
    Await.that("the device is here", this::isListed);
  }

  @AfterEach
  void close() throws Exception {
    bundles.uninstall(npu);
    assertEquals(List.of(), Bundles.threads("thalamus-npu"));
    assertEquals(List.of(), networks.memories());
    commands.close();
    context.ungetService(reference);
  }

  private boolean isListed() {
    return networks.devices().stream().anyMatch(device -> device.id().equals("npu"));
  }

  private StatefulRun start() throws Exception {
    System.out.println("memories: seed = " + SEED);
    return new StatefulRun(networks, List.of("npu", "cpu"), SEED);
  }

  @Test
  void stateKeepsItsBitsWhileItsDeviceIsUpdated() throws Exception {
    try (StatefulRun run = start()) {
      for (int i = 1; i <= 100; i++) {
        assertTrue(run.step().isSuccess(), run::lastMessage);
        if (i % 25 == 0) {
          bundles.update(npu, Files.newInputStream(jar));
          Await.that("the device is back", this::isListed);
          Await.that("it is planned", () -> !run.isReplanning());
        }
      }
      assertEquals(0, run.wrong());
      assertTrue(run.isStateRight());
      assertTrue(run.onDevice() > 50, "the state was on the device " + run.onDevice() + " times");
    }
  }

  @Test
  void stateThatDiesIsNamed() throws Exception {
    // The device leaves once to be taken over, so not with a state.
    commands.text("nn:chaos npu reset");
    Await.that("the device is here again", this::isListed);
    for (String fault : List.of("crash --once", "lose --for 300ms")) {
      try (StatefulRun run = start()) {
        run.step();
        run.step();
        String mem = commands.text("nn:mem --json");
        assertTrue(mem.contains("\"name\":\"state 0\",\"sizeBytes\":256"), mem);
        assertTrue(mem.contains("\"places\":[\"npu\"]"), mem);
        commands.text("nn:chaos npu " + fault);
        ExecutionReport report = run.step();
        assertEquals(ResultCode.DEAD_OBJECT, report.code(), report.message());
        assertTrue(report.message().contains("'state 0'"), report.message());
        assertTrue(report.message().contains("npu"), report.message());
        // It was written anew, and goes on.
        for (int i = 0; i < 5; i++) {
          assertTrue(run.step().isSuccess(), run::lastMessage);
        }
        Await.that("the device is back", this::isListed);
        Await.that("it is planned", () -> !run.isReplanning());
        assertTrue(run.step().isSuccess(), run::lastMessage);
        assertEquals(0, run.wrong() + run.failed());
        assertTrue(run.isStateRight());
      }
    }
  }
}
