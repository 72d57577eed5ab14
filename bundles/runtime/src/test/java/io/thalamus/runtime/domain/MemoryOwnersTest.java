// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo;
import io.thalamus.runtime.NeuralNetworksComponent;
import io.thalamus.runtime.fakes.DomainDevice;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.SteppedTime;
import io.thalamus.runtime.fakes.TestRuntime;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The list of all memories, and the warning about those that an application forgets. */
class MemoryOwnersTest {
  private final SteppedTime time = new SteppedTime();
  private final DomainDevice npu = DomainDevice.of("npu", 0.1);
  private final TestRuntime runtime =
      TestRuntime.stepped(time, TestRuntime.SETTINGS, npu, LimitedDevice.cpu());
  private final Warnings warnings = new Warnings();
  // Kept here, since the log manager does not.
  private final Logger logger = Logger.getLogger("io.thalamus.runtime");

  /** The warnings about this test's applications. */
  private static final class Warnings extends Handler {
    private final Queue<String> told = new ConcurrentLinkedQueue<>();

    @Override
    public void publish(LogRecord log) {
      if (log.getLevel() == Level.WARNING
          && log.getParameters() != null
          && log.getParameters()[0].toString().startsWith("owners.")) {
        told.add(log.getParameters()[0] + ": " + log.getParameters()[1]);
      }
    }

    @Override
    public void flush() {
      // Nothing is held back.
    }

    @Override
    public void close() {
      // Nothing is open.
    }
  }

  @BeforeEach
  void listen() {
    logger.addHandler(warnings);
  }

  @AfterEach
  void close() {
    logger.removeHandler(warnings);
    runtime.close();
  }

  private static Memory make(NeuralNetworksComponent networks, String name) throws Exception {
    Compilation twice = networks.compile(Graphs.twice(2, 2), CompilationOptions.DEFAULT);
    return networks.createMemory(
        MemoryDesc.builder(name).input(twice, 0).output(twice, 0).shadowed().build());
  }

  @Test
  void eachMemoryTellsItsOwnerAndItsAge() throws Exception {
    try (NeuralNetworksComponent one = runtime.networks("owners.one");
        NeuralNetworksComponent two = runtime.networks("owners.two");
        Memory _ = make(one, "a");
        Memory b = make(two, "b")) {
      time.advance(Duration.ofSeconds(90));
      try (Memory _ = make(two, "c")) {
        time.advance(Duration.ofSeconds(5));
        assertEquals(
            List.of("a of owners.one, 95 s", "b of owners.two, 95 s", "c of owners.two, 5 s"),
            runtime.networks().memories().stream().map(MemoryOwnersTest::text).toList());
      }
      assertTrue(b.describe().shadowed());
    }
    assertEquals(List.of(), List.copyOf(warnings.told), "all were closed");
  }

  private static String text(MemoryInfo memory) {
    return "%s of %s, %d s".formatted(memory.name(), memory.owner(), memory.age().toSeconds());
  }

  @Test
  void anApplicationThatForgetsMemoriesIsNamedAndTheyAreClosed() throws Exception {
    NeuralNetworksComponent forgetful = runtime.networks("owners.forgetful");
    make(forgetful, "b");
    make(forgetful, "a");
    make(forgetful, "closed").close();
    forgetful.close();
    assertEquals(
        List.of("owners.forgetful: memory 'a' (16 bytes), memory 'b' (16 bytes)"),
        List.copyOf(warnings.told));
    assertEquals(List.of(), runtime.networks().memories());
    Eventually.that("buffers are given back", () -> npu.buffers() == 0);
  }
}
