// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;

/**
 * One element of a burst's request queue as NN HAL 1.2 lays out its FmqRequestDatum, written here
 * once more so that the project's own codec is checked against it. Immutable.
 *
 * <pre>
 *   0    1..3   4..23
 *   tag  zero   packetInformation       size, inputs, outputs, pools
 *               operandInformation      hasNoValue, pool, offset, length, dimensions
 *               dimension, pool, timing one word
 * </pre>
 *
 * @param tag which kind of element, a byte
 * @param words little-endian, at most five; the rest is zero
 */
record Datum(int tag, List<Integer> words) {
  static final int BYTES = 24;

  static final int PACKET = 0;
  static final int INPUT = 1;
  static final int INPUT_DIMENSION = 2;
  static final int OUTPUT = 3;
  static final int OUTPUT_DIMENSION = 4;
  static final int POOL = 5;
  static final int TIMING = 6;

  /** Of version 2, as those that follow: which clock, then nanoseconds in two words. */
  static final int DEADLINE = 7;

  /** Zero, then nanoseconds in two words. */
  static final int LOOP_TIMEOUT = 8;

  /** In the place of a pool. */
  static final int TOKEN = 9;

  private static final int FIRST_WORD = 4;

  Datum {
    words = List.copyOf(words);
  }

  static Datum of(int tag, int... words) {
    return new Datum(tag, Arrays.stream(words).boxed().toList());
  }

  int word(int index) {
    return words.get(index);
  }

  /** The elements one behind the other, as they stand in the queue. */
  static byte[] encode(List<Datum> packet) {
    ByteBuffer bytes = ByteBuffer.allocate(BYTES * packet.size()).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < packet.size(); i++) {
      Datum datum = packet.get(i);
      bytes.put(BYTES * i, (byte) datum.tag());
      for (int word = 0; word < datum.words().size(); word++) {
        bytes.putInt(BYTES * i + FIRST_WORD + Integer.BYTES * word, datum.word(word));
      }
    }
    return bytes.array();
  }
}
