// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.tensor;

import io.thalamus.console.CommandException;
import io.thalamus.model.Elements;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;

/**
 * A value: its type, its dimensions and its bytes, little-endian and row-major. The bytes lie on
 * the heap and may be written; not thread-safe meanwhile.
 */
public final class Tensor {
  private final OperandType type;
  private final Shape shape;
  private final Quantization quantization;
  private final MemorySegment data;
  private final Elements elements;

  private Tensor(Operand operand, Shape shape, MemorySegment data) {
    this.type = operand.type();
    this.shape = shape;
    this.quantization = operand.quantization();
    this.data = data;
    this.elements = Elements.find(type).orElse(null);
  }

  /**
   * A value of zeros for an operand.
   *
   * @param shape its dimensions, all known
   * @throws CommandException where it would exceed what an array can hold
   */
  public static Tensor allocate(Operand operand, Shape shape) throws CommandException {
    long bytes;
    try {
      bytes = operand.type().elementSize() * (operand.type().isTensor() ? shape.elementCount() : 1);
    } catch (ArithmeticException e) {
      bytes = Long.MAX_VALUE;
    }
    if (bytes > Integer.MAX_VALUE - Long.BYTES) {
      throw new CommandException(
          "a value of " + operand.type().text() + " " + shape + " is larger than 2 GiB");
    }
    return of(operand, shape, new byte[(int) bytes]);
  }

  /** A value out of these bytes, which are not copied. */
  public static Tensor of(Operand operand, Shape shape, byte[] bytes) {
    return new Tensor(operand, shape, MemorySegment.ofArray(bytes));
  }

  /** What an element is. */
  public OperandType type() {
    return type;
  }

  /** The dimensions; none for a scalar. */
  public Shape shape() {
    return shape;
  }

  /** How elements stand for real numbers. */
  public Quantization quantization() {
    return quantization;
  }

  /** The bytes. */
  public MemorySegment data() {
    return data;
  }

  /** The number of elements. */
  public long count() {
    return data.byteSize() / type.elementSize();
  }

  /** Whether elements can be read as numbers; those of an extension's type cannot. */
  public boolean isNumeric() {
    return elements != null;
  }

  /** Whether the elements are integers that stand for real numbers. */
  public boolean isQuantized() {
    return quantization.scale() != 0;
  }

  /** The element as it is stored. */
  public double stored(long index) {
    return number(elements, data, index);
  }

  /** The real number that an element stands for. */
  public double real(long index) {
    double element = stored(index);
    return isQuantized()
        ? (element - quantization.zeroPoint()) * (double) quantization.scale()
        : element;
  }

  /** Stores an element; integers are rounded and cut to what can be stored. */
  public void store(long index, double element) {
    elements.setDouble(
        data,
        index,
        elements.isFloat()
            ? element
            : Math.clamp(Math.rint(element), elements.least(), elements.most()));
  }

  /** An element as a number, 0 or 1 for a boolean whatever its byte. */
  static double number(Elements elements, MemorySegment data, long index) {
    double number = elements.getDouble(data, index);
    return elements == Elements.BOOL8 && number != 0 ? 1 : number;
  }

  /** Stores the element that stands for a real number. */
  public void storeReal(long index, double value) {
    store(index, isQuantized() ? value / quantization.scale() + quantization.zeroPoint() : value);
  }

  Elements elements() {
    return elements;
  }
}
