// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

/** The layout of FmqRequestDatum: its discriminators, and where its members stand. */
public final class RequestDatum {
  public static final byte PACKET_INFORMATION = 0;
  public static final byte INPUT_OPERAND_INFORMATION = 1;
  public static final byte INPUT_OPERAND_DIMENSION_VALUE = 2;
  public static final byte OUTPUT_OPERAND_INFORMATION = 3;
  public static final byte OUTPUT_OPERAND_DIMENSION_VALUE = 4;
  public static final byte POOL_IDENTIFIER = 5;
  public static final byte MEASURE_TIMING = 6;

  /** Of version 2, as all that follow. */
  public static final byte DEADLINE = 7;

  public static final byte LOOP_TIMEOUT = 8;
  public static final byte BUFFER_TOKEN = 9;

  /** The only member of most unions, and the first of the others. */
  static final int VALUE = 4;

  static final int PACKET_SIZE = 4;
  static final int INPUTS = 8;
  static final int OUTPUTS = 12;
  static final int POOLS = 16;

  static final int HAS_NO_VALUE = 4;
  static final int POOL_INDEX = 8;
  static final int OFFSET = 12;
  static final int LENGTH = 16;
  static final int DIMENSIONS = 20;

  static final int CLOCK = 4;
  static final int NANOS = 8;

  /** The deadline is what {@link System#nanoTime()} reads on both sides. */
  static final int CLOCK_SHARED = 1;

  /** The deadline is the time that was left when the packet was written. */
  static final int CLOCK_REMAINING = 0;

  private RequestDatum() {}
}
