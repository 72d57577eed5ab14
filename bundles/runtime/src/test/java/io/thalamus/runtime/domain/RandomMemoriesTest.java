// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.Memory;
import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo.State;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.fakes.DomainDevice;
import io.thalamus.runtime.fakes.Eventually;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Memories in any order of writing, running, copying, and of devices that come, go, fail and lose
 * what they hold, against a plain model of it: what a memory holds is what was last written to it,
 * or nothing, or it is unavailable, which needs a device that lost something since.
 */
class RandomMemoriesTest {
  private static final int RUNS = 40;
  private static final int STEPS = 60;
  private static final int MEMORIES = 4;

  private final long base = Long.getLong("thalamus.seed", 1);

  /** The right contents of a memory: null for nothing. */
  private static final class Expected {
    private float[] value;
    private boolean mayBeDead;

    void set(float[] written) {
      value = written;
      mayBeDead = false;
    }
  }

  /** {@code next = state + x; y = next * x}: two steps where the devices differ. */
  private static Model stateful() {
    Graphs.Builder graph = new Graphs.Builder(2, 2);
    int state = graph.input("state");
    int x = graph.input("x");
    int next = graph.output("next");
    int y = graph.output("y");
    graph.op(OperationCode.ADD, state, x, next);
    graph.op(OperationCode.MUL, next, x, y);
    return graph.model();
  }

  @Test
  void memoriesHoldWhatWasWrittenOrSayThatItDied() throws Exception {
    System.out.println("random memories: seeds from " + base);
    int deaths = 0;
    int buffered = 0;
    for (long seed = base; seed < base + RUNS; seed++) {
      Sequence sequence = new Sequence(seed);
      try {
        sequence.run();
      } finally {
        sequence.close();
      }
      deaths += sequence.deaths;
      buffered += sequence.buffered();
    }
    assertTrue(buffered > RUNS, "hardly anything ran with buffers: " + buffered);
    System.out.println("random memories: deaths = " + deaths + ", with buffers = " + buffered);
  }

  /** One sequence of random steps. */
  private static final class Sequence {
    private final long seed;
    private final Random random;
    private final List<DomainDevice> all = new ArrayList<>();
    private final List<DomainDevice> here = new ArrayList<>();
    private final TestRuntime runtime = TestRuntime.of(LimitedDevice.cpu());
    private final List<Memory> memories = new ArrayList<>();
    private final List<Expected> expected = new ArrayList<>();
    private final List<Compilation> compilations = new ArrayList<>();
    private int deaths;
    private String history = "";

    Sequence(long seed) {
      this.seed = seed;
      this.random = new Random(seed * 7919);
    }

    int buffered() {
      return all.stream().mapToInt(DomainDevice::buffered).sum();
    }

    void run() throws Exception {
      arrive();
      Fallback fallback = random.nextInt(4) == 0 ? Fallback.DENY : Fallback.ALLOW;
      compilations.add(
          runtime.networks().compile(stateful(), CompilationOptions.DEFAULT.with(fallback)));
      if (random.nextBoolean()) {
        compilations.add(
            runtime
                .networks()
                .compile(
                    stateful(),
                    CompilationOptions.DEFAULT.withSampling(random.nextBoolean() ? 0.5 : 0)));
      }
      for (int i = 0; i < MEMORIES; i++) {
        MemoryDesc.Builder desc = MemoryDesc.builder("m" + i);
        for (Compilation compilation : compilations) {
          desc.input(compilation, 0).output(compilation, 0);
          if (i % 2 == 1) {
            desc.output(compilation, 1);
          }
        }
        memories.add(runtime.networks().createMemory(desc.build()));
        expected.add(new Expected());
      }
      for (int i = 0; i < STEPS; i++) {
        step();
        if (random.nextInt(3) == 0) {
          check(random.nextInt(MEMORIES));
        }
      }
      for (int i = 0; i < MEMORIES; i++) {
        check(i);
      }
    }

    private void step() throws Exception {
      if (here.isEmpty()) {
        arrive();
      }
      int kind = random.nextInt(20);
      history += " " + kind;
      if (kind < 9) {
        execute();
      } else if (kind < 12) {
        write();
      } else if (kind < 14) {
        copy();
      } else if (kind == 14) {
        arrive();
      } else if (kind == 15) {
        depart(false);
      } else if (kind == 16) {
        depart(true);
      } else if (kind == 17) {
        lose();
      } else if (kind == 18) {
        failOnce();
      } else {
        for (Compilation compilation : compilations) {
          Eventually.that("planned", () -> !compilation.isReplanning());
        }
      }
    }

    private float[] randomValue() {
      return new float[] {random.nextInt(9), random.nextInt(9), 1, -1};
    }

    private void execute() {
      Compilation compilation = compilations.get(random.nextInt(compilations.size()));
      int from = random.nextInt(MEMORIES);
      int to = (from + 1 + random.nextInt(MEMORIES - 1)) % MEMORIES;
      int second = to % 2 == 1 ? -1 : (to + 1) % MEMORIES;
      boolean hasSecond = second >= 0 && second != from && random.nextBoolean();
      float[] x = randomValue();
      float[] y = new float[4];
      var execution =
          compilation
              .createExecution()
              .setInput(0, memories.get(from))
              .setInput(1, Graphs.floats(x))
              .setOutput(0, memories.get(to));
      if (hasSecond) {
        execution.setOutput(1, memories.get(second));
      } else {
        execution.setOutput(1, Graphs.floats(y));
      }
      ExecutionReport report = execution.compute();
      Expected state = expected.get(from);
      if (report.isSuccess()) {
        assertTrue(state.value != null, describe("ran on nothing"));
        float[] next = new float[4];
        float[] product = new float[4];
        for (int i = 0; i < 4; i++) {
          next[i] = state.value[i] + x[i];
          product[i] = next[i] * x[i];
        }
        expected.get(to).set(next);
        if (hasSecond) {
          expected.get(second).set(product);
        } else {
          assertArrayEquals(product, y, describe("another product"));
        }
        // It was read, so it is alive.
        return;
      }
      if (report.code() == ResultCode.DEAD_OBJECT) {
        deaths++;
        assertTrue(state.mayBeDead, describe("dead for nothing: " + report.message()));
        state.value = null;
      } else if (state.value != null) {
        assertTrue(
            compilation == compilations.get(0),
            describe("failed with fallback: " + report.message()));
      }
      settle(to);
      if (hasSecond) {
        settle(second);
      }
    }

    /** After a failed execution, a memory to be written is as it was, or empty. */
    private void settle(int memory) {
      if (memories.get(memory).describe().state() == State.UNINITIALIZED) {
        expected.get(memory).set(null);
      }
    }

    private void write() throws NeuralNetworksException {
      int memory = random.nextInt(MEMORIES);
      float[] value = randomValue();
      memories.get(memory).copyFrom(Graphs.floats(value));
      expected.get(memory).set(value);
    }

    private void copy() {
      int from = random.nextInt(MEMORIES);
      int to = random.nextInt(MEMORIES);
      Expected source = expected.get(from);
      try {
        memories.get(to).copyFrom(memories.get(from));
        if (from != to) {
          assertTrue(source.value != null, describe("copied nothing"));
          expected.get(to).set(source.value);
        }
      } catch (NeuralNetworksException e) {
        refused(source, e);
        expected.get(to).set(null);
      }
    }

    private void refused(Expected source, NeuralNetworksException e) {
      if (e.code() == ResultCode.DEAD_OBJECT) {
        deaths++;
        assertTrue(source.mayBeDead, describe("dead for nothing: " + e.getMessage()));
        source.value = null;
      } else {
        assertEquals(ResultCode.BAD_DATA, e.code(), describe(e.getMessage()));
        assertTrue(source.value == null, describe("holds nothing: " + e.getMessage()));
      }
    }

    private void arrive() {
      if (here.size() == 3) {
        return;
      }
      double cost = random.nextInt(1, 9) / 10.0;
      String id = "d" + all.size();
      DomainDevice device =
          switch (random.nextInt(4)) {
            case 0 -> DomainDevice.of(id, cost, OperationCode.ADD);
            case 1 -> DomainDevice.ofType(DeviceType.CPU, id, cost);
            case 2 ->
                DomainDevice.of(id, cost)
                    .with(
                        DomainDevice.Allocation.values()[
                            random.nextInt(DomainDevice.Allocation.values().length)]);
            default -> DomainDevice.of(id, cost);
          };
      all.add(device);
      here.add(device);
      runtime.add(device);
    }

    private void depart(boolean dies) {
      if (here.isEmpty()) {
        return;
      }
      DomainDevice device = here.remove(random.nextInt(here.size()));
      if (dies) {
        device.refuseCopies(true);
        expected.forEach(memory -> memory.mayBeDead = true);
      }
      runtime.remove(device);
      assertEquals(0, device.open() + device.buffers(), describe("open after its departure"));
    }

    private void lose() {
      if (!here.isEmpty()) {
        here.get(random.nextInt(here.size())).loseContents();
        expected.forEach(memory -> memory.mayBeDead = true);
      }
    }

    private void failOnce() {
      if (!here.isEmpty()) {
        int[] left = {1};
        here.get(random.nextInt(here.size()))
            .afterExecute(
                (request, config) ->
                    left[0]-- > 0 ? new Failed(ErrorStatus.GENERAL_FAILURE, "once") : null);
      }
    }

    private void check(int index) {
      Expected memory = expected.get(index);
      float[] actual = new float[4];
      try {
        memories.get(index).copyTo(Graphs.floats(actual));
        if (memory.value == null) {
          fail(describe("m" + index + " holds " + Arrays.toString(actual) + ", not nothing"));
        }
        assertArrayEquals(memory.value, actual, describe("m" + index));
      } catch (NeuralNetworksException e) {
        refused(memory, e);
      }
    }

    private String describe(String what) {
      return "seed " + seed + " (steps" + history + "): " + what;
    }

    void close() throws Exception {
      runtime.close();
      Eventually.that(
          "all is given back",
          () -> all.stream().allMatch(device -> device.open() + device.buffers() == 0));
    }
  }
}
