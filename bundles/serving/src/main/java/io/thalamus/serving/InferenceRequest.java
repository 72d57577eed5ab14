// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import io.thalamus.model.Priority;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * A request for one inference. Immutable; the segments are lent until the completion.
 *
 * @param model the name of the model
 * @param version the version; empty for the newest one that is ready
 * @param id chosen by the client, and given back; may be empty
 * @param inputs by name, in any order
 * @param outputs the names of the wanted outputs, in the order of the answer; empty for all
 * @param allocator memory for the outputs
 * @param arrivalNanos the {@link System#nanoTime} at which the request began to arrive
 * @param timeout the time that it may take from then on: reading, waiting, computing, repeating
 * @param sequence the sequence that it belongs to, for a model that keeps state
 * @param client identity of the client, among which the device is shared fairly; empty for unknown
 * @param report whether the answer is to say what ran where, which it always does to listeners, and
 *     what the devices measured
 * @param traceParent the W3C trace context that came with it; empty if none did
 */
public record InferenceRequest(
    String model,
    Optional<String> version,
    String id,
    List<Input> inputs,
    List<String> outputs,
    OutputAllocator allocator,
    long arrivalNanos,
    Optional<Duration> timeout,
    Priority priority,
    Optional<Sequence> sequence,
    Optional<String> client,
    boolean report,
    Optional<String> traceParent) {
  public InferenceRequest {
    Objects.requireNonNull(model, "model");
    Objects.requireNonNull(version, "version");
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(allocator, "allocator");
    Objects.requireNonNull(timeout, "timeout");
    Objects.requireNonNull(priority, "priority");
    Objects.requireNonNull(sequence, "sequence");
    Objects.requireNonNull(client, "client");
    Objects.requireNonNull(traceParent, "traceParent");
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** A request with nothing but inputs, which arrives now. */
  public static InferenceRequest of(String model, List<Input> inputs, OutputAllocator allocator) {
    return new InferenceRequest(
        model,
        Optional.empty(),
        "",
        inputs,
        List.of(),
        allocator,
        System.nanoTime(),
        Optional.empty(),
        Priority.MEDIUM,
        Optional.empty(),
        Optional.empty(),
        false,
        Optional.empty());
  }

  /** Returns the priority of Triton's number: 1 is the highest, and 0 the usual one. */
  public static Priority priority(long number) {
    return number == 1
        ? Priority.HIGH
        : number == 0 || number == 2 ? Priority.MEDIUM : Priority.LOW;
  }

  /**
   * The value of an input, little-endian and row-major.
   *
   * @param shape all dimensions, each at least 0
   * @param value of any alignment, and of an arena that every thread can access; it is read in
   *     place if it is off the heap and aligned for its elements
   */
  public record Input(String name, Datatype datatype, List<Long> shape, MemorySegment value) {
    public Input {
      Objects.requireNonNull(name, "name");
      Objects.requireNonNull(datatype, "datatype");
      Objects.requireNonNull(value, "value");
      shape = List.copyOf(shape);
    }
  }

  /**
   * The place of a request in a sequence, whose state the server keeps in between.
   *
   * @param id not empty; numbers are given by their digits
   * @param isStart whether the state begins anew
   * @param isEnd whether the state is dropped afterwards
   */
  public record Sequence(String id, boolean isStart, boolean isEnd) {
    public Sequence {
      if (id.isEmpty()) {
        throw new IllegalArgumentException("the id of a sequence is empty");
      }
    }
  }

  /** Memory for outputs, where devices write them in place. */
  @FunctionalInterface
  public interface OutputAllocator {
    /**
     * Returns memory for an output, off the heap, aligned by 64 bytes and of an arena that every
     * thread can access, which stays open until the completion. Called in the thread that submits,
     * and again in another one for an output whose size only the execution finds out: the last
     * segment of a name is that of the answer.
     *
     * @param output the output; open dimensions are -1
     * @param byteSize the bytes, at least 1
     * @throws ServingException if there is none: the request fails with it
     */
    MemorySegment allocate(TensorMetadata output, long byteSize) throws ServingException;
  }
}
