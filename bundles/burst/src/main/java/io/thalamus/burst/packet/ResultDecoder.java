// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A result that was read from packets. It remembers the packet, so that an equal one is not decoded
 * again: then nothing is allocated. Used by one thread at a time.
 */
public final class ResultDecoder {
  private static final ErrorStatus[] STATUSES = ErrorStatus.values();

  private static final long LONGEST = ResultDatum.LONGEST.toNanos();

  private final Datums remembered = new Datums();
  private final boolean isVersion2;

  /** Of the packet that is remembered. */
  private ExecutionResult result;

  /** Of the result, so that one with another timing has the same. */
  private List<OutputShape> outputs = List.of();

  /** A decoder for packets of version 1 or 2. */
  public ResultDecoder(int version) {
    this.isVersion2 = version == 2;
  }

  /**
   * Returns the result in a packet, the same object where the packet is the same; null where it is
   * malformed.
   */
  public ExecutionResult decode(Datums packet) {
    if (result != null && packet.isSame(remembered)) {
      return result;
    }
    result = decodeAnew(packet);
    remembered.copyFrom(packet);
    return result;
  }

  /** Returns whether the last element says that the server has ended. */
  public static boolean isEnd(Datums packet) {
    int last = packet.count() - 1;
    return packet.is(last, ResultDatum.PACKET_INFORMATION)
        && packet.getInt(last, ResultDatum.PACKET_SIZE) == 0;
  }

  private ExecutionResult decodeAnew(Datums packet) {
    if (!packet.is(0, ResultDatum.PACKET_INFORMATION)
        || packet.getInt(0, ResultDatum.PACKET_SIZE) != packet.count()) {
      return null;
    }
    int code = packet.getInt(0, ResultDatum.ERROR_STATUS);
    int operands = packet.getInt(0, ResultDatum.OPERANDS);
    int last = isVersion2 ? STATUSES.length - 1 : ErrorStatus.INVALID_ARGUMENT.code();
    if (code < 0 || code > last || operands < 0 || operands > packet.count()) {
      return null;
    }
    List<OutputShape> shapes = new ArrayList<>(operands);
    int next = 1;
    for (int i = 0; i < operands && next > 0; i++) {
      next = decodeShape(packet, next, shapes);
    }
    if (next < 0 || !packet.is(next, ResultDatum.EXECUTION_TIMING)) {
      return null;
    }
    if (!shapes.equals(outputs)) {
      outputs = List.copyOf(shapes);
    }
    return decodeEnd(packet, next, STATUSES[code]);
  }

  /** Returns the element behind a shape; negative where the packet is malformed. */
  private static int decodeShape(Datums packet, int index, List<OutputShape> shapes) {
    if (!packet.is(index, ResultDatum.OPERAND_INFORMATION)) {
      return -1;
    }
    int isSufficient = packet.getByte(index, ResultDatum.IS_SUFFICIENT);
    int rank = packet.getInt(index, ResultDatum.DIMENSIONS);
    if (isSufficient < 0 || isSufficient > 1 || rank < 0 || rank > packet.count()) {
      return -1;
    }
    int[] dimensions = new int[rank];
    for (int axis = 0; axis < rank; axis++) {
      if (!packet.is(index + 1 + axis, ResultDatum.OPERAND_DIMENSION_VALUE)) {
        return -1;
      }
      dimensions[axis] = packet.getInt(index + 1 + axis, ResultDatum.VALUE);
      if (dimensions[axis] < 0) {
        return -1;
      }
    }
    shapes.add(new OutputShape(Shape.of(dimensions), isSufficient == 1));
    return index + 1 + rank;
  }

  /** Decodes what stands behind the shapes. */
  private ExecutionResult decodeEnd(Datums packet, int first, ErrorStatus status) {
    int next = first;
    Timing timing = timing(packet, next++, ChronoUnit.MICROS);
    if (isVersion2 && packet.is(next, ResultDatum.PRECISE_TIMING)) {
      timing = timing(packet, next++, ChronoUnit.NANOS);
    }
    long in = 0;
    long out = 0;
    if (isVersion2 && packet.is(next, ResultDatum.COPIED_BYTES)) {
      in = packet.getLong(next, ResultDatum.BYTES_IN);
      out = packet.getLong(next++, ResultDatum.BYTES_OUT);
    }
    int text = next;
    while (isVersion2 && packet.is(next, ResultDatum.MESSAGE)) {
      next++;
    }
    if (next != packet.count() || timing == null) {
      return null;
    }
    return switch (status) {
      case NONE -> new Completed(outputs, timing, in, out);
      case OUTPUT_INSUFFICIENT_SIZE -> new OutputInsufficientSize(outputs);
      default -> new Failed(status, message(packet, text, next));
    };
  }

  /** Returns a timing; null where the packet is malformed. */
  private static Timing timing(Datums packet, int index, ChronoUnit unit) {
    long onDevice = packet.getLong(index, ResultDatum.ON_DEVICE);
    long inDriver = packet.getLong(index, ResultDatum.IN_DRIVER);
    if (Math.min(onDevice, inDriver) < ResultDatum.NOT_MEASURED
        || Math.max(onDevice, inDriver) > LONGEST / unit.getDuration().toNanos()) {
      return null;
    }
    return onDevice < 0 && inDriver < 0
        ? Timing.NONE
        : new Timing(duration(onDevice, unit), duration(inDriver, unit));
  }

  private static Optional<Duration> duration(long units, ChronoUnit unit) {
    return units < 0 ? Optional.empty() : Optional.of(Duration.of(units, unit));
  }

  private static String message(Datums packet, int first, int end) {
    if (first == end) {
      return "the server of the burst says no more than its status";
    }
    byte[] text = new byte[(end - first) * ResultDatum.TEXT_SIZE];
    int length = 0;
    for (int i = 0; i < text.length; i++) {
      text[i] =
          packet.getByte(
              first + i / ResultDatum.TEXT_SIZE, ResultDatum.VALUE + i % ResultDatum.TEXT_SIZE);
      length = text[i] == 0 ? length : i + 1;
    }
    return new String(text, 0, length, StandardCharsets.UTF_8);
  }
}
