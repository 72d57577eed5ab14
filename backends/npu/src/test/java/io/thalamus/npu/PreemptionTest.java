// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Priority;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tck.graph.GraphGenerator;
import io.thalamus.vectors.DecodedExample;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Streams that are put aside or dropped for others compute what they do undisturbed. */
@Timeout(300)
@Order(2)
class PreemptionTest {
  private static final long SEED = 20_260_101;
  private static final int PREEMPTIONS = 10_000;
  private static final int MODELS = 24;

  private final NpuDevice device = new NpuDevice("1.0.0", GoldenVectorsTest.SMALL);
  private final List<Sample> samples = new ArrayList<>();

  /** A model with what it computes when it has the device for itself. */
  private record Sample(DecodedExample example, PreparedModel prepared, byte[] expected) {
    void run(ExecutionControl control) {
      try (TestRequest request = TestRequest.of(example)) {
        assertInstanceOf(
            Completed.class,
            prepared.execute(request.request(), ExecutionConfig.DEFAULT.with(control)));
        assertArrayEquals(expected, request.allOutputs(), () -> "another result of " + example);
      }
    }
  }

  @AfterEach
  void close() {
    samples.forEach(
        sample -> {
          sample.prepared.close();
          sample.example.close();
        });
    device.close();
  }

  /** Models of the kit's generator, for hardware so small that each has many commands. */
  private void prepare(Random random) throws Exception {
    GraphGenerator generator = GraphGenerator.over(device);
    for (long seed = random.nextInt(); samples.size() < MODELS; seed++) {
      DecodedExample example = generator.graph(seed).decode();
      int operations = example.model().main().operations().size();
      if (device.supportedOperations(example.model()).cardinality() < operations) {
        example.close();
        continue;
      }
      Priority priority = Priority.values()[random.nextInt(3)];
      PreparedModel prepared =
          device.prepare(example.model(), PrepareConfig.DEFAULT.with(priority));
      try (TestRequest request = TestRequest.of(example)) {
        assertInstanceOf(
            Completed.class, prepared.execute(request.request(), ExecutionConfig.DEFAULT));
        samples.add(new Sample(example, prepared, request.allOutputs()));
      }
    }
  }

  /** Wants a pause now and then; another model has the device meanwhile. */
  private final class Disturbance implements ExecutionControl {
    private final Random random;
    private final int every;
    private boolean isWanted;

    Disturbance(Random random) {
      this.random = random;
      this.every = 1 + random.nextInt(40);
    }

    @Override
    public Signal checkpoint() {
      if (isWanted) {
        isWanted = false;
        samples.get(random.nextInt(MODELS)).run(ExecutionControl.NONE);
      }
      return Signal.CONTINUE;
    }

    @Override
    public Signal status() {
      return Signal.CONTINUE;
    }

    @Override
    public boolean isPauseWanted() {
      isWanted |= random.nextInt(every) == 0;
      return isWanted;
    }
  }

  @Test
  void tenThousandTimesTheResultIsTheSame() throws Exception {
    Random random = new Random(SEED);
    prepare(random);
    int executions = 0;
    while (preemptions() < PREEMPTIONS) {
      samples.get(random.nextInt(MODELS)).run(new Disturbance(random));
      executions++;
    }
    NpuActivity activity = device.activity();
    System.out.println("npu: " + executions + " executions, seed " + SEED + ": " + activity);
    assertTrue(activity.resumed() > 0, "none was put aside");
    assertTrue(activity.restarted() > 0, "none was dropped");
    assertEquals(0, activity.waiting());
  }

  private long preemptions() {
    return device.activity().resumed() + device.activity().restarted();
  }

  @Test
  void callersOfAllPrioritiesGetTheirOwnResults() throws Exception {
    prepare(new Random(SEED));
    List<FutureTask<Void>> callers = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      Random random = new Random(SEED + i);
      Callable<Void> caller =
          () -> {
            for (int execution = 0; execution < 300; execution++) {
              samples.get(random.nextInt(MODELS)).run(ExecutionControl.NONE);
            }
            return null;
          };
      FutureTask<Void> task = new FutureTask<>(caller);
      callers.add(task);
      Thread.ofPlatform().name("test-caller-" + i).daemon().start(task);
    }
    for (FutureTask<Void> caller : callers) {
      caller.get();
    }
    System.out.println("npu: six callers: " + device.activity());
    assertEquals(MODELS + 6 * 300, device.activity().executions());
    assertEquals(0, device.activity().waiting());
  }
}
