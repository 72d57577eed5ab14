// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.LittleEndian.INT;

import io.thalamus.model.Elements;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * An operand as an operation sees it: with the dimensions and the value that are known by now.
 *
 * @param type the type of an element
 * @param shape the dimensions as far as they are known
 * @param quantization how stored integers stand for real numbers
 * @param isOmitted whether an optional input is left out
 * @param value the bytes where they are known: constants, and computed values while executing
 * @param graph the graph that a SUBGRAPH refers to, where it is at hand
 */
public record OperandView(
    OperandType type,
    Shape shape,
    Quantization quantization,
    boolean isOmitted,
    Optional<MemorySegment> value,
    Optional<Subgraph> graph) {

  public OperandView {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(shape, "shape");
    Objects.requireNonNull(quantization, "quantization");
    Objects.requireNonNull(value, "value");
    Objects.requireNonNull(graph, "graph");
  }

  /** An operand that refers to no graph. */
  public OperandView(
      OperandType type,
      Shape shape,
      Quantization quantization,
      boolean isOmitted,
      Optional<MemorySegment> value) {
    this(type, shape, quantization, isOmitted, value, Optional.empty());
  }

  /** The operand as its model describes it, with its value where it is a constant. */
  public static OperandView of(Operand operand) {
    return of(operand, List.of());
  }

  /** The same with the graph that it refers to, where that is among these. */
  public static OperandView of(Operand operand, List<Subgraph> referenced) {
    return new OperandView(
        operand.type(),
        operand.shape(),
        operand.quantization(),
        operand.lifetime() instanceof Lifetime.NoValue,
        operand.lifetime() instanceof Lifetime.Constant constant
            ? Optional.of(constant.bytes())
            : Optional.empty(),
        operand.lifetime() instanceof Lifetime.SubgraphReference reference
                && reference.index() >= 0
                && reference.index() < referenced.size()
            ? Optional.of(referenced.get(reference.index()))
            : Optional.empty());
  }

  /** The operand with the dimensions and, where given, the value that it has by now. */
  public OperandView with(Shape known, Optional<MemorySegment> knownValue) {
    return new OperandView(type, known, quantization, isOmitted, knownValue, graph);
  }

  /** The operand as one that is left out. */
  public OperandView leftOut() {
    return new OperandView(type, shape, quantization, true, Optional.empty(), graph);
  }

  /** Returns whether the number of dimensions is known; true for scalars. */
  public boolean isRankKnown() {
    return !type.isTensor() || shape.rank() > 0;
  }

  /** Returns whether the dimensions are all known; true for scalars. */
  public boolean isShapeKnown() {
    return isRankKnown() && shape.isFullySpecified();
  }

  /** The scale; 0 where the operand is not quantized as a whole. */
  public float scale() {
    return quantization.scale();
  }

  /** The zero point; 0 where the operand is not quantized. */
  public int zeroPoint() {
    return quantization.zeroPoint();
  }

  /** The first element as a 32-bit integer. The value must be known. */
  public int int32() {
    return int32(0);
  }

  /** The element at {@code index} as a 32-bit integer. The value must be known. */
  public int int32(int index) {
    return Elements.INT32.getInt(bytes(), index);
  }

  /** All elements as 32-bit integers. The value must be known. */
  public int[] int32s() {
    MemorySegment bytes = bytes();
    int[] values = new int[Math.toIntExact(bytes.byteSize() / Integer.BYTES)];
    MemorySegment.copy(bytes, INT, 0, values, 0, values.length);
    return values;
  }

  /** The first element as a float, read from FLOAT32 or FLOAT16. The value must be known. */
  public float float32() {
    return Elements.of(type).getFloat(bytes(), 0);
  }

  /** The first element as a BOOL. The value must be known. */
  public boolean bool() {
    return Elements.BOOL8.getInt(bytes(), 0) != 0;
  }

  private MemorySegment bytes() {
    return value.orElseThrow(
        () -> new IllegalStateException("the value of a " + type.text() + " is not known yet"));
  }
}
