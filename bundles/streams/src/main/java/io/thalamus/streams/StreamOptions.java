// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import io.thalamus.api.BurstOptions;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The wishes of an application that opens a stream. Immutable; start from {@link #DEFAULT}.
 *
 * @param depth how many frames are under way at most, from the begin of their writing to the end of
 *     their delivery; from 1 to {@value BurstOptions#MAXIMUM_DEPTH}. Each needs a thread
 * @param pollWindow how long the readers of the burst's queues poll before they sleep; empty for
 *     what the preference of the compilation means
 * @param timeout the time that the execution of a frame may take; empty for any
 * @param states tensors that go from each frame to the next
 * @param inputShapes dimensions that the model leaves open, by input
 * @param outputBytes room for outputs whose size is not known before they are computed, by output
 */
public record StreamOptions(
    int depth,
    Optional<Duration> pollWindow,
    Optional<Duration> timeout,
    List<State> states,
    Map<Integer, Shape> inputShapes,
    Map<Integer, Long> outputBytes) {
  /** One frame is written, one executed and one delivered at a time. */
  public static final StreamOptions DEFAULT =
      new StreamOptions(3, Optional.empty(), Optional.empty(), List.of(), Map.of(), Map.of());

  public StreamOptions {
    Objects.requireNonNull(pollWindow, "pollWindow");
    Objects.requireNonNull(timeout, "timeout");
    if (depth < 1 || depth > BurstOptions.MAXIMUM_DEPTH) {
      throw new IllegalArgumentException(
          "a stream has a depth from 1 to " + BurstOptions.MAXIMUM_DEPTH + ", not " + depth);
    }
    states = List.copyOf(states);
    inputShapes = Map.copyOf(inputShapes);
    outputBytes = Map.copyOf(outputBytes);
    long inputs = states.stream().map(State::input).distinct().count();
    long outputs = states.stream().map(State::output).distinct().count();
    if (inputs < states.size() || outputs < states.size()) {
      throw new IllegalArgumentException("an input or output is a state once: " + states);
    }
  }

  /**
   * An output that is an input of the next frame. It stays on the device that executes if that has
   * memory for it. Executions of frames with states follow each other.
   *
   * @param input its index
   * @param output its index; of the input's type, quantization and dimensions
   * @param initial the contents for the first frame, which must be there until the stream begins,
   *     such as the bytes of a file's first value; empty for zeros
   */
  public record State(int input, int output, Optional<MemorySegment> initial) {
    public State {
      Objects.requireNonNull(initial, "initial");
    }
  }

  public StreamOptions withDepth(int value) {
    return new StreamOptions(value, pollWindow, timeout, states, inputShapes, outputBytes);
  }

  public StreamOptions withPollWindow(Duration value) {
    return new StreamOptions(depth, Optional.of(value), timeout, states, inputShapes, outputBytes);
  }

  public StreamOptions withTimeout(Duration value) {
    return new StreamOptions(
        depth, pollWindow, Optional.of(value), states, inputShapes, outputBytes);
  }

  /** Returns options with one more state, which begins with zeros. */
  public StreamOptions withState(int input, int output) {
    return withState(new State(input, output, Optional.empty()));
  }

  /** Returns options with one more state, which begins with these contents. */
  public StreamOptions withState(int input, int output, MemorySegment initial) {
    return withState(new State(input, output, Optional.of(initial)));
  }

  private StreamOptions withState(State state) {
    List<State> all = new ArrayList<>(states);
    all.add(state);
    return new StreamOptions(depth, pollWindow, timeout, all, inputShapes, outputBytes);
  }

  /** Returns options with the dimensions of an input. */
  public StreamOptions withInputShape(int input, Shape shape) {
    return new StreamOptions(
        depth, pollWindow, timeout, states, with(inputShapes, input, shape), outputBytes);
  }

  /** Returns options with room for an output. */
  public StreamOptions withOutputBytes(int output, long bytes) {
    return new StreamOptions(
        depth, pollWindow, timeout, states, inputShapes, with(outputBytes, output, bytes));
  }

  private static <V> Map<Integer, V> with(Map<Integer, V> map, int key, V value) {
    Map<Integer, V> all = new HashMap<>(map);
    all.put(key, value);
    return all;
  }

  BurstOptions burst() {
    return new BurstOptions(states.isEmpty() ? depth : 1, pollWindow);
  }
}
