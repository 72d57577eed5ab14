// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.model.DeviceType;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.fakes.DomainDevice;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Several applications with a state each, while devices come and go in good order. */
class MovingStateTest {
  private static final long PATIENCE_SECONDS = 60;
  private static final int USERS = 3;
  private static final int CHANGES = 60;

  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final TestRuntime runtime = TestRuntime.of(cpu);

  @Test
  void noStateIsLostByAnyComingAndGoing() throws Exception {
    long seed = Long.getLong("thalamus.seed", 1);
    System.out.println("moving states: seed = " + seed);
    Random random = new Random(seed);
    AtomicBoolean over = new AtomicBoolean();
    List<DomainDevice> all = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(USERS);
    try {
      Graphs.Builder graph = new Graphs.Builder(2, 2);
      int state = graph.input("state");
      int x = graph.input("x");
      graph.op(OperationCode.ADD, state, x, graph.output("next"));
      Compilation compilation =
          runtime.networks().compile(graph.model(), CompilationOptions.DEFAULT);
      List<Future<Integer>> users = new ArrayList<>();
      for (int i = 0; i < USERS; i++) {
        users.add(threads.submit(() -> use(compilation, over)));
      }
      List<DomainDevice> here = new ArrayList<>();
      for (int i = 0; i < CHANGES; i++) {
        if (here.size() < 2 && random.nextBoolean()) {
          double cost = random.nextInt(1, 10) / 10.0;
          DomainDevice device =
              random.nextInt(3) == 0
                  ? DomainDevice.ofType(DeviceType.CPU, "d" + i, cost)
                  : DomainDevice.of("d" + i, cost);
          all.add(device);
          here.add(device);
          runtime.add(device);
          Eventually.that("planned", () -> !compilation.isReplanning());
        } else if (!here.isEmpty()) {
          DomainDevice device = here.remove(random.nextInt(here.size()));
          runtime.remove(device);
          assertEquals(0, device.open() + device.buffers(), "seed " + seed + ": left open");
        }
        Thread.sleep(random.nextInt(5));
      }
      over.set(true);
      for (Future<Integer> user : users) {
        assertTrue(user.get(PATIENCE_SECONDS, TimeUnit.SECONDS) > 0);
      }
      int buffered = all.stream().mapToInt(DomainDevice::buffered).sum();
      System.out.println("moving states: executions with buffers = " + buffered);
    } finally {
      over.set(true);
      threads.shutdownNow();
      runtime.close();
    }
    Eventually.that(
        "all is given back",
        () -> all.stream().allMatch(device -> device.open() + device.buffers() == 0));
    assertEquals(0, cpu.open());
  }

  private int use(Compilation compilation, AtomicBoolean over) throws Exception {
    MemoryDesc desc = MemoryDesc.builder("s").input(compilation, 0).output(compilation, 0).build();
    try (Memory even = runtime.networks().createMemory(desc);
        Memory odd = runtime.networks().createMemory(desc)) {
      even.copyFrom(Graphs.floats(0, 0, 0, 0));
      int executions = 0;
      do {
        boolean isEven = executions % 2 == 0;
        compilation
            .createExecution()
            .setInput(0, isEven ? even : odd)
            .setInput(1, Graphs.floats(1, 2, -1, 0))
            .setOutput(0, isEven ? odd : even)
            .compute()
            .orThrow();
        executions++;
        if (executions % 50 == 0) {
          check(executions, executions % 2 == 0 ? even : odd);
        }
      } while (!over.get());
      check(executions, executions % 2 == 0 ? even : odd);
      return executions;
    }
  }

  private static void check(int executions, Memory memory) throws Exception {
    float[] actual = new float[4];
    memory.copyTo(Graphs.floats(actual));
    assertArrayEquals(new float[] {executions, 2f * executions, -executions, 0}, actual);
  }
}
