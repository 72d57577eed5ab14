// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.tck.check.Expect;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * The result that a burst sends, read strictly. Immutable.
 *
 * <pre>
 *   0    1..7   8..23
 *   tag  zero   packetInformation   size, status, operands
 *               operandInformation  isSufficient (a byte), dimensions
 *               dimension           one word
 *               executionTiming     on the device, in the driver: microseconds, -1 where not measured
 *               preciseTiming, copiedBytes, message: of version 2, in this order
 * </pre>
 *
 * @param size how many elements it has
 * @param status NNAPI's number
 * @param outputs the shapes of the outputs
 * @param isTimed whether a time is in it
 * @param leak the first byte that says nothing but is not zero: memory of somebody else could leak
 *     through it; empty where there is none
 */
record ResultPacket(
    int size, ErrorStatus status, List<OutputShape> outputs, boolean isTimed, String leak) {
  private static final int PACKET = 0;
  private static final int OPERAND = 1;
  private static final int DIMENSION = 2;
  private static final int TIMING = 3;
  private static final int PRECISE_TIMING = 4;
  private static final int COPIED_BYTES = 5;
  private static final int MESSAGE = 6;
  private static final int VALUE = 8;
  private static final long NOT_MEASURED = -1;

  /** Returns how many elements the packet has that begins with these bytes. */
  static int size(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(VALUE);
  }

  /** Parses the elements of one packet; what is wrong with them ends the check. */
  static ResultPacket parse(byte[] bytes, int version) {
    Reader reader = new Reader(bytes);
    reader.next(PACKET, 3 * Integer.BYTES);
    int size = reader.word(0);
    Expect.that(
        size == bytes.length / Datum.BYTES,
        "the result says " + size + " elements, but has " + bytes.length / Datum.BYTES);
    int code = reader.word(1);
    Expect.that(
        code >= 0 && code < ErrorStatus.values().length, "the result has the status " + code);
    int count = reader.word(2);
    List<OutputShape> outputs = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      reader.next(OPERAND, 2 * Integer.BYTES);
      int sufficient = reader.flag();
      int[] dimensions = new int[reader.word(1)];
      for (int axis = 0; axis < dimensions.length; axis++) {
        reader.next(DIMENSION, Integer.BYTES);
        dimensions[axis] = reader.word(0);
      }
      outputs.add(new OutputShape(Shape.of(dimensions), sufficient == 1));
    }
    reader.next(TIMING, 2 * Long.BYTES);
    ResultPacket result =
        new ResultPacket(
            size,
            ErrorStatus.values()[code],
            outputs,
            reader.wide(0) != NOT_MEASURED || reader.wide(1) != NOT_MEASURED,
            reader.leak);
    if (version == 2) {
      reader.skip(PRECISE_TIMING);
      reader.skip(COPIED_BYTES);
      while (reader.skip(MESSAGE)) {}
    }
    Expect.that(reader.isAtEnd(), "the result has elements behind its timing");
    return result;
  }

  /** Returns whether it is all that a malformed request, or a result without room, is answered. */
  boolean isBareFailure() {
    return status == ErrorStatus.GENERAL_FAILURE && outputs.isEmpty() && !isTimed && size == 2;
  }

  /** Takes elements off a packet. */
  private static final class Reader {
    private final ByteBuffer bytes;
    private int at = -Datum.BYTES;
    private String leak = "";

    Reader(byte[] bytes) {
      this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Goes on to the next element, which must be of this kind and zero behind what it says. */
    void next(int tag, int used) {
      at += Datum.BYTES;
      Expect.that(at < bytes.capacity(), "the result ends before an element of kind " + tag);
      Expect.that(
          bytes.get(at) == tag,
          "element " + at / Datum.BYTES + " is of kind " + bytes.get(at) + ", not " + tag);
      for (int i = 1; i < VALUE; i++) {
        expectZero(i);
      }
      for (int i = VALUE + used; i < Datum.BYTES; i++) {
        expectZero(i);
      }
    }

    private void expectZero(int i) {
      if (leak.isEmpty() && bytes.get(at + i) != 0) {
        leak =
            "byte %d of element %d says nothing, but is %x, not zero"
                .formatted(i, at / Datum.BYTES, bytes.get(at + i));
      }
    }

    /** Goes over an element of this kind, where it is the next one. */
    boolean skip(int tag) {
      boolean isNext = !isAtEnd() && bytes.get(at + Datum.BYTES) == tag;
      at += isNext ? Datum.BYTES : 0;
      return isNext;
    }

    /** Returns the byte that the element begins with. */
    int flag() {
      for (int i = VALUE + 1; i < VALUE + Integer.BYTES; i++) {
        expectZero(i);
      }
      return bytes.get(at + VALUE);
    }

    int word(int index) {
      return bytes.getInt(at + VALUE + Integer.BYTES * index);
    }

    long wide(int index) {
      return bytes.getLong(at + VALUE + Long.BYTES * index);
    }

    boolean isAtEnd() {
      return at + Datum.BYTES == bytes.capacity();
    }
  }
}
