// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.wire;

import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * Graphs as bytes; what is written of a constant is the caller's. A read graph is as valid as the
 * written one. Stateless.
 */
public final class GraphCodec {
  private static final int CODE = 0;
  private static final int EXTENSION = 1;

  private static final int TEMPORARY_VARIABLE = 0;
  private static final int SUBGRAPH_INPUT = 1;
  private static final int SUBGRAPH_OUTPUT = 2;
  private static final int NO_VALUE = 3;
  private static final int CONSTANT = 4;
  private static final int SUBGRAPH = 5;

  private static final int NOT_QUANTIZED = 0;
  private static final int PER_TENSOR = 1;
  private static final int PER_CHANNEL = 2;

  private GraphCodec() {}

  /**
   * Writes a graph.
   *
   * @param constants writes the value of a constant, or where it stands
   */
  public static void write(
      Encoder out, Subgraph graph, BiConsumer<Encoder, Lifetime.Constant> constants) {
    out.list(graph.operands(), (to, operand) -> write(to, operand, constants));
    out.list(graph.operations(), GraphCodec::write);
    write(out, graph.inputIndexes(), graph.outputIndexes());
  }

  /**
   * Reads a graph.
   *
   * @param constants reads what was written of a constant
   */
  public static Subgraph read(Decoder in, Decoder.Element<Lifetime.Constant> constants)
      throws WireFormatException {
    List<Operand> operands = in.list(from -> operand(from, constants));
    List<Operation> operations = in.list(GraphCodec::operation);
    return new Subgraph(operands, operations, in.list(Decoder::int32), in.list(Decoder::int32));
  }

  private static void write(Encoder out, List<Integer> inputs, List<Integer> outputs) {
    out.list(inputs, Encoder::int32).list(outputs, Encoder::int32);
  }

  private static void write(Encoder out, Operation operation) {
    switch (operation.type()) {
      case OperationCode code -> out.int8(CODE).int32(code.code());
      case ExtensionOperationType own ->
          out.int8(EXTENSION).text(own.extension()).int32(own.code()).text(own.name());
    }
    write(out, operation.inputs(), operation.outputs());
  }

  private static Operation operation(Decoder in) throws WireFormatException {
    OperationType type = operationType(in);
    return new Operation(type, in.list(Decoder::int32), in.list(Decoder::int32));
  }

  private static OperationType operationType(Decoder in) throws WireFormatException {
    int kind = in.int8();
    return switch (kind) {
      case CODE -> {
        int code = in.int32();
        yield OperationCode.ofCode(code)
            .orElseThrow(() -> new WireFormatException("no operation has the code " + code));
      }
      case EXTENSION -> new ExtensionOperationType(in.text(), in.int32(), in.text());
      default -> throw WireFormatException.unknown("operation type", kind);
    };
  }

  private static void write(
      Encoder out, Operand operand, BiConsumer<Encoder, Lifetime.Constant> constants) {
    writeType(out, operand.type());
    writeShape(out, operand.shape());
    write(out, operand.quantization());
    write(out, operand.lifetime(), constants);
    out.text(operand.name());
  }

  private static Operand operand(Decoder in, Decoder.Element<Lifetime.Constant> constants)
      throws WireFormatException {
    OperandType type = type(in);
    Shape shape = shape(in);
    Quantization quantization = quantization(in);
    Lifetime lifetime = lifetime(in, constants);
    return new Operand(type, shape, quantization, lifetime, in.text());
  }

  /** Writes a type. */
  public static void writeType(Encoder out, OperandType type) {
    switch (type) {
      case OperandCode code -> out.int8(CODE).int32(code.code());
      case ExtensionOperandType own ->
          out.int8(EXTENSION)
              .text(own.extension())
              .int32(own.code())
              .text(own.name())
              .bool(own.isTensor())
              .int32(own.elementSize());
    }
  }

  /** Reads a type. */
  public static OperandType type(Decoder in) throws WireFormatException {
    int kind = in.int8();
    return switch (kind) {
      case CODE -> {
        int code = in.int32();
        yield OperandCode.ofCode(code)
            .orElseThrow(() -> new WireFormatException("no operand type has the code " + code));
      }
      case EXTENSION ->
          new ExtensionOperandType(in.text(), in.int32(), in.text(), in.bool(), in.int32());
      default -> throw WireFormatException.unknown("operand type", kind);
    };
  }

  /** Writes dimensions. */
  public static void writeShape(Encoder out, Shape shape) {
    out.ints(shape.toArray());
  }

  /** Reads dimensions. */
  public static Shape shape(Decoder in) throws WireFormatException {
    return Shape.of(in.ints());
  }

  private static void write(Encoder out, Quantization quantization) {
    switch (quantization) {
      case Quantization.None _ -> out.int8(NOT_QUANTIZED);
      case Quantization.PerTensor(float scale, int zeroPoint) ->
          out.int8(PER_TENSOR).float32(scale).int32(zeroPoint);
      case Quantization.PerChannel(int dimension, float[] scales) -> {
        out.int8(PER_CHANNEL).int32(dimension).int32(scales.length);
        for (float scale : scales) {
          out.float32(scale);
        }
      }
    }
  }

  private static Quantization quantization(Decoder in) throws WireFormatException {
    int kind = in.int8();
    return switch (kind) {
      case NOT_QUANTIZED -> Quantization.NONE;
      case PER_TENSOR -> new Quantization.PerTensor(in.float32(), in.int32());
      case PER_CHANNEL -> {
        int dimension = in.int32();
        int[] bits = in.ints();
        float[] scales = new float[bits.length];
        for (int i = 0; i < bits.length; i++) {
          scales[i] = Float.intBitsToFloat(bits[i]);
        }
        yield new Quantization.PerChannel(dimension, scales);
      }
      default -> throw WireFormatException.unknown("quantization", kind);
    };
  }

  private static void write(
      Encoder out, Lifetime lifetime, BiConsumer<Encoder, Lifetime.Constant> constants) {
    switch (lifetime) {
      case Lifetime.TemporaryVariable _ -> out.int8(TEMPORARY_VARIABLE);
      case Lifetime.SubgraphInput _ -> out.int8(SUBGRAPH_INPUT);
      case Lifetime.SubgraphOutput _ -> out.int8(SUBGRAPH_OUTPUT);
      case Lifetime.NoValue _ -> out.int8(NO_VALUE);
      case Lifetime.Constant constant -> constants.accept(out.int8(CONSTANT), constant);
      case SubgraphReference(int index) -> out.int8(SUBGRAPH).int32(index);
    }
  }

  private static Lifetime lifetime(Decoder in, Decoder.Element<Lifetime.Constant> constants)
      throws WireFormatException {
    int kind = in.int8();
    return switch (kind) {
      case TEMPORARY_VARIABLE -> Lifetime.TEMPORARY_VARIABLE;
      case SUBGRAPH_INPUT -> Lifetime.SUBGRAPH_INPUT;
      case SUBGRAPH_OUTPUT -> Lifetime.SUBGRAPH_OUTPUT;
      case NO_VALUE -> Lifetime.NO_VALUE;
      case CONSTANT -> constants.read(in);
      case SUBGRAPH -> new SubgraphReference(in.int32());
      default -> throw WireFormatException.unknown("lifetime", kind);
    };
  }
}
