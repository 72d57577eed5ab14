// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import java.util.Objects;

/**
 * Through which path an example is run. Immutable.
 *
 * @param mode how it is executed
 * @param inputs what the model says of the inputs
 * @param outputs what is known of the outputs beforehand
 * @param measureTiming whether timing is asked for
 */
public record RunOptions(Mode mode, Inputs inputs, Outputs outputs, boolean measureTiming) {
  /** Synchronous, with inputs and outputs fully specified, not timed. */
  public static final RunOptions DEFAULT =
      new RunOptions(Mode.SYNC, Inputs.FULLY_SPECIFIED, Outputs.FULLY_SPECIFIED, false);

  public RunOptions {
    Objects.requireNonNull(mode, "mode");
    Objects.requireNonNull(inputs, "inputs");
    Objects.requireNonNull(outputs, "outputs");
  }

  public RunOptions with(Mode value) {
    return new RunOptions(value, inputs, outputs, measureTiming);
  }

  public RunOptions with(Inputs value) {
    return new RunOptions(mode, value, outputs, measureTiming);
  }

  public RunOptions with(Outputs value) {
    return new RunOptions(mode, inputs, value, measureTiming);
  }

  public RunOptions withMeasureTiming(boolean value) {
    return new RunOptions(mode, inputs, outputs, value);
  }

  /** The ways to execute. */
  public enum Mode {
    SYNC,
    ASYNC,
    /** Behind an event that another thread completes later, at a random moment. */
    FENCED,
    /** By a burst for each model, and synchronously again: the outputs must be the same bytes. */
    BURST
  }

  /** The dimensions of inputs that the model states. */
  public enum Inputs {
    /** All dimensions are known. */
    FULLY_SPECIFIED,
    /** The ranks are known, the dimensions are 0; each execution gives them with the values. */
    UNSPECIFIED
  }

  /** The dimensions of outputs that the model states, and the size of the buffers. */
  public enum Outputs {
    /** All dimensions are known, all buffers fit. */
    FULLY_SPECIFIED,
    /** The ranks are known, the dimensions are 0; the execution finds them. */
    UNSPECIFIED,
    /** The same, and the first buffer is one byte too short. */
    INSUFFICIENT
  }
}
