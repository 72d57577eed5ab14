// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

/**
 * The result of an operation before it is stored in an output.
 *
 * @param shape the dimensions of the output
 * @param real the values
 * @param rounding how exactly a device must store them
 * @param slack what arithmetic in float32 may lose on the way, for each element; null for nothing
 *     to speak of
 */
record Result(int[] shape, Bounds real, Rounding rounding, double[] slack) {
  /** Elements that are only moved, or integers and truth values. */
  static Result exact(int[] shape, Bounds real) {
    return new Result(shape, real, Rounding.EXACT, null);
  }

  static Result rounded(int[] shape, Bounds real) {
    return new Result(shape, real, Rounding.ROUNDED, null);
  }

  static Result rounded(int[] shape, Bounds real, double[] slack) {
    return new Result(shape, real, Rounding.ROUNDED, slack);
  }

  /** The exactness of a result. */
  enum Rounding {
    /** To the bit. */
    EXACT,
    /** Within the tolerance of the type. */
    ROUNDED
  }
}
