// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

/**
 * The largest accepted distance of a result from the expected one: {@code |actual - expected| <=
 * absolute + relative * |expected|}, in double. Immutable.
 *
 * <p>The values by type are those of Android's generated tests, {@code TestHarness.h} in
 * packages/modules/NeuralNetworks/tools/test_generator: for float32 {@code 1e-5} and 5 units of its
 * last place, for float16 and for float32 that may be computed so 5 units of float16, one step for
 * integers, none for booleans. They hold for the result of one operation.
 *
 * @param absolute of any expected value
 * @param relative to the size of the expected value
 */
public record Tolerance(double absolute, double relative) {
  /** Nothing but the expected value. */
  public static final Tolerance EXACT = new Tolerance(0, 0);

  /** One step of an integer. */
  private static final Tolerance STEP = new Tolerance(1, 0);

  private static final Tolerance FLOAT32 = new Tolerance(1e-5, 0x5p-23);
  private static final Tolerance FLOAT16 = new Tolerance(0x5p-10, 0x5p-10);

  /**
   * Returns the tolerance of an output of one operation.
   *
   * @param isRelaxed whether float32 may be computed in float16
   */
  public static Tolerance of(OperandType type, boolean isRelaxed) {
    if (!(type instanceof OperandCode code)) {
      return EXACT;
    }
    return switch (code) {
      case FLOAT32, TENSOR_FLOAT32 -> isRelaxed ? FLOAT16 : FLOAT32;
      case FLOAT16, TENSOR_FLOAT16 -> FLOAT16;
      case BOOL, TENSOR_BOOL8, UINT32, SUBGRAPH -> EXACT;
      case INT32,
          TENSOR_INT32,
          TENSOR_QUANT8_ASYMM,
          TENSOR_QUANT8_ASYMM_SIGNED,
          TENSOR_QUANT8_SYMM,
          TENSOR_QUANT8_SYMM_PER_CHANNEL,
          TENSOR_QUANT16_SYMM,
          TENSOR_QUANT16_ASYMM ->
          STEP;
    };
  }

  /** Returns whether float32 results of a model may be as far off as those of float16. */
  public static boolean isRelaxed(Model model) {
    return model.relaxComputationFloat32toFloat16()
        || model
            .subgraphs()
            .flatMap(subgraph -> subgraph.operands().stream())
            .anyMatch(operand -> operand.type() == OperandCode.TENSOR_FLOAT16);
  }

  /** Returns whether a value is near enough. NaN and infinities must be met exactly. */
  public boolean accepts(double expected, double actual) {
    return Double.compare(expected, actual) == 0
        || Double.isFinite(expected) && Math.abs(actual - expected) <= margin(expected);
  }

  /** Returns how far a result may be from this expected one. */
  public double margin(double expected) {
    return absolute + relative * Math.abs(expected);
  }
}
