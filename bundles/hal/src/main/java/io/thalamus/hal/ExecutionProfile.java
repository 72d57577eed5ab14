// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import java.util.List;

/**
 * The time of each operation of a model in one execution by one thread. Immutable.
 *
 * @param nanos by operation of the main graph, in its order; 0 for one that is no work; together no
 *     more than the call takes
 * @param floatPeak products of floats, each with its addition, that the thread could make in a
 *     second at most; 0 where that is not known
 * @param bytePeak the same of 8-bit integers
 */
public record ExecutionProfile(List<Long> nanos, double floatPeak, double bytePeak) {
  public ExecutionProfile {
    nanos = List.copyOf(nanos);
  }
}
