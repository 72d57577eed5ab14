// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Models as bytes. Larger constants stay where they are: the bytes name their memories by index. A
 * read model is as valid as the written one; a device checks it as ever. Stateless.
 */
public final class ModelCodec {
  private static final int CODE = 0;
  private static final int EXTENSION = 1;

  private static final int TEMPORARY_VARIABLE = 0;
  private static final int SUBGRAPH_INPUT = 1;
  private static final int SUBGRAPH_OUTPUT = 2;
  private static final int NO_VALUE = 3;
  private static final int CONSTANT_COPY = 4;
  private static final int CONSTANT_REFERENCE = 5;
  private static final int SUBGRAPH = 6;

  private static final int NOT_QUANTIZED = 0;
  private static final int PER_TENSOR = 1;
  private static final int PER_CHANNEL = 2;

  private ModelCodec() {}

  /**
   * Writes a model.
   *
   * @param pools the memories of its constants, which {@link Model#pools()} gives
   */
  public static void write(Encoder out, Model model, List<SharedMemory> pools) {
    Map<SharedMemory, Integer> indexes = new IdentityHashMap<>();
    pools.forEach(pool -> indexes.put(pool, indexes.size()));
    out.bool(model.relaxComputationFloat32toFloat16());
    write(out, model.main(), indexes);
    out.list(model.referenced(), (to, subgraph) -> write(to, subgraph, indexes));
  }

  /**
   * Reads a model.
   *
   * @param pools the memories of its constants, in the order in which they were written
   */
  public static Model read(Decoder in, List<SharedMemory> pools) throws WireFormatException {
    boolean isRelaxed = in.bool();
    Subgraph main = subgraph(in, pools);
    return new Model(main, in.list(from -> subgraph(from, pools)), isRelaxed);
  }

  private static void write(Encoder out, Subgraph graph, Map<SharedMemory, Integer> pools) {
    out.list(graph.operands(), (to, operand) -> write(to, operand, pools));
    out.list(graph.operations(), ModelCodec::write);
    out.ints(ints(graph.inputIndexes())).ints(ints(graph.outputIndexes()));
  }

  private static Subgraph subgraph(Decoder in, List<SharedMemory> pools)
      throws WireFormatException {
    List<Operand> operands = in.list(from -> operand(from, pools));
    List<Operation> operations = in.list(ModelCodec::operation);
    return new Subgraph(operands, operations, list(in.ints()), list(in.ints()));
  }

  private static int[] ints(List<Integer> values) {
    return values.stream().mapToInt(Integer::intValue).toArray();
  }

  private static List<Integer> list(int[] values) {
    return Arrays.stream(values).boxed().toList();
  }

  private static void write(Encoder out, Operation operation) {
    switch (operation.type()) {
      case OperationCode code -> out.int8(CODE).int32(code.code());
      case ExtensionOperationType own ->
          out.int8(EXTENSION).text(own.extension()).int32(own.code()).text(own.name());
    }
    out.ints(ints(operation.inputs())).ints(ints(operation.outputs()));
  }

  private static Operation operation(Decoder in) throws WireFormatException {
    OperationType type = operationType(in);
    return new Operation(type, list(in.ints()), list(in.ints()));
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
      default -> throw unknown("operation type", kind);
    };
  }

  private static void write(Encoder out, Operand operand, Map<SharedMemory, Integer> pools) {
    writeType(out, operand.type());
    writeShape(out, operand.shape());
    write(out, operand.quantization());
    write(out, operand.lifetime(), pools);
    out.text(operand.name());
  }

  private static Operand operand(Decoder in, List<SharedMemory> pools) throws WireFormatException {
    OperandType type = type(in);
    Shape shape = shape(in);
    Quantization quantization = quantization(in);
    Lifetime lifetime = lifetime(in, pools);
    return new Operand(type, shape, quantization, lifetime, in.text());
  }

  static void writeType(Encoder out, OperandType type) {
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

  static OperandType type(Decoder in) throws WireFormatException {
    int kind = in.int8();
    return switch (kind) {
      case CODE -> {
        int code = in.int32();
        yield OperandCode.ofCode(code)
            .orElseThrow(() -> new WireFormatException("no operand type has the code " + code));
      }
      case EXTENSION ->
          new ExtensionOperandType(in.text(), in.int32(), in.text(), in.bool(), in.int32());
      default -> throw unknown("operand type", kind);
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
      default -> throw unknown("quantization", kind);
    };
  }

  private static void write(Encoder out, Lifetime lifetime, Map<SharedMemory, Integer> pools) {
    switch (lifetime) {
      case Lifetime.TemporaryVariable _ -> out.int8(TEMPORARY_VARIABLE);
      case Lifetime.SubgraphInput _ -> out.int8(SUBGRAPH_INPUT);
      case Lifetime.SubgraphOutput _ -> out.int8(SUBGRAPH_OUTPUT);
      case Lifetime.NoValue _ -> out.int8(NO_VALUE);
      case ConstantCopy(byte[] value) -> out.int8(CONSTANT_COPY).bytes(value);
      case ConstantReference(SharedMemory pool, long offset, long length) ->
          out.int8(CONSTANT_REFERENCE).int32(pools.get(pool)).int64(offset).int64(length);
      case SubgraphReference(int index) -> out.int8(SUBGRAPH).int32(index);
    }
  }

  private static Lifetime lifetime(Decoder in, List<SharedMemory> pools)
      throws WireFormatException {
    int kind = in.int8();
    return switch (kind) {
      case TEMPORARY_VARIABLE -> Lifetime.TEMPORARY_VARIABLE;
      case SUBGRAPH_INPUT -> Lifetime.SUBGRAPH_INPUT;
      case SUBGRAPH_OUTPUT -> Lifetime.SUBGRAPH_OUTPUT;
      case NO_VALUE -> Lifetime.NO_VALUE;
      case CONSTANT_COPY -> new ConstantCopy(in.bytes());
      case CONSTANT_REFERENCE ->
          new ConstantReference(pools.get(in.int32()), in.int64(), in.int64());
      case SUBGRAPH -> new SubgraphReference(in.int32());
      default -> throw unknown("lifetime", kind);
    };
  }

  static WireFormatException unknown(String what, int kind) {
    return new WireFormatException("unknown " + what + " " + kind);
  }
}
