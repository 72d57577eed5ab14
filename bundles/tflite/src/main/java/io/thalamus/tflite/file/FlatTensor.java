// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import org.tensorflow.lite.schema.TensorType;

/**
 * A tensor as the file describes it. The arrays must not be changed.
 *
 * @param index in its graph
 * @param name may be empty
 * @param type a constant of {@link TensorType}
 * @param shape the dimensions with which the file was written; empty for a scalar, and where the
 *     rank is not known
 * @param data the bytes of a constant; empty where it is computed
 * @param scales none, one, or one for each index of {@code quantizedDimension}
 * @param zeroPoints as many as scales, or none
 * @param quantizedDimension the dimension along which the scales stand
 * @param isVariable whether it keeps its value from one call to the next
 * @param signature the dimensions, -1 for those that change from call to call; empty where none do
 * @param sparsity how the data leave out zeros; null where they do not
 * @param blocks whose scales there are instead, in order; null where they stand as above
 */
public record FlatTensor(
    int index,
    String name,
    byte type,
    int[] shape,
    ByteRange data,
    float[] scales,
    long[] zeroPoints,
    int quantizedDimension,
    boolean isVariable,
    int[] signature,
    FlatSparsity sparsity,
    FlatBlocks blocks) {
  /** The same at another place. */
  public FlatTensor at(int place) {
    return changed(place, type, scales, zeroPoints);
  }

  /** The same with its bytes taken for integers with a sign around 0. */
  public FlatTensor asSigned() {
    return changed(index, TensorType.INT8, scales, new long[zeroPoints.length]);
  }

  /** The same with the scales of its blocks, and their zero points if it has any. */
  FlatTensor with(float[] scalesOfBlocks, long[] zeroPointsOfBlocks) {
    return changed(index, type, scalesOfBlocks, zeroPointsOfBlocks);
  }

  private FlatTensor changed(int place, byte stored, float[] factors, long[] points) {
    return new FlatTensor(
        place,
        name,
        stored,
        shape,
        data,
        factors,
        points,
        quantizedDimension,
        isVariable,
        signature,
        sparsity,
        blocks);
  }

  /** Returns whether its value stands in the file. */
  public boolean isConstant() {
    return !data.isEmpty();
  }

  /** Returns whether its data leave out zeros. */
  public boolean isSparse() {
    return sparsity != null;
  }

  /** Returns whether it is of this type of the schema. */
  public boolean is(byte wanted) {
    return type == wanted;
  }

  /** Returns whether it has integers of 4 bits, two in a byte, which are seen as those of 8. */
  public boolean isPacked() {
    return type == TensorType.INT4;
  }

  /** Returns whether its values are seen as 8-bit integers, signed or not. */
  public boolean is8Bit() {
    return type == TensorType.INT8 || type == TensorType.UINT8 || isPacked();
  }

  /** The name of its type in the schema. */
  public String typeName() {
    return type >= 0 && type < TensorType.names.length ? TensorType.names[type] : "type " + type;
  }

  /** For messages: {@code tensor 7 'conv1/weights'}. */
  public String text() {
    return "tensor " + index + " '" + name + "'";
  }

  @Override
  public String toString() {
    return text();
  }
}
