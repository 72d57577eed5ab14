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
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A packet of a result that is written once and sent often: the same result again is not encoded
 * anew. Used by one thread at a time. Allocates only where a packet is longer than all before, or
 * has a message.
 */
public final class ResultEncoder {
  /** Elements of the shortest packet: packetInformation and executionTiming. */
  public static final int SHORTEST = 2;

  /** Bytes of a message at most. */
  private static final int LONGEST_TEXT = 16 * ResultDatum.TEXT_SIZE;

  private final Datums datums = new Datums();

  /** The result in the packet; null where it is of none. */
  private ExecutionResult written;

  private final boolean isVersion2;

  /** An encoder for packets of version 1 or 2. */
  public ResultEncoder(int version) {
    this.isVersion2 = version == 2;
  }

  /** Returns the packet that was written last. */
  public Datums packet() {
    return datums;
  }

  /** Writes a result. */
  public void encode(ExecutionResult result) {
    if (result == written) {
      return;
    }
    switch (result) {
      case Completed completed -> {
        encode(ErrorStatus.NONE, completed.outputs(), completed.timing());
        if (isVersion2) {
          appendPrecise(completed);
        }
      }
      case OutputInsufficientSize insufficient ->
          encode(ErrorStatus.OUTPUT_INSUFFICIENT_SIZE, insufficient.outputs(), Timing.NONE);
      case Failed failed -> {
        encode(said(failed.status()), List.of(), Timing.NONE);
        if (isVersion2) {
          appendMessage(failed.message());
        }
      }
    }
    datums.setInt(0, ResultDatum.PACKET_SIZE, datums.count());
    written = result;
  }

  /** Writes the shortest packet: a failure without shapes, timing and message. */
  public void encode(ErrorStatus failure) {
    encode(said(failure), List.of(), Timing.NONE);
    datums.setInt(0, ResultDatum.PACKET_SIZE, datums.count());
  }

  /**
   * Writes what a server sends when it ends: packetInformation that counts no element, as AOSP's
   * servers write to themselves.
   */
  public void encodeEnd() {
    written = null;
    datums.resize(0);
    datums.append(ResultDatum.PACKET_INFORMATION);
  }

  /** Returns the status in the words of the version: 1.2 knows none that later HALs added. */
  private ErrorStatus said(ErrorStatus status) {
    return isVersion2 || status.code() <= ErrorStatus.INVALID_ARGUMENT.code()
        ? status
        : ErrorStatus.GENERAL_FAILURE;
  }

  private void encode(ErrorStatus status, List<OutputShape> outputs, Timing timing) {
    written = null;
    datums.resize(0);
    int information = datums.append(ResultDatum.PACKET_INFORMATION);
    datums.setInt(information, ResultDatum.ERROR_STATUS, status.code());
    datums.setInt(information, ResultDatum.OPERANDS, outputs.size());
    for (int i = 0; i < outputs.size(); i++) {
      Shape shape = outputs.get(i).shape();
      int index = datums.append(ResultDatum.OPERAND_INFORMATION);
      datums.setByte(index, ResultDatum.IS_SUFFICIENT, outputs.get(i).isSufficient() ? 1 : 0);
      datums.setInt(index, ResultDatum.DIMENSIONS, shape.rank());
      for (int axis = 0; axis < shape.rank(); axis++) {
        int value = datums.append(ResultDatum.OPERAND_DIMENSION_VALUE);
        datums.setInt(value, ResultDatum.VALUE, shape.dimension(axis));
      }
    }
    append(ResultDatum.EXECUTION_TIMING, timing, TimeUnit.MICROSECONDS.toNanos(1));
  }

  private void append(byte tag, Timing timing, long unitNanos) {
    int index = datums.append(tag);
    datums.setLong(index, ResultDatum.ON_DEVICE, units(timing.onDevice(), unitNanos));
    datums.setLong(index, ResultDatum.IN_DRIVER, units(timing.inDriver(), unitNanos));
  }

  /** Returns a duration in a unit; one that no clock can have measured counts as not measured. */
  private static long units(Optional<Duration> duration, long unitNanos) {
    if (duration.isEmpty()
        || duration.get().isNegative()
        || duration.get().compareTo(ResultDatum.LONGEST) > 0) {
      return ResultDatum.NOT_MEASURED;
    }
    return duration.get().toNanos() / unitNanos;
  }

  private void appendPrecise(Completed completed) {
    if (completed.timing().onDevice().isPresent() || completed.timing().inDriver().isPresent()) {
      append(ResultDatum.PRECISE_TIMING, completed.timing(), 1);
    }
    if (completed.bytesIn() != 0 || completed.bytesOut() != 0) {
      int index = datums.append(ResultDatum.COPIED_BYTES);
      datums.setLong(index, ResultDatum.BYTES_IN, completed.bytesIn());
      datums.setLong(index, ResultDatum.BYTES_OUT, completed.bytesOut());
    }
  }

  private void appendMessage(String message) {
    byte[] text = message.getBytes(StandardCharsets.UTF_8);
    int length = Math.min(text.length, LONGEST_TEXT);
    for (int at = 0; at < length; at += ResultDatum.TEXT_SIZE) {
      int index = datums.append(ResultDatum.MESSAGE);
      for (int i = at; i < Math.min(length, at + ResultDatum.TEXT_SIZE); i++) {
        datums.setByte(index, ResultDatum.VALUE + i - at, text[i]);
      }
    }
  }
}
