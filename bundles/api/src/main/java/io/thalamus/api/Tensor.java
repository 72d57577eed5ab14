// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Elements;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * A value of an operand: type, dimensions and bytes, little-endian and row-major.
 *
 * <p>The bytes of a tensor that is made here lie off the heap, where devices use them in place, and
 * are freed with the last reference to the tensor or its segment. {@link #of(Operand,
 * MemorySegment)} and {@link #of(Operand, SharedMemory)} alone take the caller's memory, which the
 * caller keeps open. Threads may share a tensor that nobody writes; nothing here is synchronized.
 *
 * <p>A value that contradicts a model's operand is a {@link NeuralNetworksException} with BAD_DATA;
 * one that contradicts itself is an {@link IllegalArgumentException}.
 */
public final class Tensor {
  private static final long MOST_BYTES = Integer.MAX_VALUE - Long.BYTES;

  private final Operand operand;
  private final MemorySegment segment;
  private final Elements elements;

  /** Null unless the bytes are all of a memory that devices can map. */
  private final SharedMemory memory;

  private Tensor(Operand operand, MemorySegment segment) {
    this(operand, segment, null);
  }

  private Tensor(Operand operand, MemorySegment segment, SharedMemory memory) {
    this.operand = operand;
    this.segment = segment;
    this.memory = memory;
    this.elements = Elements.find(operand.type()).orElse(null);
  }

  /**
   * Makes a tensor of zeros.
   *
   * @param shape the dimensions, all known; a 0 means that there are no elements
   * @throws NeuralNetworksException with OUT_OF_MEMORY if the value is larger than 2 GiB
   */
  public static Tensor allocate(Operand operand, Shape shape) throws NeuralNetworksException {
    long bytes = byteSize(operand, shape);
    if (bytes > MOST_BYTES) {
      throw new NeuralNetworksException(
          ResultCode.OUT_OF_MEMORY,
          "a value of " + operand.type().text() + " " + shape + " is larger than 2 GiB");
    }
    return new Tensor(operand.with(shape), TensorMemory.allocate(bytes));
  }

  /**
   * Makes a tensor of real numbers, which a quantized operand stores as the nearest integers. One
   * open dimension of the operand follows from the number of values; others are given by {@link
   * Operand#with(Shape)}.
   *
   * @throws NeuralNetworksException with BAD_DATA if the number of values does not fit
   */
  public static Tensor of(Operand operand, float... values) throws NeuralNetworksException {
    Tensor tensor = numbers(operand, values.length, "floats");
    if (tensor.elements == Elements.FLOAT32) {
      tensor.segment.copyFrom(MemorySegment.ofArray(values));
    } else {
      for (int i = 0; i < values.length; i++) {
        tensor.storeReal(i, values[i]);
      }
    }
    return tensor;
  }

  /**
   * Makes a tensor as {@link #of(Operand, float...)} does, for one execution: floats stay in the
   * caller's array.
   */
  static Tensor lent(Operand operand, float[] values) throws NeuralNetworksException {
    return Elements.find(operand.type()).orElse(null) == Elements.FLOAT32
        ? new Tensor(
            operand.with(shape(operand, values.length, Float.BYTES, "floats")),
            MemorySegment.ofArray(values))
        : of(operand, values);
  }

  /**
   * Makes a tensor of elements as they are stored: a quantized operand gets the integers
   * themselves.
   *
   * @throws NeuralNetworksException with BAD_DATA if the number of values does not fit, or a value
   *     is not in the range of the type
   */
  public static Tensor of(Operand operand, long... values) throws NeuralNetworksException {
    Tensor tensor = numbers(operand, values.length, "integers");
    for (int i = 0; i < values.length; i++) {
      if (values[i] < tensor.elements.least() || values[i] > tensor.elements.most()) {
        throw NeuralNetworksException.badData(
            "element " + i + " is " + values[i] + ", which no " + operand.text() + " has");
      }
      tensor.store(i, values[i]);
    }
    return tensor;
  }

  /**
   * Makes a tensor of a copy of bytes, as they are stored.
   *
   * @throws NeuralNetworksException with BAD_DATA if the number of bytes does not fit
   */
  public static Tensor of(Operand operand, byte[] bytes) throws NeuralNetworksException {
    Tensor tensor = sized(operand, bytes.length, 1, "bytes");
    tensor.segment.copyFrom(MemorySegment.ofArray(bytes));
    return tensor;
  }

  /**
   * Makes a tensor of a copy of the remaining bytes, as they are stored; the buffer's position and
   * byte order do not change and do not count.
   *
   * @throws NeuralNetworksException with BAD_DATA if the number of bytes does not fit
   */
  public static Tensor of(Operand operand, ByteBuffer bytes) throws NeuralNetworksException {
    Tensor tensor = sized(operand, bytes.remaining(), 1, "bytes");
    tensor.segment.copyFrom(MemorySegment.ofBuffer(bytes));
    return tensor;
  }

  /**
   * Makes a tensor of the caller's memory, which is not copied.
   *
   * @throws NeuralNetworksException with BAD_DATA if the size does not fit
   */
  public static Tensor of(Operand operand, MemorySegment memory) throws NeuralNetworksException {
    return new Tensor(operand.with(shape(operand, memory.byteSize(), 1, "bytes")), memory);
  }

  /**
   * Makes a tensor of the caller's memory, such as that of a hardware buffer, in which devices read
   * it in place: not even an isolated one gets a copy.
   *
   * @throws NeuralNetworksException with BAD_DATA if the size does not fit
   */
  public static Tensor of(Operand operand, SharedMemory memory) throws NeuralNetworksException {
    Shape shape = shape(operand, memory.size(), 1, "bytes");
    return new Tensor(operand.with(shape), memory.segment(), memory);
  }

  /**
   * Makes a tensor of type TENSOR_FLOAT32.
   *
   * @throws IllegalArgumentException if the dimensions do not hold exactly these values
   */
  public static Tensor floats(float[] values, int... dimensions) {
    Operand operand = operand(OperandCode.TENSOR_FLOAT32, values.length, dimensions);
    MemorySegment segment = TensorMemory.allocate(4L * values.length);
    return new Tensor(operand, segment.copyFrom(MemorySegment.ofArray(values)));
  }

  /**
   * Makes a tensor of type TENSOR_INT32.
   *
   * @throws IllegalArgumentException if the dimensions do not hold exactly these values
   */
  public static Tensor ints(int[] values, int... dimensions) {
    Operand operand = operand(OperandCode.TENSOR_INT32, values.length, dimensions);
    MemorySegment segment = TensorMemory.allocate(4L * values.length);
    return new Tensor(operand, segment.copyFrom(MemorySegment.ofArray(values)));
  }

  private static Operand operand(OperandCode type, int count, int[] dimensions) {
    Shape shape = Shape.of(dimensions);
    if (shape.elementCount() != count) {
      throw new IllegalArgumentException(
          "dimensions %s hold %s elements, not %s"
              .formatted(Arrays.toString(dimensions), shape.elementCount(), count));
    }
    return new Operand(type, shape, Quantization.NONE, Lifetime.SUBGRAPH_INPUT, "");
  }

  private static Tensor numbers(Operand operand, int count, String noun)
      throws NeuralNetworksException {
    if (Elements.find(operand.type()).isEmpty()) {
      throw NeuralNetworksException.badData(
          "elements of " + operand.text() + " are no numbers; give its bytes");
    }
    return sized(operand, count, operand.type().elementSize(), noun);
  }

  private static Tensor sized(Operand operand, int given, long unit, String noun)
      throws NeuralNetworksException {
    return allocate(operand, shape(operand, given, unit, noun));
  }

  /**
   * Returns the dimensions of an operand with so many units.
   *
   * @param unit bytes of one unit
   */
  private static Shape shape(Operand operand, long given, long unit, String noun)
      throws NeuralNetworksException {
    Shape shape = operand.shape();
    if (operand.isSizeKnown()) {
      long wanted = operand.byteSize() / unit;
      if (given != wanted) {
        throw NeuralNetworksException.badData(
            operand.text() + " takes " + wanted + " " + noun + ", not " + given);
      }
      return shape;
    }
    int[] open =
        IntStream.range(0, shape.rank()).filter(axis -> shape.dimension(axis) == 0).toArray();
    if (open.length != 1) {
      throw NeuralNetworksException.badData(
          operand.text() + " has open dimensions: name them by Operand.with(Shape)");
    }
    long row = byteSize(operand, shape.with(open[0], 1)) / unit;
    long rows = row == 0 ? 0 : given / row;
    if (row == 0 || rows * row != given || rows > Integer.MAX_VALUE) {
      throw NeuralNetworksException.badData(
          operand.text() + " takes a multiple of " + row + " " + noun + ", not " + given);
    }
    return shape.with(open[0], (int) rows);
  }

  /** Returns the bytes of a value; a number that nothing holds if they cannot be counted. */
  static long byteSize(Operand operand, Shape shape) {
    try {
      long count = operand.type().isTensor() ? shape.elementCount() : 1;
      return Math.multiplyExact(count, (long) operand.type().elementSize());
    } catch (ArithmeticException e) {
      return Long.MAX_VALUE;
    }
  }

  /** Returns the first bytes of a buffer as a value of an operand. */
  static Tensor prefix(Operand operand, Shape shape, MemorySegment buffer) {
    return new Tensor(operand.with(shape), buffer.asSlice(0, byteSize(operand, shape)));
  }

  /** Returns the operand with the dimensions of this value. */
  public Operand operand() {
    return operand;
  }

  /** Returns the name of the operand in its model; may be empty. */
  public String name() {
    return operand.name();
  }

  /** Returns the type of an element. */
  public OperandType type() {
    return operand.type();
  }

  /** Returns the dimensions; none for a scalar. */
  public Shape shape() {
    return operand.shape();
  }

  /** Returns how stored elements stand for real numbers. */
  public Quantization quantization() {
    return operand.quantization();
  }

  /** Returns the bytes, which may be written while no execution uses them. */
  public MemorySegment segment() {
    return segment;
  }

  /** Returns the memory that the value is all of, or null. */
  SharedMemory memory() {
    return memory;
  }

  /** Returns the number of elements. */
  public long count() {
    return segment.byteSize() / type().elementSize();
  }

  /** Returns whether elements can be read as numbers; those of an extension's type cannot. */
  public boolean isNumeric() {
    return elements != null;
  }

  /** Returns whether the elements are integers that stand for real numbers. */
  public boolean isQuantized() {
    return quantization().scale() != 0;
  }

  /** Returns an element as it is stored; a boolean as 0 or 1. */
  public double stored(long index) {
    double number = numeric().getDouble(segment, index);
    return elements == Elements.BOOL8 && number != 0 ? 1 : number;
  }

  /** Returns the real number that an element stands for. */
  public double real(long index) {
    double element = stored(index);
    return isQuantized()
        ? (element - quantization().zeroPoint()) * (double) quantization().scale()
        : element;
  }

  /** Stores an element; integers are rounded and cut to the range of the type. */
  public void store(long index, double element) {
    numeric()
        .setDouble(
            segment,
            index,
            elements.isFloat()
                ? element
                : Math.clamp(Math.rint(element), elements.least(), elements.most()));
  }

  /** Stores the element that stands for a real number. */
  public void storeReal(long index, double value) {
    store(
        index, isQuantized() ? value / quantization().scale() + quantization().zeroPoint() : value);
  }

  /** Returns a copy of the elements as real numbers. */
  public float[] toFloats() {
    if (elements == Elements.FLOAT32) {
      return segment.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
    }
    float[] values = new float[arraySize()];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) real(i);
    }
    return values;
  }

  /** Returns a copy of the elements as they are stored; fractions are cut off. */
  public long[] toLongs() {
    return LongStream.range(0, arraySize()).map(i -> (long) stored(i)).toArray();
  }

  /** Returns a copy of the bytes. */
  public byte[] toBytes() {
    return segment.toArray(ValueLayout.JAVA_BYTE);
  }

  /** Returns a view of the bytes, little-endian; what is written there is written here. */
  public ByteBuffer asByteBuffer() {
    return segment.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  private int arraySize() {
    return Math.toIntExact(count());
  }

  private Elements numeric() {
    return Objects.requireNonNull(
        elements, () -> "elements of " + type().text() + " are no numbers");
  }

  /** Returns name, type and dimensions. */
  @Override
  public String toString() {
    return operand.text();
  }
}
