// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.policy;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Subgraph;
import java.util.List;
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

  /** What the application wants. */
  ExecutionPreference preference();

  /** The devices, in the order in which ties are broken; the reference is the last. */
  List<Candidate> candidates();

  /** The index of the reference among the candidates, where it is one. */
  OptionalInt reference();

  /** Whether a candidate promised to support an operation of the graph. */
  boolean supports(int candidate, int operation);

  /** Whether an operation is IF or WHILE. */
  boolean isControlFlow(int operation);

  /** Whether the runtime's interpreter can execute an operation: control flow with known sizes. */
  boolean isInterpretable(int operation);

  /**
   * What a candidate declares for an operation, as NNAPI counts: a ratio to the reference, of power
   * where the preference is LOW_POWER, else of time, by the type of the first input; for control
   * flow with the costs of the graphs that it refers to.
   */
  float declaredCost(int candidate, int operation);
}
