// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.policy;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Chooses a device for each operation of a graph. A service; thread-safe, and without memory of the
 * devices that it was shown.
 *
 * <p>The runtime makes the steps of the choices, as large as possible, and checks them: a choice
 * that the device has not promised to support fails the compilation.
 */
@ConsumerType
public interface PartitionPolicy {
  /** The choice for an IF or WHILE whose graphs are to be partitioned in turn. */
  int INTERPRETER = -1;

  /** The choice where no device supports the operation. */
  int UNASSIGNED = -2;

  /** The name by which the policy is chosen, for example {@code nnapi}. */
  String name();

  /**
   * Chooses for one graph.
   *
   * @return for each operation the index of a candidate, or {@link #INTERPRETER}, or {@link
   *     #UNASSIGNED}
   */
  int[] assign(PartitionProblem problem);
}
