// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.policy;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import org.osgi.annotation.versioning.ProviderType;

/**
 * One graph to be given to devices. Valid during the call that it is passed to; not thread-safe.
 */
@ProviderType
public interface PartitionProblem {
  /** The whole model. */
  Model model();

  /** The graph in question: 0 for the main one, else 1 plus the index among the referenced ones. */
  int subgraph();

  /** The graph in question. */
  default Subgraph graph() {
    return subgraph() == 0 ? model().main() : model().referenced().get(subgraph() - 1);
  }

  /** Returns the preference of the application. */
  ExecutionPreference preference();

  /** The devices, in the order in which ties are broken; the reference is the last. */
  List<Candidate> candidates();

  /** The index of the reference among the candidates, where it is one. */
  OptionalInt reference();

  /** Returns whether a candidate promised to support an operation of the graph. */
  boolean supports(int candidate, int operation);

  /** Returns whether an operation is IF or WHILE. */
  boolean isControlFlow(int operation);

  /** Returns whether the interpreter can execute an operation: control flow with known sizes. */
  boolean isInterpretable(int operation);

  /**
   * Returns the declared cost of an operation, as NNAPI counts: a ratio to the reference, of power
   * where the preference is LOW_POWER, else of time, by the type of the first input; for control
   * flow with the costs of the graphs that it refers to.
   */
  float declaredCost(int candidate, int operation);

  /**
   * The time that an operation is expected to take on a candidate, without what its step costs:
   * measured here where {@link #isMeasured}, else from what was measured elsewhere, the size of the
   * operation and what the candidate declares.
   */
  double expectedNanos(int candidate, int operation);

  /** Returns whether the expected time of an operation on a candidate was measured on it. */
  boolean isMeasured(int candidate, int operation);

  /**
   * The energy that an operation is expected to need on a candidate, in nanoseconds of the
   * reference: what the reference needs in a second is 1e9.
   */
  double expectedEnergy(int candidate, int operation);

  /** The energy that the reference alone would need for all operations of the graph. */
  double referenceEnergy();

  /** Returns the fixed time of a step on a candidate. */
  double startNanos(int candidate);

  /**
   * Returns the time for a candidate to take in, or give out, so many bytes at the end of a step.
   */
  double transferNanos(int candidate, long bytes);

  /** The bytes of an operand of the graph; 0 where they are not known before it runs. */
  default long bytes(int operand) {
    Operand given = graph().operands().get(operand);
    return given.isSizeKnown() ? given.byteSize() : 0;
  }

  /**
   * The energy that an inference may need, as a share of {@link #referenceEnergy()}; empty where
   * there is no limit.
   */
  OptionalDouble powerBudget();
}
