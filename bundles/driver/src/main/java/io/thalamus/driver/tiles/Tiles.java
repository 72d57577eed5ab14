// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.tiles;

/**
 * Parts of an operation that write to different places, so that they can run in any order and at
 * the same time; what one of them computes does not depend on who runs it. Called by several
 * threads.
 */
@FunctionalInterface
public interface Tiles {
  /**
   * Computes one part.
   *
   * @param participant who runs it: 0 is the caller of the execution, others are helpers
   */
  void run(int participant, int tile);
}
