// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.operations.Sequence;
import io.thalamus.operations.Sequence.Route;
import io.thalamus.x86.compile.Weights.Source;
import io.thalamus.x86.kernel.Strided;
import java.util.Optional;

/**
 * The steps of one recurrent cell in one direction: sums of its gates, and rows of its states.
 * Places within a row are in floats. Used once.
 */
final class Steps {
  private final ProgramBuilder program;
  private final Sequence sequence;
  private final Route route;
  private final int width;
  private final int depth;

  /** The sums of the gates, by rows of the input. */
  final Place sums;

  /** By step, and one more, and batch; the first are those that the cell is given. */
  final Place states;

  /** Makes the new states of a step, all places being bytes of sums and states. */
  @FunctionalInterface
  interface Step {
    void call(long sums, long old, long next);
  }

  /**
   * The steps.
   *
   * @param width floats of a row of sums
   * @param depth floats of a row of states
   */
  Steps(ProgramBuilder program, Sequence sequence, Route route, int width, int depth) {
    this.program = program;
    this.sequence = sequence;
    this.route = route;
    this.width = width;
    this.depth = depth;
    long rows = (long) sequence.steps() * sequence.batches();
    sums = program.place(rows * width * Float.BYTES);
    states = program.place((rows + sequence.batches()) * depth * Float.BYTES);
  }

  /** Returns the bytes from the sums of one batch to those of the next. */
  int batchStep() {
    return (sequence.isTimeMajor() ? 1 : sequence.steps()) * width * Float.BYTES;
  }

  /** Returns the bytes from the states of one batch to those of the next. */
  int stateStep() {
    return depth * Float.BYTES;
  }

  private long stateRow(int step) {
    return (long) step * sequence.batches() * depth * Float.BYTES;
  }

  private void copy(
      Place from, long at, int step, Place to, long target, int targetStep, int count, int rows) {
    Strided copy =
        new Strided(
            Float.BYTES,
            count,
            Float.BYTES,
            Float.BYTES,
            step * Float.BYTES,
            targetStep * Float.BYTES);
    program.call(copy, rows, from.at(at), to.at(target));
  }

  /** Copies a given state of so many floats to a place in the rows of states. */
  void begin(Place from, int place, int count) {
    long first = stateRow(route.isBackward() ? sequence.steps() : 0);
    long to = first + (long) place * Float.BYTES;
    copy(from, 0, count, states, to, depth, count, sequence.batches());
  }

  /** Copies a state after the last step. */
  void end(Place to, int place, int count) {
    long last = stateRow(route.isBackward() ? 0 : sequence.steps());
    long from = last + (long) place * Float.BYTES;
    copy(states, from, depth, to, 0, count, count, sequence.batches());
  }

  void multiplyInputs(Place input, int inputSize, float[] weights, Optional<float[]> bias) {
    Convolution.product(
        sequence.steps() * sequence.batches(),
        inputSize,
        width,
        new Weights(
            Source.of(weights, program),
            bias.map(numbers -> Source.of(numbers, program)),
            0,
            1,
            inputSize),
        input,
        sums,
        program);
  }

  /**
   * Walks over the steps.
   *
   * @param recurrent the weights of the outputs of the step before
   * @param place where these begin in a row of states
   */
  void run(StepProduct recurrent, int place, Step step) {
    for (int i = 0; i < sequence.steps(); i++) {
      int time = route.isBackward() ? sequence.steps() - 1 - i : i;
      long old = stateRow(route.isBackward() ? time + 1 : time);
      long next = stateRow(route.isBackward() ? time : time + 1);
      long at = (long) sequence.row(time, 0) * width * Float.BYTES;
      program.barrier();
      recurrent.call(states, old + (long) place * Float.BYTES, stateStep(), sums, at, batchStep());
      step.call(at, old, next);
    }
  }

  /** Writes the outputs of all steps, which begin somewhere in the rows of states. */
  void write(Place to, int place, int count) {
    int steps = sequence.steps();
    int batches = sequence.batches();
    long from = stateRow(route.isBackward() ? 0 : 1) + (long) place * Float.BYTES;
    long at = (long) route.offset() * Float.BYTES;
    if (sequence.isTimeMajor() || batches == 1) {
      copy(states, from, depth, to, at, route.depth(), count, steps * batches);
      return;
    }
    for (int b = 0; b < batches; b++) {
      copy(
          states,
          from + (long) b * depth * Float.BYTES,
          batches * depth,
          to,
          at + (long) b * steps * route.depth() * Float.BYTES,
          route.depth(),
          count,
          steps);
    }
  }
}
