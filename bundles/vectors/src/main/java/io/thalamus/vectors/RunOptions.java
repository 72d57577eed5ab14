// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.util.Objects;

/**
 * Through which path an example is run. Immutable.
 *
 * @param mode how it is executed
 * @param outputs what is known of the outputs beforehand
 * @param measureTiming whether timing is asked for
 */
public record RunOptions(Mode mode, Outputs outputs, boolean measureTiming) {
  /** Synchronous, with outputs fully specified, not timed. */
  public static final RunOptions DEFAULT =
      new RunOptions(Mode.SYNC, Outputs.FULLY_SPECIFIED, false);

  public RunOptions {
    Objects.requireNonNull(mode, "mode");
    Objects.requireNonNull(outputs, "outputs");
  }

  public RunOptions with(Mode value) {
    return new RunOptions(value, outputs, measureTiming);
  }

  public RunOptions with(Outputs value) {
    return new RunOptions(mode, value, measureTiming);
  }

  public RunOptions withMeasureTiming(boolean value) {
    return new RunOptions(mode, outputs, value);
  }

  /** The ways to execute. */
  public enum Mode {
    SYNC,
    ASYNC,
    FENCED
  }

  /** What the model and the buffers say of the outputs. */
  public enum Outputs {
    /** All dimensions are known, all buffers fit. */
    FULLY_SPECIFIED,
    /** The ranks are known, the dimensions are 0; the execution finds them. */
    UNSPECIFIED,
    /** The same, and the first buffer is one byte too short. */
    INSUFFICIENT
  }
}
