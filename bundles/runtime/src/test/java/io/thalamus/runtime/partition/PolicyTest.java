// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.plan.PlannedModel;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.policy.PartitionProblem;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** A policy written by a stranger: chosen by its name, and not trusted. */
class PolicyTest {
  private static PartitionPolicy policy(Function<PartitionProblem, int[]> choice) {
    return new PartitionPolicy() {
      @Override
      public String name() {
        return "stranger";
      }

      @Override
      public int[] assign(PartitionProblem problem) {
        return choice.apply(problem);
      }
    };
  }

  private static PlannedModel plan(PartitionPolicy policy) throws NeuralNetworksException {
    return new Partitioner(policy, (model, graph, operation) -> FeatureLevel.V1_0)
        .partition(
            Graphs.addThenMul(),
            ExecutionPreference.FAST_SINGLE_ANSWER,
            NnapiPartitioningTest.devices(
                LimitedDevice.of("adder", 0.1, OperationCode.ADD), LimitedDevice.cpu()));
  }

  @Test
  void itsChoicesAreFollowed() throws Exception {
    // Everything to the reference, though the adder is cheaper.
    PartitionPolicy careful =
        policy(
            problem -> {
              int reference = problem.reference().orElseThrow();
              return problem.graph().operations().stream().mapToInt(o -> reference).toArray();
            });
    assertEquals(List.of("cpu"), NnapiPartitioningTest.steps(plan(careful)));
    assertEquals("stranger", plan(careful).description().policy());
  }

  @Test
  void impossibleChoicesAreRefused() {
    assertBroken("did not choose for all 2 operations", problem -> null);
    assertBroken("did not choose for all 2 operations", problem -> new int[] {0});
    assertBroken("chose device 2 of 2", problem -> new int[] {2, 1});
    assertBroken("chose device -3 of 2", problem -> new int[] {-3, 1});
    assertBroken(
        "gave MUL (operation 1) to adder, which does not support it", problem -> new int[] {0, 0});
    assertBroken(
        "gave ADD (operation 0) to the interpreter",
        problem -> new int[] {PartitionPolicy.INTERPRETER, 1});
  }

  private static void assertBroken(String deed, Function<PartitionProblem, int[]> choice) {
    NeuralNetworksException e =
        assertThrows(NeuralNetworksException.class, () -> plan(policy(choice)));
    assertEquals(ResultCode.OP_FAILED, e.code());
    assertEquals("the partition policy stranger " + deed, e.getMessage());
  }

  @Test
  void oneThatBreaksIsRefused() {
    assertBroken(
        "broke: java.lang.IllegalStateException: lost",
        problem -> {
          throw new IllegalStateException("lost");
        });
  }
}
