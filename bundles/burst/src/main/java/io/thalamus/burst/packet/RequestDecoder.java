// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A request that was read from packets. It remembers the packet, so that one that differs only in
 * the settings of the execution is not decoded again: then nothing is allocated. Used by one thread
 * at a time.
 */
public final class RequestDecoder {
  private static final long DEFAULT_LOOP_TIMEOUT = ExecutionConfig.DEFAULT_LOOP_TIMEOUT.toNanos();

  /** In place of a number of elements or an index. */
  private static final int MALFORMED = -1;

  private final Datums remembered = new Datums();
  private final boolean isVersion2;

  /** Elements in front of the settings in the packet that is remembered; 0 where there is none. */
  private int head;

  private List<Argument> inputs = List.of();
  private List<Argument> outputs = List.of();
  private int[] pools = new int[0];
  private boolean[] areTokens = new boolean[0];
  private ExecutionConfig config;

  /**
   * A decoder that knows no packet.
   *
   * @param version of the packets: 1 or 2
   * @param control of all executions
   */
  public RequestDecoder(int version, ExecutionControl control) {
    this.isVersion2 = version == 2;
    this.config = ExecutionConfig.DEFAULT.with(control);
  }

  /** Returns whether a packet has the request of the one that was decoded last. */
  public boolean isSameRequest(Datums packet) {
    return head > 0 && packet.startsWith(remembered, head);
  }

  /**
   * Decodes a packet.
   *
   * @return NONE; GENERAL_FAILURE for a malformed packet; INVALID_ARGUMENT for one that is well
   *     formed, but has arguments that no request can have. Unless it is NONE, nothing below says
   *     anything
   */
  public ErrorStatus decode(Datums packet) {
    if (!packet.is(0, RequestDatum.PACKET_INFORMATION)
        || packet.getInt(0, RequestDatum.PACKET_SIZE) != packet.count()) {
      return ErrorStatus.GENERAL_FAILURE;
    }
    if (isSameRequest(packet)) {
      return decodeConfig(packet, head) ? ErrorStatus.NONE : ErrorStatus.GENERAL_FAILURE;
    }
    head = 0;
    Arguments in =
        new Arguments(
            packet,
            RequestDatum.INPUT_OPERAND_INFORMATION,
            RequestDatum.INPUT_OPERAND_DIMENSION_VALUE);
    Arguments out =
        new Arguments(
            packet,
            RequestDatum.OUTPUT_OPERAND_INFORMATION,
            RequestDatum.OUTPUT_OPERAND_DIMENSION_VALUE);
    int next = in.decode(1, count(packet, RequestDatum.INPUTS));
    next = out.decode(next, count(packet, RequestDatum.OUTPUTS));
    next = decodePools(packet, next, count(packet, RequestDatum.POOLS));
    if (next < 0 || !decodeConfig(packet, next)) {
      return ErrorStatus.GENERAL_FAILURE;
    }
    if (!in.areValid || !out.areValid) {
      return ErrorStatus.INVALID_ARGUMENT;
    }
    inputs = List.copyOf(in.arguments);
    outputs = List.copyOf(out.arguments);
    remembered.copyFrom(packet);
    head = next;
    return ErrorStatus.NONE;
  }

  /** Returns the inputs: the same object as long as the request is the same. */
  public List<Argument> inputs() {
    return inputs;
  }

  /** Returns the outputs: the same object as long as the request is the same. */
  public List<Argument> outputs() {
    return outputs;
  }

  /** Returns the number of pools. */
  public int poolCount() {
    return pools.length;
  }

  /** Returns the slot of a pool, or the token of the buffer that it is. */
  public int pool(int index) {
    return pools[index];
  }

  /** Returns whether a pool is the buffer of a device. */
  public boolean isToken(int index) {
    return areTokens[index];
  }

  /** Returns the settings: the same object as long as they are the same. */
  public ExecutionConfig config() {
    return config;
  }

  /** Returns a number of elements, unless the packet has fewer. */
  private static int count(Datums packet, int offset) {
    int count = packet.getInt(0, offset);
    return count > packet.count() ? MALFORMED : count;
  }

  /** Inputs or outputs. */
  private static final class Arguments {
    private final Datums packet;
    private final byte information;
    private final byte dimension;
    private final List<Argument> arguments = new ArrayList<>();
    private boolean areValid = true;

    Arguments(Datums packet, byte information, byte dimension) {
      this.packet = packet;
      this.information = information;
      this.dimension = dimension;
    }

    /** Returns the element behind them; negative where the packet is malformed. */
    int decode(int first, int count) {
      int next = count < 0 ? MALFORMED : first;
      for (int i = 0; i < count && next >= 0; i++) {
        next = packet.is(next, information) ? decode(next) : MALFORMED;
      }
      return next;
    }

    private int decode(int index) {
      int hasNoValue = packet.getByte(index, RequestDatum.HAS_NO_VALUE);
      int rank = packet.getInt(index, RequestDatum.DIMENSIONS);
      if (hasNoValue < 0 || hasNoValue > 1 || rank < 0 || rank > packet.count()) {
        return MALFORMED;
      }
      int[] dimensions = new int[rank];
      for (int axis = 0; axis < rank; axis++) {
        if (!packet.is(index + 1 + axis, dimension)) {
          return MALFORMED;
        }
        dimensions[axis] = packet.getInt(index + 1 + axis, RequestDatum.VALUE);
        areValid &= dimensions[axis] >= 0;
      }
      int pool = packet.getInt(index, RequestDatum.POOL_INDEX);
      long offset = Integer.toUnsignedLong(packet.getInt(index, RequestDatum.OFFSET));
      long length = Integer.toUnsignedLong(packet.getInt(index, RequestDatum.LENGTH));
      if (hasNoValue == 1) {
        areValid &= pool == 0 && offset == 0 && length == 0 && rank == 0;
        arguments.add(Argument.NO_VALUE);
      } else if (areValid) {
        arguments.add(new Location(pool, offset, length, Shape.of(dimensions)));
      }
      return index + 1 + rank;
    }
  }

  private int decodePools(Datums packet, int first, int count) {
    if (first < 0 || count < 0) {
      return MALFORMED;
    }
    int[] values = new int[count];
    boolean[] tokens = new boolean[count];
    for (int i = 0; i < count; i++) {
      tokens[i] = isVersion2 && packet.is(first + i, RequestDatum.BUFFER_TOKEN);
      if (!tokens[i] && !packet.is(first + i, RequestDatum.POOL_IDENTIFIER)) {
        return MALFORMED;
      }
      values[i] = packet.getInt(first + i, RequestDatum.VALUE);
    }
    pools = values;
    areTokens = tokens;
    return first + count;
  }

  /** Reads the settings, up to the end of the packet; returns false where it is malformed. */
  private boolean decodeConfig(Datums packet, int first) {
    int next = first;
    if (!packet.is(next, RequestDatum.MEASURE_TIMING)) {
      return false;
    }
    int measureTiming = packet.getInt(next++, RequestDatum.VALUE);
    Deadline deadline = Deadline.NONE;
    boolean hasKnownClock = true;
    if (isVersion2 && packet.is(next, RequestDatum.DEADLINE)) {
      int clock = packet.getInt(next, RequestDatum.CLOCK);
      long nanos = packet.getLong(next++, RequestDatum.NANOS);
      hasKnownClock = clock == RequestDatum.CLOCK_SHARED || clock == RequestDatum.CLOCK_REMAINING;
      deadline =
          clock == RequestDatum.CLOCK_SHARED
              ? Deadline.ofNanoTime(nanos)
              : Deadline.after(Duration.ofNanos(nanos));
    }
    long loopTimeout = DEFAULT_LOOP_TIMEOUT;
    if (isVersion2 && packet.is(next, RequestDatum.LOOP_TIMEOUT)) {
      loopTimeout = packet.getLong(next++, RequestDatum.NANOS);
    }
    if (next != packet.count() || !hasKnownClock || measureTiming < 0 || measureTiming > 1) {
      return false;
    }
    if (config.measureTiming() != (measureTiming == 1)) {
      config = config.withMeasureTiming(measureTiming == 1);
    }
    if (config.loopTimeout().toNanos() != loopTimeout) {
      config = config.withLoopTimeout(Duration.ofNanos(loopTimeout));
    }
    if (config.deadline().isSet() || deadline.isSet()) {
      config = config.with(deadline);
    }
    return true;
  }
}
