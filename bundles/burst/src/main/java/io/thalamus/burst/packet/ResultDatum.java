// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst.packet;

import java.time.Duration;

/** The layout of FmqResultDatum: its discriminators, and where its members stand. */
public final class ResultDatum {
  public static final byte PACKET_INFORMATION = 0;
  public static final byte OPERAND_INFORMATION = 1;
  public static final byte OPERAND_DIMENSION_VALUE = 2;
  public static final byte EXECUTION_TIMING = 3;

  /** Of version 2, as all that follow. */
  public static final byte PRECISE_TIMING = 4;

  public static final byte COPIED_BYTES = 5;
  public static final byte MESSAGE = 6;

  static final int VALUE = 8;

  static final int PACKET_SIZE = 8;
  static final int ERROR_STATUS = 12;
  static final int OPERANDS = 16;

  static final int IS_SUFFICIENT = 8;
  static final int DIMENSIONS = 12;

  static final int ON_DEVICE = 8;
  static final int IN_DRIVER = 16;

  static final int BYTES_IN = 8;
  static final int BYTES_OUT = 16;

  /** Bytes of a message in one element. */
  static final int TEXT_SIZE = 16;

  /** A duration that was not measured. */
  static final long NOT_MEASURED = -1;

  /** The longest duration, so that nothing overflows in either unit. */
  static final Duration LONGEST = Duration.ofDays(365);

  private ResultDatum() {}
}
