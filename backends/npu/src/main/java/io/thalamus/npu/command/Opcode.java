// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.command;

import java.util.List;

/**
 * The kinds of command. A command is one word with the opcode in its low byte and the number of
 * words that follow in its high half, then those words; all are 32 bits, little-endian.
 */
public enum Opcode {
  /** Ends the stream. */
  END(0, Engine.CONTROL, ""),
  /** All engines finish what was issued before anything behind it starts. */
  BARRIER(1, Engine.CONTROL, "operation"),
  /** Copies from DRAM to the scratchpad: planes of rows of a run of bytes. */
  LOAD(2, Engine.LOAD, "space from to run rows fromRow toRow planes fromPlane toPlane"),
  /** Copies weights to the scratchpad and unpacks them on the way. */
  LOAD_PACKED(3, Engine.LOAD, "from packedBytes to bytes"),
  /** Copies from the scratchpad to DRAM. */
  STORE(4, Engine.STORE, "from to run rows fromRow toRow planes fromPlane toPlane"),
  /** Sets bytes of the scratchpad: the padding around an input. */
  FILL(5, Engine.LOAD, "to run rows toRow planes toPlane value"),
  /** A tile of a convolution or a matrix product, on the array. */
  MATMUL(6, Engine.ARRAY, Opcode.WINDOW + " columns weights accumulators inputZero weightZero"),
  /** A tile of a depthwise convolution, on the vector unit. */
  DEPTHWISE(
      7, Engine.VECTOR, Opcode.WINDOW + " multiplier weights accumulators inputZero weightZero"),
  /** Sums of products become stored values: bias, factor, zero point and clamping by channel. */
  REQUANTIZE(
      8,
      Engine.VECTOR,
      "flags accumulators pixelStride channelStride pixels channels table to toPixel zero min max"),
  /** The mean or the maximum of each window; cells outside the input have no part in it. */
  POOL(9, Engine.VECTOR, Opcode.WINDOW + " inputHeight inputWidth top left to min max"),
  /** The sum or the product of two tensors. */
  ELEMENTWISE(
      10,
      Engine.VECTOR,
      "flags a b to rows run aRow aStep bRow bStep aZero bZero leftShift"
          + " aFactor aShift bFactor bShift factor shift zero min max"),
  /** Each byte replaced by that of a table. */
  LOOKUP(11, Engine.VECTOR, "from to count table"),
  /** Each row of scores made into probabilities, by a table of exponentials. */
  SOFTMAX(12, Engine.VECTOR, "flags from to rows depth table zero");

  private static final String WINDOW =
      "flags input inputRow inputPixel channels kernelHeight kernelWidth dilationHeight"
          + " dilationWidth strideHeight strideWidth height width";

  private final int code;
  private final Engine engine;
  private final List<String> fields;

  Opcode(int code, Engine engine, String fields) {
    this.code = code;
    this.engine = engine;
    this.fields = fields.isEmpty() ? List.of() : List.of(fields.split(" "));
  }

  /** The number in the stream. */
  public int code() {
    return code;
  }

  /** Returns the engine that executes it. */
  public Engine engine() {
    return engine;
  }

  /** The names of the words behind the first. */
  public List<String> fields() {
    return fields;
  }

  /** The parts of the device that work side by side, each on its commands in their order. */
  public enum Engine {
    CONTROL,
    LOAD,
    STORE,
    ARRAY,
    VECTOR
  }
}
