// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.policy.PartitionProblem;
import java.util.OptionalInt;
import org.osgi.service.component.annotations.Component;

/**
 * NNAPI's own rules, as AOSP's {@code findBestDeviceForEachOperation} has them: each operation goes
 * to the device with the lowest declared cost; the reference wins ties, otherwise the earlier
 * device. Stateless.
 *
 * <p>Control flow that the reference would win is interpreted, and its graphs are partitioned in
 * turn; with operands of unknown size it can only go to the reference, as one operation. If neither
 * the reference is a candidate nor any device takes a control flow operation of known sizes whole,
 * it is interpreted too: AOSP would refuse the model.
 */
@Component
public final class NnapiPolicy implements PartitionPolicy {
  /** The name of this policy. */
  public static final String NAME = "nnapi";

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public int[] assign(PartitionProblem problem) {
    int[] choices = new int[problem.graph().operations().size()];
    for (int operation = 0; operation < choices.length; operation++) {
      choices[operation] = choose(problem, operation);
    }
    return choices;
  }

  private static int choose(PartitionProblem problem, int operation) {
    OptionalInt reference = problem.reference();
    boolean interpretable = problem.isInterpretable(operation);
    if (problem.isControlFlow(operation) && !interpretable) {
      return reference.isPresent() && problem.supports(reference.getAsInt(), operation)
          ? reference.getAsInt()
          : UNASSIGNED;
    }
    int best = UNASSIGNED;
    float bestCost = 0;
    for (int candidate = 0; candidate < problem.candidates().size(); candidate++) {
      boolean isReference = problem.candidates().get(candidate).isReference();
      if (!problem.supports(candidate, operation) && !(isReference && interpretable)) {
        continue;
      }
      float cost = problem.declaredCost(candidate, operation);
      if (best == UNASSIGNED || cost < bestCost || (cost == bestCost && isReference)) {
        best = candidate;
        bestCost = cost;
      }
    }
    if (best == UNASSIGNED) {
      return interpretable ? INTERPRETER : UNASSIGNED;
    }
    return interpretable && problem.candidates().get(best).isReference() ? INTERPRETER : best;
  }
}
