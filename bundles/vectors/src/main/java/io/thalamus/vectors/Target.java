// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.vectors.RunOptions.Mode;
import java.time.Duration;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * A place to run examples on: a device, or the runtime with some devices. Thread-safe; any number
 * of models may be prepared at once.
 */
@ConsumerType
@FunctionalInterface
public interface Target {
  /**
   * Prepares a model.
   *
   * @return to be closed by the caller, before the model's pools are
   * @throws Refusal where the model is refused, or cannot be prepared
   */
  Prepared prepare(Model model) throws Refusal;

  /** For people, for example {@code device thalamus-cpu}. */
  default String name() {
    return "the target";
  }

  /**
   * Returns the operations of the main graph that can be executed, by index; all unless said
   * otherwise.
   *
   * @throws Refusal where the model is invalid
   */
  default BitSet supportedOperations(Model model) throws Refusal {
    BitSet all = new BitSet();
    all.set(0, model.main().operations().size());
    return all;
  }

  /** The ways in which this target executes. */
  default Set<Mode> modes() {
    return EnumSet.allOf(Mode.class);
  }

  /** A prepared model. Thread-safe. */
  interface Prepared extends AutoCloseable {
    /** Executes once, and returns when the outputs are written or nothing touches them any more. */
    Answer execute(Arguments arguments, Settings settings);

    @Override
    void close();
  }

  /**
   * Inputs and outputs in memory that is lent until the execution has returned.
   *
   * @param inputMemory holds the inputs
   * @param inputs one for each input; an empty range leaves an optional one out
   * @param outputMemory takes the outputs
   * @param outputs one for each output
   */
  record Arguments(
      SharedMemory inputMemory,
      List<Range> inputs,
      SharedMemory outputMemory,
      List<Range> outputs) {
    public Arguments {
      Objects.requireNonNull(inputMemory, "inputMemory");
      Objects.requireNonNull(outputMemory, "outputMemory");
      inputs = List.copyOf(inputs);
      outputs = List.copyOf(outputs);
    }
  }

  /**
   * Bytes of a memory.
   *
   * @param shape the dimensions of what stands there; {@link Shape#NONE} where the model says them
   */
  record Range(long offset, long length, Shape shape) {
    public Range {
      Objects.requireNonNull(shape, "shape");
    }

    public boolean isEmpty() {
      return length == 0;
    }
  }

  /**
   * The settings of an execution.
   *
   * @param mode one of the target's
   * @param measureTiming whether to measure
   * @param loopTimeout after which a WHILE is stopped
   */
  record Settings(Mode mode, boolean measureTiming, Duration loopTimeout) {
    public Settings {
      Objects.requireNonNull(mode, "mode");
      Objects.requireNonNull(loopTimeout, "loopTimeout");
    }

    Settings with(Mode value) {
      return new Settings(value, measureTiming, loopTimeout);
    }
  }

  /**
   * The answer to an execution.
   *
   * @param status what kind of end
   * @param message what went wrong, in the target's own words; empty where nothing did
   * @param outputs what is said of the outputs' shapes; may be empty
   * @param timing as far as it was measured
   */
  record Answer(Status status, String message, List<OutputShape> outputs, Timing timing) {
    public Answer {
      Objects.requireNonNull(status, "status");
      Objects.requireNonNull(message, "message");
      Objects.requireNonNull(timing, "timing");
      outputs = List.copyOf(outputs);
    }

    /** The outputs are written. */
    public static Answer done(List<OutputShape> outputs, Timing timing) {
      return new Answer(Status.DONE, "", outputs, timing);
    }

    /** A buffer was too small. */
    public static Answer insufficient(List<OutputShape> outputs) {
      return new Answer(
          Status.OUTPUT_INSUFFICIENT_SIZE,
          Status.OUTPUT_INSUFFICIENT_SIZE.name(),
          outputs,
          Timing.NONE);
    }

    /** Nothing useful was written. */
    public static Answer failed(Status status, String message) {
      return new Answer(status, message, List.of(), Timing.NONE);
    }
  }

  /** The ends that examples tell apart, in the words of neither contract. */
  enum Status {
    DONE,
    /** OUTPUT_INSUFFICIENT_SIZE in both contracts. */
    OUTPUT_INSUFFICIENT_SIZE,
    /** The model or the request is at fault: INVALID_ARGUMENT, or BAD_DATA. */
    REFUSED,
    /** MISSED_DEADLINE_* in both contracts. */
    MISSED_DEADLINE,
    /** Anything else. */
    FAILED
  }

  /** A model was refused, or could not be prepared. */
  final class Refusal extends Exception {
    private static final long serialVersionUID = 1L;

    private final Status status;

    public Refusal(Status status, String message, Throwable cause) {
      super(message, cause);
      this.status = Objects.requireNonNull(status, "status");
    }

    public Status status() {
      return status;
    }
  }
}
