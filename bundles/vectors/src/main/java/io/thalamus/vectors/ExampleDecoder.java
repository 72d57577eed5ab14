// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Turns one raw example into typed objects, or says which rule of the raw form it breaks. */
final class ExampleDecoder {
  private static final Pattern NUMBER = Pattern.compile("-?[0-9]{1,10}");
  private static final Pattern EXTENSION = Pattern.compile("([^/#]+)/([^/#]+)#([0-9]{1,5})");

  /** The names of lifetimes at their numbers in NN HAL 1.3. */
  private static final List<String> LIFETIMES =
      List.of(
          "TEMPORARY_VARIABLE",
          "SUBGRAPH_INPUT",
          "SUBGRAPH_OUTPUT",
          "CONSTANT_COPY",
          "CONSTANT_REFERENCE",
          "NO_VALUE",
          "SUBGRAPH");

  private final Example example;
  private final ConstantPool pool = new ConstantPool();

  /** The place of a constant in the pool; the others are copied. */
  private final Map<RawOperand, Long> offsets = new IdentityHashMap<>();

  private final Map<RawOperand, byte[]> constants = new IdentityHashMap<>();

  ExampleDecoder(Example example) {
    this.example = example;
  }

  DecodedExample decode() throws VectorFormatException {
    checkGraph("main", example.main());
    for (int i = 0; i < example.referenced().size(); i++) {
      checkGraph("referenced " + i, example.referenced().get(i));
    }
    // All faults are found before the pool is allocated.
    List<DecodedExample.Input> inputs = inputs();
    List<DecodedExample.Expected> outputs = outputs();
    Optional<SharedMemory> memory = pool.build();
    try {
      return new DecodedExample(example, model(memory), inputs, outputs, memory);
    } catch (VectorFormatException | RuntimeException e) {
      memory.ifPresent(SharedMemory::close);
      throw e;
    }
  }

  private Model model(Optional<SharedMemory> memory) throws VectorFormatException {
    List<Subgraph> graphs = new ArrayList<>();
    for (RawSubgraph raw : example.subgraphs().toList()) {
      graphs.add(subgraph(raw, memory));
    }
    return new Model(graphs.getFirst(), graphs.subList(1, graphs.size()), example.isRelaxed());
  }

  private Subgraph subgraph(RawSubgraph raw, Optional<SharedMemory> memory)
      throws VectorFormatException {
    List<Operand> operands = new ArrayList<>();
    for (RawOperand operand : raw.operands()) {
      operands.add(declared(operand).with(lifetime(operand, memory)));
    }
    List<Operation> operations = new ArrayList<>();
    for (RawOperation operation : raw.operations()) {
      operations.add(
          new Operation(operationType(operation.type()), operation.inputs(), operation.outputs()));
    }
    return new Subgraph(operands, operations, raw.inputIndexes(), raw.outputIndexes());
  }

  private Lifetime lifetime(RawOperand operand, Optional<SharedMemory> memory)
      throws VectorFormatException {
    return switch (lifetimeName(operand.lifetime())) {
      case "TEMPORARY_VARIABLE" -> Lifetime.TEMPORARY_VARIABLE;
      case "SUBGRAPH_INPUT" -> Lifetime.SUBGRAPH_INPUT;
      case "SUBGRAPH_OUTPUT" -> Lifetime.SUBGRAPH_OUTPUT;
      case "NO_VALUE" -> Lifetime.NO_VALUE;
      case "SUBGRAPH" ->
          new Lifetime.SubgraphReference((int) operand.values().orElseThrow().get(0));
      default -> {
        byte[] bytes = constants.get(operand);
        yield offsets.containsKey(operand)
            ? new Lifetime.ConstantReference(
                memory.orElseThrow(), offsets.get(operand), bytes.length)
            : new Lifetime.ConstantCopy(bytes);
      }
    };
  }

  private void checkGraph(String graph, RawSubgraph raw) throws VectorFormatException {
    for (int i = 0; i < raw.operands().size(); i++) {
      RawOperand operand = raw.operands().get(i);
      try {
        checkOperand(operand);
      } catch (VectorFormatException e) {
        throw new VectorFormatException(
            graph + " operand " + i + " '" + operand.name() + "': " + e.getMessage(), e);
      }
    }
    int[] consumers = new int[raw.operands().size()];
    for (int i = 0; i < raw.operations().size(); i++) {
      RawOperation operation = raw.operations().get(i);
      String where = graph + " operation " + i + " " + operation.type();
      try {
        operationType(operation.type());
      } catch (VectorFormatException e) {
        throw new VectorFormatException(graph + " operation " + i + ": " + e.getMessage(), e);
      }
      checkIndexes(where + " input", operation.inputs(), consumers.length);
      checkIndexes(where + " output", operation.outputs(), consumers.length);
      operation.inputs().forEach(input -> consumers[input]++);
    }
    checkIndexes(graph + " inputIndexes", raw.inputIndexes(), consumers.length);
    checkIndexes(graph + " outputIndexes", raw.outputIndexes(), consumers.length);
    for (int i = 0; i < consumers.length; i++) {
      if (consumers[i] != raw.operands().get(i).consumers()) {
        throw new VectorFormatException(
            "%s operand %s '%s': %s consumers are stated, %s operation inputs use it"
                .formatted(
                    graph,
                    i,
                    raw.operands().get(i).name(),
                    raw.operands().get(i).consumers(),
                    consumers[i]));
      }
    }
  }

  private static void checkIndexes(String where, List<Integer> indexes, int operands)
      throws VectorFormatException {
    for (int index : indexes) {
      if (index < 0 || index >= operands) {
        throw new VectorFormatException(
            where + ": there is no operand " + index + " among " + operands);
      }
    }
  }

  private void checkOperand(RawOperand raw) throws VectorFormatException {
    Operand operand = declared(raw);
    String lifetime = lifetimeName(raw.lifetime());
    boolean constant = lifetime.equals("CONSTANT_COPY") || lifetime.equals("CONSTANT_REFERENCE");
    boolean subgraph = lifetime.equals("SUBGRAPH");
    if (raw.values().isPresent() != (constant || subgraph)) {
      throw new VectorFormatException(
          lifetime + (raw.values().isPresent() ? " may not have values" : " needs values"));
    }
    if (subgraph) {
      checkReference(raw.values().orElseThrow());
    } else if (constant) {
      byte[] bytes = constant(operand, raw.values().orElseThrow());
      constants.put(raw, bytes);
      if (lifetime.equals("CONSTANT_REFERENCE") || bytes.length > Lifetime.ConstantCopy.MAX_SIZE) {
        offsets.put(raw, pool.add(bytes));
      }
    }
  }

  private void checkReference(Values values) throws VectorFormatException {
    int graphs = example.referenced().size();
    if (values.size() != 1
        || values.get(0) != Math.rint(values.get(0))
        || values.get(0) < 0
        || values.get(0) >= graphs) {
      throw new VectorFormatException(
          "a subgraph is one index below " + graphs + ", not " + values);
    }
  }

  private static byte[] constant(Operand operand, Values values) throws VectorFormatException {
    if (operand.type() == OperandCode.SUBGRAPH) {
      throw new VectorFormatException("a subgraph cannot be a constant");
    }
    if (!operand.isSizeKnown()) {
      throw new VectorFormatException("a constant of unknown dimensions " + operand.shape());
    }
    long elements = operand.type().isTensor() ? elements(operand.shape()) : 1;
    if (values.size() != elements) {
      throw new VectorFormatException(
          values.size() + " values for " + elements + " elements of " + operand.type().text());
    }
    return ElementCodec.encode(operand.type(), values);
  }

  /** The operand without its place. */
  private static Operand declared(RawOperand raw) throws VectorFormatException {
    return new Operand(
        operandType(raw.type()),
        shape(raw),
        quantization(raw),
        Lifetime.TEMPORARY_VARIABLE,
        raw.name());
  }

  private static Shape shape(RawOperand raw) throws VectorFormatException {
    int[] dims = raw.dims().toArray();
    if (Arrays.stream(dims).anyMatch(dim -> dim < 0)) {
      throw new VectorFormatException("a dimension is negative: " + raw.dims());
    }
    return Shape.of(dims);
  }

  private static long elements(Shape shape) throws VectorFormatException {
    try {
      return shape.elementCount();
    } catch (ArithmeticException e) {
      throw new VectorFormatException(shape + " has more elements than can be counted", e);
    }
  }

  private static Quantization quantization(RawOperand raw) throws VectorFormatException {
    if (raw.channelQuant().isEmpty()) {
      return Quantization.of((float) raw.scale(), raw.zeroPoint());
    }
    if (raw.scale() != 0 || raw.zeroPoint() != 0) {
      throw new VectorFormatException("scales for each channel exclude scale and zeroPoint");
    }
    Values scales = raw.channelQuant().get().scales();
    float[] floats = new float[scales.size()];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) scales.get(i);
    }
    return new Quantization.PerChannel(raw.channelQuant().get().channelDim(), floats);
  }

  private static OperandCode operandType(String type) throws VectorFormatException {
    Optional<OperandCode> code =
        NUMBER.matcher(type).matches()
            ? number(type).flatMap(OperandCode::ofCode)
            : named(OperandCode.values(), type);
    return code.orElseThrow(
        () -> new VectorFormatException("there is no operand type '" + type + "'"));
  }

  private static OperationType operationType(String type) throws VectorFormatException {
    Matcher extension = EXTENSION.matcher(type);
    if (extension.matches()) {
      try {
        return new ExtensionOperationType(
            extension.group(1), Integer.parseInt(extension.group(3)), extension.group(2));
      } catch (IllegalArgumentException e) {
        throw new VectorFormatException(e.getMessage(), e);
      }
    }
    Optional<OperationCode> code =
        NUMBER.matcher(type).matches()
            ? number(type).flatMap(OperationCode::ofCode)
            : named(OperationCode.values(), type);
    return code.orElseThrow(
        () -> new VectorFormatException("there is no operation type '" + type + "'"));
  }

  private static Optional<Integer> number(String text) {
    long number = Long.parseLong(text);
    return number == (int) number ? Optional.of((int) number) : Optional.empty();
  }

  private static <E extends Enum<E>> Optional<E> named(E[] constants, String name) {
    return Arrays.stream(constants).filter(constant -> constant.name().equals(name)).findFirst();
  }

  private List<DecodedExample.Input> inputs() throws VectorFormatException {
    List<Integer> indexes = example.main().inputIndexes();
    checkCount("inputs", indexes.size(), example.inputs().size());
    List<DecodedExample.Input> inputs = new ArrayList<>();
    for (int i = 0; i < indexes.size(); i++) {
      Example.Input input = example.inputs().get(i);
      checkPlace("input " + i, indexes.get(i), input.operand());
      Operand operand = declared(example.main().operands().get(input.operand()));
      byte[] bytes = new byte[0];
      if (!input.values().isEmpty()) {
        bytes = bytes("input " + i, operand, input.values());
      }
      inputs.add(new DecodedExample.Input(operand.with(Lifetime.SUBGRAPH_INPUT), bytes));
    }
    return inputs;
  }

  private List<DecodedExample.Expected> outputs() throws VectorFormatException {
    if (example.expectFailure()) {
      return meaninglessOutputs();
    }
    List<Integer> indexes = example.main().outputIndexes();
    checkCount("expectedOutputs", indexes.size(), example.expectedOutputs().size());
    List<DecodedExample.Expected> outputs = new ArrayList<>();
    for (int i = 0; i < indexes.size(); i++) {
      Example.ExpectedOutput output = example.expectedOutputs().get(i);
      checkPlace("expected output " + i, indexes.get(i), output.operand());
      Operand operand = declared(example.main().operands().get(output.operand()));
      byte[] bytes =
          output.ignored() && output.values().isEmpty()
              ? new byte[0]
              : bytes("expected output " + i, operand, output.values());
      outputs.add(
          new DecodedExample.Expected(
              operand.with(Lifetime.SUBGRAPH_OUTPUT), output.ignored(), bytes));
    }
    return outputs;
  }

  /** Returns the buffers alone of an output of a model that must fail. */
  private List<DecodedExample.Expected> meaninglessOutputs() throws VectorFormatException {
    List<DecodedExample.Expected> outputs = new ArrayList<>();
    for (int index : example.main().outputIndexes()) {
      Operand operand = declared(example.main().operands().get(index));
      outputs.add(
          new DecodedExample.Expected(operand.with(Lifetime.SUBGRAPH_OUTPUT), true, new byte[0]));
    }
    return outputs;
  }

  private static byte[] bytes(String what, Operand operand, Values values)
      throws VectorFormatException {
    long elements = operand.type().isTensor() ? elements(operand.shape()) : 1;
    if (operand.type().isTensor() && operand.shape().rank() == 0) {
      throw new VectorFormatException(what + " has values, but its rank is unknown");
    }
    if (values.size() != elements) {
      throw new VectorFormatException(
          what + ": " + values.size() + " values for " + elements + " elements");
    }
    try {
      return ElementCodec.encode(operand.type(), values);
    } catch (VectorFormatException e) {
      throw new VectorFormatException(what + ": " + e.getMessage(), e);
    }
  }

  private static void checkCount(String what, int wanted, int found) throws VectorFormatException {
    if (wanted != found) {
      throw new VectorFormatException(found + " " + what + " for " + wanted + " of the main graph");
    }
  }

  private static void checkPlace(String what, int wanted, int found) throws VectorFormatException {
    if (wanted != found) {
      throw new VectorFormatException(
          what + " is for operand " + found + ", but the graph has operand " + wanted + " there");
    }
  }

  private static String lifetimeName(String lifetime) throws VectorFormatException {
    if (LIFETIMES.contains(lifetime)) {
      return lifetime;
    }
    if (NUMBER.matcher(lifetime).matches()) {
      long number = Long.parseLong(lifetime);
      if (number >= 0 && number < LIFETIMES.size()) {
        return LIFETIMES.get((int) number);
      }
    }
    throw new VectorFormatException("there is no lifetime '" + lifetime + "'");
  }
}
