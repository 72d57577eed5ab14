// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.Shape;
import java.util.List;

/**
 * A compiled graph. Immutable; the arrays are not copied and must not be written.
 *
 * @param code of all functions
 * @param constants weights as the functions read them
 * @param calls five numbers each: entry, o0, o1, o2, blocks
 * @param memory bytes of a run
 * @param copied constants that a run's memory begins with
 * @param inputs by input of the graph; null where nothing reads it
 * @param outputs by output of the graph
 * @param shapes of the outputs
 */
public record Program(
    byte[] code,
    byte[] constants,
    long[] calls,
    long memory,
    List<Copied> copied,
    Range[] inputs,
    Range[] outputs,
    List<Shape> shapes) {
  /** Numbers of a call. */
  public static final int CALL = 5;

  /** Bytes of the memory of a run. */
  public record Range(long offset, long bytes) {}

  /** A constant that stands in the memory of a run. */
  public record Copied(long from, Range to) {}
}
