// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.model.WideTypes;
import io.thalamus.onnx.file.DataFiles;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.Refusal;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.onnx.layout.Grid;
import io.thalamus.onnx.layout.Layout;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ValidationException;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The place where operations are added to a graph. The shapes of what they compute come from their
 * definitions. Not thread-safe.
 */
class Emitter {
  /** The least quantization that lets 8-bit integers stand for themselves. */
  private static final Quantization PLAIN = Quantization.of(1, 0);

  private static final int MAX_OPERATIONS = 200_000;

  private final DataFiles files;
  private final OperationCatalog catalog;
  private final Budget budget;
  private final SubgraphBuilder builder = new SubgraphBuilder();
  private final Map<Object, Integer> scalars = new HashMap<>();

  /** By identity the constants that are integers in the place of real numbers. */
  private final Map<Lifetime.Constant, Grid> grids = new IdentityHashMap<>();

  private int operations;

  Emitter(DataFiles files, OperationCatalog catalog, Budget budget) {
    this.files = files;
    this.catalog = catalog;
    this.budget = budget;
  }

  SubgraphBuilder builder() {
    return builder;
  }

  Budget budget() {
    return budget;
  }

  /** The exception for what cannot be expressed. The graph adds the place. */
  static Refusal refuse(String reason) {
    return new Refusal(reason);
  }

  static void require(boolean condition, String reason) {
    if (!condition) {
      throw refuse(reason);
    }
  }

  // ---- constants ----

  Value fill(DataType type, int[] shape, double value) {
    return Value.of(Tensor.fill(type, shape, value, budget));
  }

  /** A scalar. */
  Value number(DataType type, double value) {
    return fill(type, new int[0], value);
  }

  Value constant(DataType type, int[] shape, double... values) {
    return Value.of(Tensor.of(type, shape, values, budget));
  }

  Value integers(int[] shape, int... values) {
    return constant(DataType.INT32, shape, Arrays.stream(values).asDoubleStream().toArray());
  }

  /** The numbers from 0 on. */
  Value range(int... shape) {
    return integers(shape, budget.range(Dims.count(shape)));
  }

  // ---- operands ----

  /** The type of operands for values of a type. */
  static OperandCode code(DataType type) {
    return type.operand().orElseThrow(() -> refuse(type + " has no type of operands"));
  }

  static Quantization quantization(DataType type) {
    return type.is8Bit() ? PLAIN : Quantization.NONE;
  }

  /** The quantization of operands by which a caller gives or gets values. */
  static Quantization argumentQuantization(OperandType type) {
    boolean isQuantized =
        type == OperandCode.TENSOR_QUANT8_ASYMM
            || type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
            || type == OperandCode.TENSOR_QUANT16_SYMM
            || type == OperandCode.TENSOR_QUANT16_ASYMM;
    return isQuantized ? PLAIN : Quantization.NONE;
  }

  /** The operation that converts numbers from one type of operands to another. */
  private static OperationType cast(OperandType from, OperandType to) {
    return isOfExtension(from) || isOfExtension(to) ? ThalamusExtension.CAST : OperationCode.CAST;
  }

  private static boolean isOfExtension(OperandType type) {
    return type instanceof ExtensionOperandType
        || type == OperandCode.TENSOR_QUANT16_SYMM
        || type == OperandCode.TENSOR_QUANT16_ASYMM;
  }

  static Shape physical(int... shape) {
    return shape.length == 0 ? Shape.of(1) : Shape.of(shape);
  }

  /** The operand of a value; that of a constant comes into being when it is first needed. */
  int operand(Value value) {
    if (!value.hasOperand() && value.integers() != null) {
      value.setOperand(operand(value.integers().get()));
    } else if (!value.hasOperand() && value.stored().isPresent()) {
      value.setOperand(copy(value, value.stored().getAsInt(), PLAIN));
    } else if (!value.hasOperand()) {
      value.setOperand(constant(value, quantization(value.type())));
    }
    return value.operand();
  }

  /** A new operand of a constant, quantized in a way. */
  int constant(Value value, Quantization quantization) {
    require(value.count() > 0, "a value without elements is left over");
    boolean isOnGrid = value.grid() != null;
    Lifetime.Constant constant = lifetime((isOnGrid ? value.bytes() : value).constant());
    if (isOnGrid) {
      grids.put(constant, value.grid());
    }
    return builder.constant(
        "", code(value.type()), physical(value.shape()), quantization, constant);
  }

  /** The operand of 8-bit integers that stand for real numbers. */
  int stored(Value value, Quantization quantization) {
    if (value.stored().isPresent()
        && builder.get(value.stored().getAsInt()).quantization().equals(quantization)) {
      return value.stored().getAsInt();
    }
    return quantization.equals(PLAIN)
        ? operand(value)
        : copy(
            value,
            value.stored().isPresent() ? value.stored().getAsInt() : operand(value),
            quantization);
  }

  /** The same integers, standing for other numbers. */
  private int copy(Value value, int from, Quantization quantization) {
    int to = builder.temporary("", code(value.type()), physical(value.shape()), quantization);
    add(OperationCode.CAST, List.of(from), List.of(to));
    return to;
  }

  /** Adds the operation that stores real numbers as 8-bit integers, rounded as ONNX does. */
  Value quantize(Value value, DataType type, Quantization quantization) {
    int output = builder.temporary("", code(type), Shape.NONE, quantization);
    add(ThalamusExtension.QUANTIZE, List.of(operand(value)), List.of(output));
    return Value.ofStored(type, value.shape(), output);
  }

  /** Adds the operation that makes real numbers of 8-bit integers. */
  Value dequantize(Value value, int stored, DataType type) {
    int output = builder.temporary("", code(type), Shape.NONE, Quantization.NONE);
    add(OperationCode.DEQUANTIZE, List.of(stored), List.of(output));
    return Value.of(type, value.shape(), output);
  }

  /**
   * A graph as a model has it: improved, and with real numbers where it still has integers on a
   * grid in their place.
   */
  Subgraph finished(Subgraph graph) {
    Subgraph improved = Layout.improve(graph, catalog, grids);
    List<Operand> operands = improved.operands().stream().map(this::real).toList();
    return new Subgraph(
        operands, improved.operations(), improved.inputIndexes(), improved.outputIndexes());
  }

  private Operand real(Operand operand) {
    if (!(operand.lifetime() instanceof Lifetime.Constant constant)
        || !grids.containsKey(constant)
        || operand.type() != OperandCode.TENSOR_FLOAT32) {
      return operand;
    }
    int[] shape = operand.shape().toArray();
    budget.take((long) Dims.count(shape) * Float.BYTES);
    return operand.with(new ConstantCopy(grids.get(constant).floats(constant.bytes(), shape)));
  }

  private Lifetime.Constant lifetime(Tensor tensor) {
    MemorySegment bytes = tensor.bytes();
    if (!tensor.type().isFloat()
        && code(tensor.type()) == OperandCode.TENSOR_INT32
        && tensor.type() != DataType.INT32) {
      for (int i = 0; i < tensor.count(); i++) {
        require(
            tensor.type() == DataType.UINT32 || tensor.integer(i) == (int) tensor.integer(i),
            "a constant holds " + tensor.integer(i) + ", which does not fit 32 bits");
      }
      bytes = cast(tensor, DataType.INT32);
    }
    if (tensor.type().isFloat() && tensor.type() != DataType.FLOAT) {
      bytes = cast(tensor, DataType.FLOAT);
    }
    MemorySegment found = bytes;
    Optional<DataFiles.Place> place = files.place(bytes);
    if (place.isPresent() && place.get().offset() % tensor.type().elements().size() == 0) {
      return SubgraphBuilder.place(place.get().file(), place.get().offset(), bytes.byteSize());
    }
    if (bytes.isNative()) {
      bytes = made(found, found.byteSize(), "aligned", () -> copy(found));
    }
    return new ConstantCopy((byte[]) bytes.heapBase().orElseThrow());
  }

  private MemorySegment cast(Tensor tensor, DataType type) {
    return made(
        tensor.bytes(),
        (long) tensor.count() * type.elements().size(),
        List.of(tensor.type(), type),
        () -> tensor.cast(type, budget).bytes());
  }

  private MemorySegment copy(MemorySegment bytes) {
    byte[] copy = budget.bytes(bytes.byteSize());
    MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, 0, copy, 0, copy.length);
    return MemorySegment.ofArray(copy);
  }

  /** Returns the array that is made of constants, once: {@link DataFiles#made}. */
  MemorySegment made(MemorySegment bytes, long size, Object how, Supplier<MemorySegment> maker) {
    long taken = budget.taken();
    MemorySegment made = files.made(bytes, size, how, maker);
    if (budget.taken() == taken) {
      // A file is refused by each reading, or by none.
      budget.take(size);
    }
    return made;
  }

  int int32(int value) {
    return scalars.computeIfAbsent(value, key -> builder.int32(value));
  }

  int bool(boolean value) {
    return scalars.computeIfAbsent(value, key -> builder.bool(value));
  }

  int int32Vector(int... values) {
    return scalars.computeIfAbsent(Arrays.toString(values), key -> builder.int32Vector(values));
  }

  /** A scalar operand of a real number. */
  int real(double value) {
    return scalars.computeIfAbsent(value, key -> builder.float32((float) value));
  }

  /** An optional input that is left out. */
  int omitted(DataType type) {
    return builder.noValue(code(type));
  }

  // ---- operations ----

  /** Adds an operation with one result of a type, and returns the result. */
  Value emit(DataType type, OperationType operation, Integer... inputs) {
    return emit(operation, List.of(inputs), type).getFirst();
  }

  /** Adds an operation with results of these types, and returns them. */
  List<Value> emit(OperationType operation, List<Integer> inputs, DataType... types) {
    return emit(operation, inputs, false, types);
  }

  /** Adds an operation of whose results only an execution determines the sizes. */
  List<Value> emitOpen(OperationType operation, List<Integer> inputs, DataType... types) {
    return emit(operation, inputs, true, types);
  }

  private List<Value> emit(
      OperationType operation, List<Integer> inputs, boolean isOpen, DataType... types) {
    List<Integer> outputs = new ArrayList<>(types.length);
    for (DataType type : types) {
      outputs.add(builder.temporary("", code(type), Shape.NONE, quantization(type)));
    }
    List<Shape> shapes = add(operation, inputs, outputs, isOpen);
    List<Value> values = new ArrayList<>(types.length);
    for (int i = 0; i < types.length; i++) {
      values.add(value(types[i], shapes.get(i).toArray(), outputs.get(i)));
    }
    return values;
  }

  /**
   * Adds an operation whose result has a shape that is known here, as far as it is known: 0 stands
   * for a size that only an execution determines.
   */
  Value emitSized(DataType type, int[] shape, OperationType operation, Integer... inputs) {
    Value result = temporary(type, shape);
    addSized(operation, List.of(inputs), List.of(result.operand()));
    return result;
  }

  /** Adds an operation whose results have their shapes already, as far as they are known. */
  void addSized(OperationType operation, List<Integer> inputs, List<Integer> outputs) {
    addUnchecked(operation, inputs, outputs);
    OperationDefinition definition =
        catalog.find(operation).orElseThrow(() -> refuse("nothing defines " + operation.text()));
    try {
      definition.validate(OperationView.of(builder, operation, inputs, outputs));
    } catch (ValidationException e) {
      throw new Refusal("as " + operation.text() + ": " + e.getMessage(), e);
    }
  }

  /** A value for an operation to write; 0 stands for a size that only an execution determines. */
  Value temporary(DataType type, int[] shape) {
    Quantization quantization = quantization(type);
    return value(type, shape, builder.temporary("", code(type), physical(shape), quantization));
  }

  /** Real numbers rounded to float16, of a size that only an execution determines. */
  Value halved(Value value) {
    Shape shape = physical(value.shape());
    int half = builder.temporary("", OperandCode.TENSOR_FLOAT16, shape, Quantization.NONE);
    Value result = temporary(DataType.FLOAT16, value.shape());
    addUnchecked(OperationCode.CAST, List.of(operand(value)), List.of(half));
    addUnchecked(OperationCode.CAST, List.of(half), List.of(result.operand()));
    return result;
  }

  /** An input of the graph; 0 stands for a size that only an execution determines. */
  Value input(DataType type, int[] shape) {
    return value(type, shape, builder.input("", code(type), physical(shape), quantization(type)));
  }

  /** A computed value, open where a size is 0. */
  static Value value(DataType type, int[] shape, int operand) {
    return Dims.zeros(shape) > 0
        ? Value.ofOpen(type, shape, operand)
        : Value.of(type, shape, operand);
  }

  /** Adds an operation whose results have their shapes already. */
  void addUnchecked(OperationType operation, List<Integer> inputs, List<Integer> outputs) {
    count();
    builder.operation(operation, inputs, outputs);
  }

  /** Converts an open value to another type of numbers. */
  int convertOpen(Value value, OperandType type) {
    Shape shape = Shape.of(value.shape());
    int output = builder.temporary("", type, shape, argumentQuantization(type));
    OperationType cast = cast(builder.get(value.operand()).type(), type);
    addUnchecked(cast, List.of(value.operand()), List.of(output));
    return output;
  }

  /** Converts an operand to another type of numbers. */
  int convert(int operand, OperandType type) {
    int output = builder.temporary("", type, Shape.NONE, argumentQuantization(type));
    add(cast(builder.get(operand).type(), type), List.of(operand), List.of(output));
    return output;
  }

  /** Whole reals as INT32; one that 32 bits do not hold ends the execution with an error. */
  Value narrowed(Value real) {
    int wide = convert(operand(real), WideTypes.TENSOR_INT64);
    return Value.of(DataType.INT32, real.shape(), convert(wide, OperandCode.TENSOR_INT32));
  }

  private void count() {
    require(++operations <= MAX_OPERATIONS, "the graph has more operations than can be handled");
  }

  private List<Shape> add(OperationType operation, List<Integer> inputs, List<Integer> outputs) {
    return add(operation, inputs, outputs, false);
  }

  private List<Shape> add(
      OperationType operation, List<Integer> inputs, List<Integer> outputs, boolean isOpen) {
    count();
    builder.operation(operation, inputs, outputs);
    OperationDefinition definition =
        catalog.find(operation).orElseThrow(() -> refuse("nothing defines " + operation.text()));
    try {
      OperationView view = OperationView.of(builder, operation, inputs, outputs);
      definition.validate(view);
      List<Shape> shapes = definition.infer(view);
      for (int i = 0; i < outputs.size(); i++) {
        if (shapes.get(i).rank() == 0 || !isOpen && !shapes.get(i).isFullySpecified()) {
          throw refuse("its result has the shape " + shapes.get(i));
        }
        builder.reshape(outputs.get(i), shapes.get(i));
      }
      definition.validate(OperationView.of(builder, operation, inputs, outputs));
      return shapes;
    } catch (ValidationException e) {
      throw new Refusal("as " + operation.text() + ": " + e.getMessage(), e);
    }
  }

  static boolean isSameShape(int[] a, int[] b) {
    return physical(a).equals(physical(b)) && Dims.count(a) == Dims.count(b);
  }
}
