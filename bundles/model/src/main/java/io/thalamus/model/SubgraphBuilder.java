// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.ConstantReference;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Collects operands and operations into a {@link Subgraph}. Each method that adds an operand
 * returns its index. Not thread-safe; used once.
 */
public final class SubgraphBuilder {
  private final List<Operand> operands;
  private final List<Operation> operations = new ArrayList<>();
  private final List<Integer> inputs = new ArrayList<>();
  private final List<Integer> outputs = new ArrayList<>();

  /** A graph without operands. */
  public SubgraphBuilder() {
    this(List.of());
  }

  /** A graph that begins with these operands, of which none is an input or an output. */
  public SubgraphBuilder(List<Operand> known) {
    operands = new ArrayList<>(known);
  }

  /** Adds an operand as it is; inputs and outputs of the graph are named by the caller. */
  public int operand(Operand operand) {
    operands.add(operand);
    return operands.size() - 1;
  }

  /** Adds a value that the caller gives. */
  public int input(String name, OperandType type, Shape shape, Quantization quantization) {
    int index = operand(new Operand(type, shape, quantization, Lifetime.SUBGRAPH_INPUT, name));
    inputs.add(index);
    return index;
  }

  /** Adds a value that the caller gets. */
  public int output(String name, OperandType type, Shape shape, Quantization quantization) {
    int index = operand(new Operand(type, shape, quantization, Lifetime.SUBGRAPH_OUTPUT, name));
    outputs.add(index);
    return index;
  }

  /** Adds an intermediate value. */
  public int temporary(String name, OperandType type, Shape shape, Quantization quantization) {
    return operand(new Operand(type, shape, quantization, Lifetime.TEMPORARY_VARIABLE, name));
  }

  /** Adds an optional input that is left out. */
  public int noValue(OperandType type) {
    return operand(new Operand(type, Shape.NONE, Quantization.NONE, Lifetime.NO_VALUE, ""));
  }

  /** Adds an operand that stands for a graph of the model, by its number among the referenced. */
  public int subgraph(int index) {
    Lifetime reference = new Lifetime.SubgraphReference(index);
    return operand(new Operand(OperandCode.SUBGRAPH, Shape.NONE, Quantization.NONE, reference, ""));
  }

  /** Adds an INT32 scalar constant. */
  public int int32(int value) {
    return scalar(OperandCode.INT32, bytes(4).putInt(value).array());
  }

  /** Adds a FLOAT32 scalar constant. */
  public int float32(float value) {
    return scalar(OperandCode.FLOAT32, bytes(4).putFloat(value).array());
  }

  /** Adds a BOOL scalar constant. */
  public int bool(boolean value) {
    return scalar(OperandCode.BOOL, new byte[] {(byte) (value ? 1 : 0)});
  }

  /** Adds a TENSOR_INT32 vector constant. */
  public int int32Vector(int... values) {
    return int32Tensor(Shape.of(values.length), values);
  }

  /** Adds a TENSOR_INT32 constant. */
  public int int32Tensor(Shape shape, int... values) {
    ByteBuffer buffer = bytes(4 * values.length);
    for (int value : values) {
      buffer.putInt(value);
    }
    return constant(
        "", OperandCode.TENSOR_INT32, shape, Quantization.NONE, new ConstantCopy(buffer.array()));
  }

  /** Adds a constant whose value stands where {@code value} says. */
  public int constant(
      String name,
      OperandType type,
      Shape shape,
      Quantization quantization,
      Lifetime.Constant value) {
    return operand(new Operand(type, shape, quantization, value, name));
  }

  /** Returns the lifetime of a constant in a pool: a copy when it is small, else a reference. */
  public static Lifetime.Constant place(SharedMemory pool, long offset, long length) {
    if (length > ConstantCopy.MAX_SIZE) {
      return new ConstantReference(pool, offset, length);
    }
    byte[] copy = new byte[(int) length];
    MemorySegment.copy(pool.segment(), ValueLayout.JAVA_BYTE, offset, copy, 0, copy.length);
    return new ConstantCopy(copy);
  }

  /** Adds an operation. */
  public void operation(OperationType type, List<Integer> inputs, List<Integer> outputs) {
    operations.add(new Operation(type, inputs, outputs));
  }

  /** The operand at an index, as added so far. */
  public Operand get(int index) {
    return operands.get(index);
  }

  /** Puts an operand in the place of another one. */
  public void replace(int index, Operand operand) {
    operands.set(index, operand);
  }

  /** Corrects the dimensions of an operand that was added with others. */
  public void reshape(int index, Shape shape) {
    replace(index, operands.get(index).with(shape));
  }

  /**
   * A moment of a builder's work.
   *
   * @param operands the number of operands that it had
   * @param operations the number of operations that it had
   */
  public record Mark(int operands, int operations) {}

  /** Returns what {@link #truncate} needs in order to take back all that is added from now on. */
  public Mark mark() {
    return new Mark(operands.size(), operations.size());
  }

  /** Takes back the operands and operations that were added since. */
  public void truncate(Mark mark) {
    operands.subList(mark.operands(), operands.size()).clear();
    operations.subList(mark.operations(), operations.size()).clear();
    inputs.removeIf(index -> index >= mark.operands());
    outputs.removeIf(index -> index >= mark.operands());
  }

  /** The graph, with its inputs and outputs in the order in which they were added. */
  public Subgraph build() {
    return build(inputs, outputs);
  }

  /** The graph with inputs and outputs in an order of their own. */
  public Subgraph build(List<Integer> inputIndexes, List<Integer> outputIndexes) {
    return new Subgraph(operands, operations, inputIndexes, outputIndexes);
  }

  private int scalar(OperandType type, byte[] value) {
    return constant("", type, Shape.NONE, Quantization.NONE, new ConstantCopy(value));
  }

  private static ByteBuffer bytes(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }
}
