// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.compilation;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.CompilationOptions.Fallback;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.api.ResultCode;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.policy.PartitionProblem;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Policies come and go while compilations live by them. */
class PoliciesTest {
  private static final long PATIENCE_NANOS = 60_000_000_000L;

  private final LimitedDevice fast = LimitedDevice.all("fast", 0.5);
  private final LimitedDevice cpu = LimitedDevice.cpu();
  private final TestRuntime runtime = TestRuntime.of(fast, cpu);

  /** Gives everything to the last device, which is the reference. */
  private static final class Careful implements PartitionPolicy {
    @Override
    public String name() {
      return "careful";
    }

    @Override
    public int[] assign(PartitionProblem problem) {
      int last = problem.candidates().size() - 1;
      return problem.graph().operations().stream().mapToInt(operation -> last).toArray();
    }
  }

  @AfterEach
  void closeAll() {
    runtime.close();
    assertEquals(0, fast.open() + cpu.open(), "left open");
  }

  private static CompilationOptions careful() {
    return CompilationOptions.DEFAULT.withPolicy("careful");
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() - end < 0, "it did not happen");
      Thread.sleep(5);
    }
  }

  private static void assertRunsOn(String device, Compilation compilation) {
    float[] result = new float[4];
    assertEquals(
        List.of(device), Graphs.ranOn(Graphs.addThenMulExecution(compilation, result).compute()));
    assertArrayEquals(Graphs.addThenMulResult(), result);
  }

  @Test
  void aCompilationChoosesItsPolicyByName() throws Exception {
    runtime.policies.addPolicy(new Careful());
    assertEquals(List.of("careful", "nnapi", "search"), runtime.networks().policies());
    try (Compilation usual =
            runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
        Compilation other = runtime.networks().compile(Graphs.addThenMul(), careful())) {
      assertEquals("nnapi", usual.plan().policy());
      assertRunsOn("fast", usual);
      assertEquals("careful", other.plan().policy());
      assertRunsOn("cpu", other);
    }
  }

  @Test
  void oneThatIsNotHereIsRefusedByName() {
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () -> runtime.networks().plan(Graphs.addThenMul(), careful()));
    assertEquals(ResultCode.BAD_DATA, e.code());
    assertEquals("no partition policy 'careful' is here; there are: nnapi, search", e.getMessage());
  }

  @Test
  void whenItLeavesCompilationsArePlannedAgainAndSaySo() throws Exception {
    Careful policy = new Careful();
    runtime.policies.addPolicy(policy);
    try (Compilation compilation = runtime.networks().compile(Graphs.addThenMul(), careful())) {
      assertRunsOn("cpu", compilation);
      runtime.policies.removePolicy(policy);
      await(() -> compilation.plan().policy().equals("nnapi"));
      assertEquals(
          List.of("the partition policy careful is not here; nnapi decided"),
          compilation.plan().prediction().remarks());
      assertRunsOn("fast", compilation);
      runtime.policies.addPolicy(policy);
      await(() -> compilation.plan().policy().equals("careful"));
      assertEquals(List.of(), compilation.plan().prediction().remarks());
      assertRunsOn("cpu", compilation);
    }
  }

  @Test
  void sameStepsForAnotherReasonAreNotPreparedAgain() throws Exception {
    PartitionPolicy same =
        new PartitionPolicy() {
          @Override
          public String name() {
            return "same";
          }

          @Override
          public int[] assign(PartitionProblem problem) {
            return new int[problem.graph().operations().size()];
          }
        };
    runtime.policies.addPolicy(same);
    try (Compilation compilation =
        runtime
            .networks()
            .compile(Graphs.addThenMul(), CompilationOptions.DEFAULT.withPolicy("same"))) {
      runtime.policies.removePolicy(same);
      await(() -> compilation.plan().policy().equals("nnapi"));
      assertEquals(1, fast.prepared().size());
    }
  }

  @Test
  void whatWasMeasuredIsPredicted() throws Exception {
    assertFalse(
        runtime
            .networks()
            .plan(Graphs.addThenMul(), CompilationOptions.DEFAULT)
            .prediction()
            .isMeasured());
    Plan plan =
        runtime
            .networks()
            .measure(Graphs.addThenMul(), CompilationOptions.DEFAULT, Duration.ofMillis(20));
    assertTrue(plan.prediction().isMeasured());
    assertTrue(plan.prediction().nanos() > 0);
    assertEquals(2, plan.prediction().operations().getFirst().size(), "on both devices");
    assertEquals(0, fast.open() + cpu.open(), "what was prepared to measure is closed");
  }

  @Test
  void anInterruptEndsMeasuring() {
    Thread.currentThread().interrupt();
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () ->
                runtime
                    .networks()
                    .measure(Graphs.addThenMul(), CompilationOptions.DEFAULT, Duration.ofDays(1)));
    assertTrue(Thread.interrupted(), "the interrupt is still told");
    assertEquals("interrupted while measuring", e.getMessage());
    assertEquals(0, fast.open() + cpu.open(), "what was prepared to measure is closed");
  }

  @Test
  void openInputsCannotBeMeasured() {
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () ->
                runtime
                    .networks()
                    .measure(Graphs.twice(0, 2), CompilationOptions.DEFAULT, Duration.ofMillis(1)));
    assertEquals(
        "input 'x' has open dimensions: its operations cannot be measured", e.getMessage());
  }

  @Test
  void stepsOfARunningCompilationAreLearntFrom() throws Exception {
    try (Compilation compilation =
        runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT)) {
      for (int i = 0; i < 20; i++) {
        assertRunsOn("fast", compilation);
      }
    }
    assertTrue(
        runtime
            .networks()
            .plan(Graphs.addThenMul(), CompilationOptions.DEFAULT)
            .prediction()
            .isMeasured());
  }

  @Test
  void whereAPolicyBreaksNnapiDecidesUnlessFallbackIsDenied() throws Exception {
    runtime.policies.addPolicy(
        new PartitionPolicy() {
          @Override
          public String name() {
            return "careful";
          }

          @Override
          public int[] assign(PartitionProblem problem) {
            throw new IllegalStateException("lost");
          }
        });
    Plan plan = runtime.networks().plan(Graphs.addThenMul(), careful());
    assertEquals("nnapi", plan.policy());
    assertEquals("fast", plan.steps().getFirst().device());
    assertEquals(
        List.of(
            "the partition policy careful broke: java.lang.IllegalStateException: lost; nnapi"
                + " decided"),
        plan.prediction().remarks());
    NeuralNetworksException e =
        assertThrows(
            NeuralNetworksException.class,
            () -> runtime.networks().plan(Graphs.addThenMul(), careful().with(Fallback.DENY)));
    assertEquals(ResultCode.OP_FAILED, e.code());
  }
}
