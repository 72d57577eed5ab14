// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.Constant;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.io.ByteArrayOutputStream;
import java.io.DataOutput;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * A whole graph as it stands in a cache, for devices whose programs are made of the graph again:
 * the structure belongs into the model cache, the values of constants into the data cache. Numbers
 * are big-endian, lists have their length before them. A lifetime is its place in {@link
 * #LIFETIMES}; a constant has its length, and its bytes follow each other in the data cache. Names
 * are not kept. Stateless.
 *
 * <p>{@link #read} takes bytes that the caching engine vouches for, and checks nothing.
 */
public final class CachedGraph {
  private static final List<Lifetime> LIFETIMES =
      List.of(
          Lifetime.TEMPORARY_VARIABLE,
          Lifetime.SUBGRAPH_INPUT,
          Lifetime.SUBGRAPH_OUTPUT,
          Lifetime.NO_VALUE);

  private static final byte CONSTANT = 4;
  private static final byte EMPTY_CONSTANT = 5;

  /** In the place of an operation's number: its extension, number and name follow. */
  private static final int EXTENSION = -1;

  private CachedGraph() {}

  /** Returns true if the numbers can say what the graph is. */
  public static boolean isPossible(Subgraph graph) {
    return graph.operands().stream()
        .allMatch(
            operand ->
                operand.type() instanceof OperandCode
                    && (operand.lifetime() instanceof Constant
                        || LIFETIMES.contains(operand.lifetime())));
  }

  /**
   * Writes a graph.
   *
   * @param omitted operands whose values the device keeps in another form: they are constants of no
   *     bytes when the graph is read
   * @param structure gets all but the values
   * @param values gets the values
   */
  public static void write(
      Subgraph graph, Set<Integer> omitted, DataOutput structure, ByteArrayOutputStream values)
      throws IOException {
    structure.writeInt(graph.operands().size());
    for (int i = 0; i < graph.operands().size(); i++) {
      Operand operand = graph.operands().get(i);
      structure.writeInt(((OperandCode) operand.type()).code());
      writeInts(operand.shape().toArray(), structure);
      write(operand.quantization(), structure);
      if (operand.lifetime() instanceof Constant constant) {
        structure.writeByte(omitted.contains(i) ? EMPTY_CONSTANT : CONSTANT);
        if (!omitted.contains(i)) {
          byte[] bytes = constant.bytes().toArray(ValueLayout.JAVA_BYTE);
          structure.writeInt(bytes.length);
          values.write(bytes);
        }
      } else {
        structure.writeByte(LIFETIMES.indexOf(operand.lifetime()));
      }
    }
    structure.writeInt(graph.operations().size());
    for (Operation operation : graph.operations()) {
      write(operation.type(), structure);
      writeList(operation.inputs(), structure);
      writeList(operation.outputs(), structure);
    }
    writeList(graph.inputIndexes(), structure);
    writeList(graph.outputIndexes(), structure);
  }

  private static void write(OperationType type, DataOutput structure) throws IOException {
    switch (type) {
      case OperationCode code -> structure.writeInt(code.code());
      case ExtensionOperationType other -> {
        structure.writeInt(EXTENSION);
        writeText(other.extension(), structure);
        structure.writeInt(other.code());
        writeText(other.name(), structure);
      }
    }
  }

  private static void writeText(String text, DataOutput structure) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    structure.writeInt(bytes.length);
    structure.write(bytes);
  }

  private static void write(Quantization quantization, DataOutput structure) throws IOException {
    switch (quantization) {
      case Quantization.None _ -> structure.writeByte(0);
      case Quantization.PerTensor one -> {
        structure.writeByte(1);
        structure.writeFloat(one.scale());
        structure.writeInt(one.zeroPoint());
      }
      case Quantization.PerChannel many -> {
        structure.writeByte(2);
        structure.writeInt(many.channelDimension());
        structure.writeInt(many.scales().length);
        for (float scale : many.scales()) {
          structure.writeFloat(scale);
        }
      }
    }
  }

  private static void writeList(List<Integer> numbers, DataOutput structure) throws IOException {
    writeInts(numbers.stream().mapToInt(Integer::intValue).toArray(), structure);
  }

  private static void writeInts(int[] numbers, DataOutput structure) throws IOException {
    structure.writeInt(numbers.length);
    for (int number : numbers) {
      structure.writeInt(number);
    }
  }

  /**
   * Reads what {@link #write} wrote.
   *
   * @param structure positioned at the graph, and behind it afterwards
   * @param values positioned at the first value, and behind the last afterwards
   */
  public static Subgraph read(ByteBuffer structure, ByteBuffer values) {
    List<Operand> operands = new ArrayList<>();
    for (int left = structure.getInt(); left > 0; left--) {
      OperandCode type = OperandCode.ofCode(structure.getInt()).orElseThrow();
      Shape shape = Shape.of(readInts(structure));
      Quantization quantization = readQuantization(structure);
      operands.add(new Operand(type, shape, quantization, readLifetime(structure, values), ""));
    }
    List<Operation> operations = new ArrayList<>();
    for (int left = structure.getInt(); left > 0; left--) {
      OperationType type = readType(structure);
      List<Integer> inputs = readList(structure);
      operations.add(new Operation(type, inputs, readList(structure)));
    }
    List<Integer> inputs = readList(structure);
    return new Subgraph(operands, operations, inputs, readList(structure));
  }

  private static OperationType readType(ByteBuffer structure) {
    int code = structure.getInt();
    return code == EXTENSION
        ? new ExtensionOperationType(readText(structure), structure.getInt(), readText(structure))
        : OperationCode.ofCode(code).orElseThrow();
  }

  private static String readText(ByteBuffer structure) {
    byte[] bytes = new byte[structure.getInt()];
    structure.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static Lifetime readLifetime(ByteBuffer structure, ByteBuffer values) {
    byte place = structure.get();
    if (place < CONSTANT) {
      return LIFETIMES.get(place);
    }
    byte[] bytes = new byte[place == CONSTANT ? structure.getInt() : 0];
    values.get(bytes);
    return new ConstantCopy(bytes);
  }

  private static Quantization readQuantization(ByteBuffer structure) {
    return switch (structure.get()) {
      case 0 -> Quantization.NONE;
      case 1 -> new Quantization.PerTensor(structure.getFloat(), structure.getInt());
      default -> {
        int dimension = structure.getInt();
        float[] scales = new float[structure.getInt()];
        for (int i = 0; i < scales.length; i++) {
          scales[i] = structure.getFloat();
        }
        yield new Quantization.PerChannel(dimension, scales);
      }
    };
  }

  private static List<Integer> readList(ByteBuffer structure) {
    return Arrays.stream(readInts(structure)).boxed().toList();
  }

  private static int[] readInts(ByteBuffer structure) {
    int[] numbers = new int[structure.getInt()];
    Arrays.setAll(numbers, _ -> structure.getInt());
    return numbers;
  }
}
