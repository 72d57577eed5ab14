// SPDX-License-Identifier: Apache-2.0
package com.example.template;

import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** The layouts of elements in memory. */
final class Floats {
  /** TENSOR_FLOAT32: little-endian, and at any address. */
  static final ValueLayout.OfFloat FLOAT =
      ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private Floats() {}
}
